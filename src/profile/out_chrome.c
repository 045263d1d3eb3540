/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profile/out.h"
#include "profile/out_chrome_calls.h"
#include "profile/timeline.h"

/*
 * The trace event format of Chrome, which Perfetto opens too: a track a thread,
 * tracks of a process together, each call a complete event ("X").
 *
 * Calls are in out_chrome_calls.c.
 *
 * A pid that is used again is another process: such a one gets the number
 * pid + 2^22 * N, beyond what the kernel gives out; tids likewise.
 */

#define BEYOND_PIDS (1ll << 22)

struct view {
	struct timeline tl;
	struct sink sink;
	struct numbers numbers;
	struct str name;
	struct str begin; /* how each call of the thread begins */
	struct chrome_calls calls;
};

/* The number of a process, or of a thread of it, in the trace. */
static int number(struct view *v, int32_t id, uint32_t process, int64_t *ret)
{
	uint32_t turn = numbers_turn(&v->numbers, id, process);

	if (turn == UINT32_MAX)
		return -ENOMEM;
	*ret = id + turn * BEYOND_PIDS;
	return 0;
}

/* { "ph": @phase, "name": @name, "pid":, "tid": left open. */
static int event_begin(struct view *v, struct json *j, const char *phase,
		       const char *name, uint32_t process, int32_t tid)
{
	int64_t pid_number, tid_number;
	int r;

	r = number(v, v->tl.history->processes.at[process].pid, process,
		   &pid_number);
	if (!r)
		r = number(v, tid, process, &tid_number);
	if (r)
		return r;
	str_puts(j->to, j->comma ? ",\n" : "\n");
	j->comma = false;
	json_open(j, '{');
	json_put_text(j, "ph", phase);
	if (name)
		json_put_text(j, "name", name);
	json_key(j, "pid");
	json_i64(j, pid_number);
	json_key(j, "tid");
	json_i64(j, tid_number);
	return 0;
}

static void put_us(struct view *v, const char *key, uint64_t ns)
{
	json_key(&v->sink.json, key);
	sink_decimal(&v->sink, ns, 3);
}

/* A fact of a process or thread; @text or, where that is NULL, @value. */
static int add_fact(struct view *v, const char *what, uint32_t process,
		    int32_t tid, const struct str *text, uint64_t value)
{
	struct json *j = &v->sink.json;
	int r;

	r = event_begin(v, j, "M", what, process, tid);
	if (r)
		return r;
	json_key(j, "args");
	json_open(j, '{');
	if (text) {
		json_key(j, "name");
		json_string(j, text->at, text->len);
	} else {
		json_put_u64(j, "sort_index", value);
	}
	json_close(j, '}');
	json_close(j, '}');
	return sink_pass(&v->sink);
}

/* An instant of @on, told about process @of; @status NULL: no such thing. */
static int add_instant(struct view *v, const char *name, uint32_t on,
		       uint64_t at_ns, uint32_t of, uint32_t command,
		       const char *status)
{
	const struct history *h = v->tl.history;
	struct json *j = &v->sink.json;
	int64_t of_number;
	int r;

	if (!timeline_shows(&v->tl, at_ns))
		return 0;
	r = number(v, h->processes.at[of].pid, of, &of_number);
	if (!r)
		r = event_begin(v, j, "i", name, on, h->processes.at[on].pid);
	if (r)
		return r;
	json_put_text(j, "s", "p");
	put_us(v, "ts", at_ns);
	json_key(j, "args");
	json_open(j, '{');
	json_key(j, "pid");
	json_i64(j, h->processes.at[of].pid);
	if (of_number != h->processes.at[of].pid) {
		json_key(j, "number");
		json_i64(j, of_number);
	}
	if (command) {
		json_key(j, "command");
		sink_id(&v->sink, h->strings, command);
	}
	if (status)
		json_put_text(j, "status", status);
	json_close(j, '}');
	json_close(j, '}');
	return sink_pass(&v->sink);
}

/* Birth (told of its parent), execs, end. */
static int add_life(struct view *v, uint32_t process)
{
	const struct history *h = v->tl.history;
	const struct past_process *p = &h->processes.at[process];
	const struct past_image *image = h->images.at + p->image;
	char status[32];
	int r = 0;

	if (!p->before && p->parent != HISTORY_NONE &&
	    v->tl.selection.processes[p->parent])
		r = add_instant(v, "fork", p->parent, p->born_ns, process,
				image->command, NULL);
	for (uint32_t i = 1; !r && i < p->images; i++)
		r = add_instant(v, "exec", process, image[i].at_ns, process,
				image[i].command, NULL);
	if (!r && p->left)
		r = add_instant(v, "exit", process, p->left_ns, process, 0,
				timeline_status_text(p, status));
	return r;
}

struct birth {
	uint64_t born_ns;
	uint32_t process;
};

static int birth_order(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;

	if (x->born_ns != y->born_ns)
		return x->born_ns < y->born_ns ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

static int add_process(struct view *v, uint32_t process, uint64_t rank)
{
	const struct history *h = v->tl.history;
	int32_t pid = h->processes.at[process].pid;
	int r;

	str_clear(&v->name);
	timeline_process_name(h, process, HISTORY_NONE, &v->name);
	if (v->name.failed)
		return -ENOMEM;
	r = add_fact(v, "process_name", process, pid, &v->name, 0);
	if (!r)
		r = add_fact(v, "process_sort_index", process, pid, NULL, rank);
	return r ? r : add_life(v, process);
}

static int add_processes(struct view *v)
{
	const struct history *h = v->tl.history;
	struct birth *births;
	size_t n = 0;
	int r = 0;

	births = malloc((h->processes.n + 1) * sizeof(*births));
	if (!births)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->processes.n; i++)
		if (v->tl.selection.processes[i])
			births[n++] = (struct birth){
				.born_ns = h->processes.at[i].born_ns,
				.process = i,
			};
	qsort(births, n, sizeof(*births), birth_order);
	/* Who was first has the pid as it is. */
	for (size_t i = 0; !r && i < n; i++)
		if (numbers_turn(&v->numbers,
				 h->processes.at[births[i].process].pid,
				 births[i].process) == UINT32_MAX)
			r = -ENOMEM;
	for (size_t i = 0; !r && i < n; i++)
		r = add_process(v, births[i].process, i);
	free(births);
	return r;
}

static int add_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct view *v = ctx;
	const struct history *h = v->tl.history;
	const struct past_thread *t = &h->threads.at[thread];
	struct json begin = { .to = &v->begin, .comma = true };
	int r;

	str_clear(&v->name);
	timeline_thread_name(h, thread, &v->name);
	if (v->name.failed)
		return -ENOMEM;
	r = add_fact(v, "thread_name", t->process, t->tid, &v->name, 0);
	str_clear(&v->begin);
	if (!r)
		r = event_begin(v, &begin, "X", NULL, t->process, t->tid);
	return r ? r : chrome_calls(&v->calls, &v->begin, course);
}

int out_chrome(const struct history *h, const struct query *query,
	       const struct out_options *options, out_write write, void *ctx)
{
	struct view v = { 0 };
	struct json *j = &v.sink.json;
	int r;

	sink_open(&v.sink, write, ctx);
	v.calls.tl = &v.tl;
	v.calls.sink = &v.sink;
	r = timeline_open(&v.tl, h, query);
	if (r)
		goto out;
	json_open(j, '{');
	json_put_text(j, "displayTimeUnit", "ms");
	json_key(j, "otherData");
	json_open(j, '{');
	json_put_text(j, "exporter", "forkflame");
	if (options->title)
		json_put_text(j, "title", options->title);
	json_close(j, '}');
	json_key(j, "traceEvents");
	json_open(j, '[');
	r = add_processes(&v);
	if (!r)
		r = timeline_threads(&v.tl, add_thread, &v);
	json_close(j, ']');
	json_close(j, '}');
	str_puts(&v.sink.text, "\n");
	if (!r)
		r = sink_end(&v.sink);
out:
	timeline_close(&v.tl);
	sink_free(&v.sink);
	numbers_free(&v.numbers);
	str_free(&v.name);
	str_free(&v.begin);
	chrome_calls_free(&v.calls);
	return r;
}
