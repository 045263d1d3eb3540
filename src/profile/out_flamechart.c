/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profile/out.h"
#include "profile/timeline.h"

/*
 * Two lines a sample, as `pyflame --flamechart` wrote them: the time in
 * microseconds since 1970, then the stack, root first, each frame
 * `FILE:FUNCTION:LINE;` (`FILE:FUNCTION;` with line 0), or `(idle)` where no
 * Python ran. Its flame-chart-json makes a .cpuprofile of that.
 *
 * There are as many pairs as samples, so that counting stacks gives the
 * weights: a slice of n samples is told n times, at equal distances. Times
 * never go back.
 *
 * Pyflame saw one process. With more than one thread, each stack begins with a
 * frame `PID COMMAND / TID NAME;`. flame-chart-json has one lane for all of
 * them, and draws a millisecond for a sample: it is best given one thread.
 * Names are escaped as in out_collapsed.
 */

/* Samples that are sorted at a time, and into how many parts time is cut to
 * find out where they are. */
#define BATCH (1024 * 1024)
#define PARTS 4096

/* Of one slice, whatever a file says. */
#define MOST (64 * 1024)

struct moment {
	uint64_t at_ns;
	uint64_t order; /* among those of one moment */
	uint32_t thread, stack;
};

struct view {
	struct timeline tl;
	struct sink sink;
	struct str name;             /* as it is, before it is escaped */
	struct texts frames, labels; /* of threads */
	uint32_t thread;             /* the first that was seen */
	bool several;                /* and others were, too */
	/* How many samples are in each part of time; what is sorted now. */
	uint64_t parts[PARTS];
	uint64_t part_ns;
	uint64_t from_ns, until_ns;
	struct VEC(struct moment) moments;
	uint64_t order;
	size_t batch;
};

typedef int (*moment_fn)(struct view *v, struct moment moment);

/* Call @fn for each sample of a slice. */
static int each_moment(struct view *v, const struct slice *slice, moment_fn fn)
{
	uint64_t n = slice->weight.samples < MOST ? slice->weight.samples
						  : MOST;
	struct moment m = { .thread = slice->thread,
			    .stack = slice->seen.stack };
	uint64_t step_ns;
	int r = 0;

	if (!n)
		return 0;
	step_ns = slice->weight.wall_ns / n;
	m.at_ns = slice->start_ns;
	for (uint64_t i = 0; !r && i < n; i++) {
		r = fn(v, m);
		m.at_ns += step_ns;
	}
	return r;
}

static int count_moment(struct view *v, struct moment m)
{
	uint64_t part = m.at_ns / v->part_ns;

	v->parts[part < PARTS ? part : PARTS - 1]++;
	return 0;
}

static int count_slice(void *ctx, const struct slice *slice)
{
	struct view *v = ctx;

	if (v->thread == HISTORY_NONE)
		v->thread = slice->thread;
	else if (v->thread != slice->thread)
		v->several = true;
	return each_moment(v, slice, count_moment);
}

static int collect_moment(struct view *v, struct moment m)
{
	if (m.at_ns < v->from_ns || m.at_ns >= v->until_ns)
		return 0;
	m.order = v->order++;
	return vec_push(&v->moments, m) ? 0 : -ENOMEM;
}

static int collect_slice(void *ctx, const struct slice *slice)
{
	const struct view *v = ctx;

	if (slice->start_ns >= v->until_ns ||
	    slice->start_ns + slice->weight.wall_ns < v->from_ns)
		return 0;
	return each_moment(ctx, slice, collect_moment);
}

static int moment_order(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_id(struct view *v, uint32_t id, const char *also)
{
	size_t len;
	const char *bytes = strtab_get(v->tl.history->strings, id, &len);

	str_escape(&v->sink.text, bytes, len, also);
}

static int add_frame(struct view *v, uint32_t number)
{
	struct frame frame = timeline_frame(&v->tl, number);
	struct str *to = &v->sink.text;
	size_t at = to->len;

	if (texts_add(&v->frames, number, to))
		return 0;
	if (frame.file)
		add_id(v, frame.file, ";");
	if (frame.file && frame.function)
		str_puts(to, ":");
	if (frame.function)
		add_id(v, frame.function, frame.file ? ";:" : ";");
	if (frame.line)
		str_printf(to, ":%" PRId32, frame.line);
	str_puts(to, ";");
	return texts_keep(&v->frames, number, to, at);
}

static int add_label(struct view *v, uint32_t thread)
{
	const struct history *h = v->tl.history;
	const struct past_thread *t = &h->threads.at[thread];
	struct str *to = &v->sink.text;
	size_t at = to->len;

	if (texts_add(&v->labels, thread, to))
		return 0;
	str_clear(&v->name);
	timeline_process_name(h, t->process, t->image, &v->name);
	str_puts(&v->name, " / ");
	timeline_thread_name(h, thread, &v->name);
	if (v->name.failed)
		return -ENOMEM;
	str_escape(to, v->name.at, v->name.len, ";");
	str_puts(to, ";");
	return texts_keep(&v->labels, thread, to, at);
}

static int write_moment(struct view *v, const struct moment *m, uint64_t run_ns)
{
	struct str *to = &v->sink.text;
	uint64_t at_ns = run_ns + m->at_ns;
	int r;

	str_printf(to, "%" PRIu64 "\n", at_ns / 1000);
	r = timeline_stack(&v->tl, m->stack);
	if (!r && v->several)
		r = add_label(v, m->thread);
	for (size_t i = 0; !r && i < v->tl.frames.n; i++)
		r = add_frame(v, v->tl.frames.at[i]);
	if (r)
		return r;
	if (!v->tl.frames.n)
		str_puts(to, "(idle)");
	str_puts(to, "\n");
	return sink_pass(&v->sink);
}

/* Write the samples of the parts of time from @from to @to - 1. */
static int write_parts(struct view *v, size_t from, size_t to, uint64_t run_ns)
{
	int r;

	v->from_ns = from * v->part_ns;
	v->until_ns = to < PARTS ? to * v->part_ns : UINT64_MAX;
	v->moments.n = 0;
	v->order = 0;
	r = timeline_slices(&v->tl, collect_slice, v);
	if (r || !v->moments.n)
		return r;
	qsort(v->moments.at, v->moments.n, sizeof(*v->moments.at),
	      moment_order);
	for (size_t i = 0; !r && i < v->moments.n; i++)
		r = write_moment(v, &v->moments.at[i], run_ns);
	return r;
}

static int write_all(struct view *v, const struct history *h)
{
	uint64_t run_ns = UINT64_MAX;
	uint64_t sum;
	size_t from, to;
	int r;

	/* The history's time begins with its earliest recording. */
	for (size_t i = 0; i < h->runs.n; i++)
		if (h->runs.at[i].run.unix_ns < run_ns)
			run_ns = h->runs.at[i].run.unix_ns;
	if (run_ns == UINT64_MAX)
		run_ns = 0;
	v->part_ns = h->end_ns / PARTS + 1;
	r = timeline_slices(&v->tl, count_slice, v);
	for (from = 0; !r && from < PARTS; from = to) {
		sum = v->parts[from];
		for (to = from + 1; to < PARTS; to++) {
			sum += v->parts[to];
			if (sum > v->batch)
				break;
		}
		r = write_parts(v, from, to, run_ns);
	}
	return r ? r : sink_end(&v->sink);
}

int out_flamechart(const struct history *h, const struct query *query,
		   const struct out_options *options, out_write write,
		   void *ctx)
{
	struct view *v = calloc(1, sizeof(*v));
	int r;

	(void)options;
	if (!v)
		return -ENOMEM;
	sink_open(&v->sink, write, ctx);
	v->thread = HISTORY_NONE;
	v->batch = BATCH;
	r = timeline_open(&v->tl, h, query);
	if (!r)
		r = write_all(v, h);
	timeline_close(&v->tl);
	sink_free(&v->sink);
	str_free(&v->name);
	texts_free(&v->frames);
	texts_free(&v->labels);
	vec_free(&v->moments);
	free(v);
	return r;
}
