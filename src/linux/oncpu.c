/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/oncpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/nsec.h"
#include "base/vec.h"
#include "linux/perfwatch.h"

/*
 * On a machine with many short-lived strangers the table would grow for ever:
 * above this, those that were not heard of for 10 s are dropped.
 */
#define TABLE_MAX 16384
#define TABLE_AGE_NS (10 * 1000000000ull)

/* Who is on a CPU, to end an interval with the record that ends it. */
struct cpu {
	pid_t tid;
	size_t at; /* where in the table it was then */
	uint64_t in_ns;
};

struct oncpu {
	struct VEC(struct perfring) rings;
	struct VEC(struct cpu) cpus;
	struct VEC(struct oncpu_thread) threads;
	struct map by_tid; /* into threads */
	struct perfwatch watch;
	bool watches;
	struct VEC(pid_t) touched;
	struct VEC(pid_t) renamed;
	uint64_t records;
	uint64_t sweep_at; /* table size at which to sweep next */
	bool lost;
};

struct oncpu *oncpu_new(void)
{
	struct oncpu *o = calloc(1, sizeof(*o));

	if (o)
		o->sweep_at = TABLE_MAX;
	return o;
}

int oncpu_open(struct oncpu **ret, pid_t pid, struct error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct oncpu *o = oncpu_new();
	struct perfring ring;
	int r = 0;

	if (!o)
		return error_set(err, -ENOMEM, "remember who runs");
	o->watches = pid == 0;
	for (int cpu = 0; cpu < cpus && r == 0; cpu++) {
		struct error refused = ERROR_NONE;

		r = perfring_open(&ring, PERFRING_SWITCHES, pid, cpu, 0,
				  &refused);
		if (r == -ENODEV) { /* this CPU is offline */
			r = 0;
			continue;
		}
		if (r < 0)
			(void)error_set(err, refused.code, "%s", refused.text);
		else if (!vec_push(&o->rings, ring)) {
			perfring_close(&ring);
			r = error_set(err, -ENOMEM, "remember who runs");
		}
	}
	if (r < 0) {
		oncpu_close(o);
		o = NULL;
	}
	*ret = o;
	return r;
}

void oncpu_close(struct oncpu *o)
{
	if (!o)
		return;
	perfwatch_close(&o->watch);
	for (size_t i = 0; i < o->rings.n; i++)
		perfring_close(&o->rings.at[i]);
	vec_free(&o->rings);
	vec_free(&o->cpus);
	vec_free(&o->threads);
	vec_free(&o->touched);
	vec_free(&o->renamed);
	map_free(&o->by_tid);
	free(o);
}

int oncpu_watch(struct oncpu *o, pid_t tid)
{
	return perfwatch_add(&o->watch, o->rings.at, o->rings.n,
			     PERFRING_SWITCHES, tid);
}

bool oncpu_watches(const struct oncpu *o)
{
	return o->watches;
}

size_t oncpu_files(const struct oncpu *o)
{
	return o->watch.fds.n;
}

size_t oncpu_fds(const struct oncpu *o, const struct perfring **ret)
{
	*ret = o->rings.at;
	return o->rings.n;
}

static void drop(struct oncpu *o, size_t i)
{
	(void)map_remove(&o->by_tid, (uint64_t)o->threads.at[i].tid);
	vec_take_out(&o->threads, i);
	if (i < o->threads.n)
		(void)map_put(&o->by_tid, (uint64_t)o->threads.at[i].tid, i);
}

static void sweep(struct oncpu *o, uint64_t now_ns)
{
	for (size_t i = 0; i < o->threads.n;) {
		const struct oncpu_thread *t = &o->threads.at[i];

		if (t->on || t->touched || t->last_ns + TABLE_AGE_NS > now_ns)
			i++;
		else
			drop(o, i);
	}
	o->sweep_at = o->threads.n + TABLE_MAX;
}

/*
 * The entry of the thread that a record is of, made if need be; NULL when memory is
 * gone. It is mostly that which is on @cpu, and leaves it.
 */
static struct oncpu_thread *entry(struct oncpu *o, const struct cpu *cpu,
				  const struct perf_record *record)
{
	pid_t tid = record->tid;
	struct oncpu_thread fresh = { .pid = record->pid,
				      .tid = tid,
				      .first_ns = record->time_ns };
	uint64_t i;

	if (cpu->tid == tid && cpu->at < o->threads.n &&
	    o->threads.at[cpu->at].tid == tid)
		return &o->threads.at[cpu->at];
	if (map_get(&o->by_tid, (uint64_t)tid, &i))
		return &o->threads.at[i];
	if (o->threads.n >= o->sweep_at)
		sweep(o, record->time_ns);
	i = o->threads.n;
	if (!vec_reserve(&o->threads, 1) ||
	    !map_put(&o->by_tid, (uint64_t)tid, i))
		return NULL;
	o->threads.at[o->threads.n++] = fresh;
	return &o->threads.at[i];
}

/* The CPU's slot; NULL when memory is gone or the number cannot be. */
static struct cpu *cpu_of(struct oncpu *o, uint32_t cpu)
{
	if (cpu >= 1u << 16)
		return NULL;
	if (cpu >= o->cpus.n) {
		if (!vec_reserve(&o->cpus, cpu + 1 - o->cpus.n))
			return NULL;
		while (o->cpus.n <= cpu)
			o->cpus.at[o->cpus.n++] = (struct cpu){ 0 };
	}
	return &o->cpus.at[cpu];
}

static void touch(struct oncpu *o, struct oncpu_thread *t)
{
	if (t->touched)
		return;
	if (vec_push(&o->touched, t->tid))
		t->touched = true;
	else
		o->lost = true;
}

static void switched_in(const struct oncpu *o, struct oncpu_thread *t,
			struct cpu *cpu, const struct perf_record *record)
{
	*cpu = (struct cpu){ .tid = t->tid,
			     .at = (size_t)(t - o->threads.at),
			     .in_ns = record->time_ns };
	if (!t->woke_ns || record->time_ns < t->woke_ns)
		t->woke_ns = record->time_ns;
	if (record->time_ns < t->last_ns)
		return; /* older than what another CPU's ring has told */
	t->on = true;
	t->away = false;
	t->cpu = record->cpu;
	t->in_ns = record->time_ns;
	t->last_ns = record->time_ns;
}

static void switched_out(struct oncpu_thread *t, struct cpu *cpu,
			 const struct perf_record *record)
{
	if (cpu->tid == t->tid && record->time_ns > cpu->in_ns)
		t->cpu_ns += record->time_ns - cpu->in_ns;
	*cpu = (struct cpu){ 0 };
	if (record->kind == PERF_SWITCH_OUT)
		t->slept_ns = record->time_ns;
	if (record->time_ns < t->last_ns)
		return;
	t->on = false;
	t->away = record->kind == PERF_SWITCH_AWAY;
	t->out_ns = record->time_ns;
	t->last_ns = record->time_ns;
}

static void execd(struct oncpu_thread *t, const struct cpu *cpu,
		  const struct perf_record *record)
{
	memcpy(t->comm, record->comm, sizeof(t->comm));
	t->image_cpu_ns = t->cpu_ns;
	if (cpu->tid == t->tid)
		t->image_cpu_ns += nsec_since(record->time_ns, cpu->in_ns);
}

void oncpu_feed(struct oncpu *o, const struct perf_record *record)
{
	struct oncpu_thread *t;
	struct cpu *cpu;

	o->records++;
	if (record->kind == PERF_LOST) {
		o->lost = true;
		return;
	}
	if (record->kind == PERF_NAME && record->pid == record->tid &&
	    o->renamed.n < ONCPU_RENAMED_MAX)
		(void)vec_push(&o->renamed, record->pid);
	if (record->kind > PERF_LOST)
		return;       /* births and ends are others' */
	if (record->tid <= 0) /* the idle task; -1: on its way out */
		return;
	cpu = cpu_of(o, record->cpu);
	t = cpu ? entry(o, cpu, record) : NULL;
	if (!t) {
		o->lost = true;
		return;
	}
	if (record->kind == PERF_EXEC) {
		execd(t, cpu, record);
		return;
	}
	t->records++;
	t->known = true;
	if (record->kind == PERF_SWITCH_IN)
		switched_in(o, t, cpu, record);
	else
		switched_out(t, cpu, record);
	touch(o, t);
}

bool oncpu_drain(struct oncpu *o)
{
	struct perf_record record;
	bool whole;

	for (size_t i = 0; i < o->rings.n; i++)
		while (perfring_next(&o->rings.at[i], &record))
			oncpu_feed(o, &record);
	whole = !o->lost;
	o->lost = false;
	for (size_t i = 0; !whole && i < o->threads.n; i++)
		o->threads.at[i].known = false;
	return whole;
}

const struct oncpu_thread *oncpu_find(const struct oncpu *o, pid_t tid)
{
	uint64_t i;

	if (!map_get(&o->by_tid, (uint64_t)tid, &i))
		return NULL;
	return &o->threads.at[i];
}

void oncpu_seen(struct oncpu *o, pid_t tid)
{
	uint64_t i;

	if (!map_get(&o->by_tid, (uint64_t)tid, &i))
		return;
	o->threads.at[i].woke_ns = 0;
	o->threads.at[i].slept_ns = 0;
}

pid_t oncpu_next(struct oncpu *o)
{
	while (o->touched.n) {
		pid_t tid = o->touched.at[--o->touched.n];
		uint64_t i;

		if (!map_get(&o->by_tid, (uint64_t)tid, &i))
			continue;
		o->threads.at[i].touched = false;
		return tid;
	}
	return 0;
}

pid_t oncpu_renamed(struct oncpu *o)
{
	return o->renamed.n ? o->renamed.at[--o->renamed.n] : 0;
}

void oncpu_forget(struct oncpu *o, pid_t tid, uint64_t after_ns)
{
	uint64_t i;

	if (map_get(&o->by_tid, (uint64_t)tid, &i) &&
	    o->threads.at[i].last_ns <= after_ns)
		drop(o, i);
}

uint64_t oncpu_records(const struct oncpu *o)
{
	return o->records;
}
