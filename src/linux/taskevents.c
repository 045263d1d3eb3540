/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each CPU has a ring of its own, and a process may be born on one CPU and exec
 * on another: the rings have to be merged by time. A record may only be given
 * once nothing older can turn up in a ring that was read before. So the time is
 * taken first, then all rings are read, and what is no newer than that time is
 * given: whatever caused an event has its record in a ring before the event
 * begins, hence before the time was taken, and so it was read.
 *
 * A ring that is full drops records. It says how many with the next one for which
 * there is room, which may be long after; so one that was found nearly full is
 * taken for one that has dropped some.
 */
#include "linux/taskevents.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "linux/clock.h"
#include "linux/perfwatch.h"

#define BUFFER_DEFAULT (1u << 20)
#define BUFFER_MIN (16u << 10)
/* What an ordinary user may lock leaves this beside a ring of switch records. */
#define BUFFER_MODEST (128u << 10)
#define BUFFER_MAX (1u << 30)

/* The longest record is about a hundred bytes. */
#define NEARLY 256

#define COMPACT_AT 4096

struct taskevents {
	struct VEC(struct perfring) rings;
	struct VEC(struct event) pending; /* those from `given` on wait */
	size_t given;
	bool sorted;
	bool owed;         /* a LOST */
	uint64_t until_ns; /* when the rings were last read */
	_Atomic uint64_t received, dropped;
	struct perfwatch watch;
	struct map watched; /* the threads in it */
};

struct taskevents *taskevents_new(void)
{
	return calloc(1, sizeof(struct taskevents));
}

static void taskevents_close(struct taskevents *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rings.n; i++)
		perfring_close(&t->rings.at[i]);
	perfwatch_close(&t->watch);
	map_free(&t->watched);
	vec_free(&t->rings);
	vec_free(&t->pending);
	free(t);
}

/* As large as may be had, a power of two. */
static int open_ring(struct perfring *ret, pid_t pid, int cpu, size_t buffer,
		     struct error *err)
{
	size_t size = BUFFER_MIN;
	int r;

	while (size < buffer && size < BUFFER_MAX)
		size *= 2;
	do {
		*err = ERROR_NONE;
		r = perfring_open(ret, PERFRING_TASKS, pid, cpu, size, err);
		size = size > BUFFER_MODEST ? BUFFER_MODEST : size / 2;
	} while ((r == -EPERM || r == -ENOMEM) && ret->refused_map &&
		 size >= BUFFER_MIN);
	return r;
}

int taskevents_open(struct taskevents **ret, pid_t pid, size_t buffer,
		    struct error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct taskevents *t = taskevents_new();
	struct perfring ring;
	int r = t ? 0 : error_set(err, -ENOMEM, "perf task records: no memory");

	for (int cpu = 0; cpu < cpus && r == 0; cpu++) {
		struct error refused = ERROR_NONE;

		r = open_ring(&ring, pid, cpu, buffer ? buffer : BUFFER_DEFAULT,
			      &refused);
		if (r == -ENODEV) /* this CPU is offline */
			r = 0;
		else if (r < 0)
			(void)error_set(err, r, "perf task records: %s (%s)",
					refused.text, strerror(-r));
		else if (!vec_push(&t->rings, ring)) {
			perfring_close(&ring);
			r = error_set(err, -ENOMEM,
				      "perf task records: no memory");
		}
	}
	if (r < 0) {
		taskevents_close(t);
		t = NULL;
	}
	*ret = t;
	return r;
}

int taskevents_watch(struct taskevents *t, pid_t tid)
{
	int r;

	if (map_get(&t->watched, (uint64_t)tid, NULL))
		return 0;
	if (!map_put(&t->watched, (uint64_t)tid, 0))
		return -ENOMEM;
	r = perfwatch_add(&t->watch, t->rings.at, t->rings.n, PERFRING_TASKS,
			  tid);
	if (r < 0)
		(void)map_remove(&t->watched, (uint64_t)tid);
	return r;
}

static void lose(struct taskevents *t, uint64_t how_many)
{
	t->owed = true;
	atomic_fetch_add(&t->dropped, how_many);
}

void taskevents_feed(struct taskevents *t, const struct perf_record *record)
{
	struct event event = { .pid = record->pid, .time_ns = record->time_ns };

	atomic_fetch_add(&t->received, 1);
	if (record->kind == PERF_LOST)
		lose(t, record->lost);
	/* A process of another namespace has no number, a thread is none. */
	if (record->pid <= 0 || record->pid != record->tid)
		return;
	switch (record->kind) {
	case PERF_FORK:
		event.kind = EVENT_FORK;
		event.parent = record->parent;
		event.parent_tid = record->parent_tid;
		if (event.parent < 0 || event.parent_tid < 0)
			return;
		break;
	case PERF_EXEC:
		event.kind = EVENT_EXEC;
		break;
	case PERF_EXIT:
		event.kind = EVENT_EXIT;
		event.status = EVENT_NO_STATUS;
		break;
	default:
		return;
	}
	t->sorted = false;
	if (!vec_push(&t->pending, event))
		lose(t, 1);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a;
	const struct event *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)x->kind - (int)y->kind; /* FORK, EXEC, EXIT */
}

/* Forget those that were given, when they are all or many. */
static void compact(struct taskevents *t)
{
	if (t->given < t->pending.n && t->given < COMPACT_AT)
		return;
	t->pending.n -= t->given;
	if (t->pending.n)
		memmove(t->pending.at, t->pending.at + t->given,
			t->pending.n * sizeof(*t->pending.at));
	t->given = 0;
}

int taskevents_give(struct taskevents *t, uint64_t until_ns,
		    struct event *events, size_t max)
{
	size_t n = 0;

	if (!t->sorted && t->pending.n > t->given)
		qsort(t->pending.at + t->given, t->pending.n - t->given,
		      sizeof(*t->pending.at), by_time);
	t->sorted = true;
	while (n < max && t->given < t->pending.n &&
	       t->pending.at[t->given].time_ns <= until_ns)
		events[n++] = t->pending.at[t->given++];
	compact(t);
	if (n < max && t->owed) {
		events[n++] = (struct event){ .kind = EVENT_LOST,
					      .time_ns = clock_now() };
		t->owed = false;
	}
	return (int)n;
}

/* All that one ring has up to now; a ring that is filled as fast ends it too. */
static void take_ring(struct taskevents *t, struct perfring *ring,
		      uint64_t until_ns)
{
	struct perf_record record;

	if (perfring_used(ring) + NEARLY > ring->size)
		lose(t, 0);
	while (perfring_next(ring, &record)) {
		taskevents_feed(t, &record);
		if (record.time_ns > until_ns)
			break;
	}
}

static int source_read(void *self, struct event *events, size_t max)
{
	struct taskevents *t = self;
	size_t n = (size_t)taskevents_give(t, t->until_ns, events, max);

	while (n < max) {
		t->until_ns = clock_now();
		for (size_t i = 0; i < t->rings.n; i++)
			take_ring(t, &t->rings.at[i], t->until_ns);
		n += (size_t)taskevents_give(t, t->until_ns, events + n,
					     max - n);
		/* What is newer than the reading takes another one. */
		if (!t->pending.n)
			break;
	}
	return (int)n;
}

static int source_fd(const void *self, size_t i)
{
	const struct taskevents *t = self;

	return i < t->rings.n ? t->rings.at[i].fd : -1;
}

static uint64_t source_received(const void *self)
{
	const struct taskevents *t = self;

	return atomic_load(&t->received);
}

static uint64_t source_dropped(const void *self)
{
	const struct taskevents *t = self;

	return atomic_load(&t->dropped);
}

static void source_close(void *self)
{
	taskevents_close(self);
}

struct evsource taskevents_source(struct taskevents *t)
{
	return (struct evsource){ .self = t,
				  .fd = source_fd,
				  .read = source_read,
				  .received = source_received,
				  .dropped = source_dropped,
				  .close = source_close };
}
