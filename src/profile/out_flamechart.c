/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
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

/*
 * Samples that are held and sorted at a time, and into how many parts time is cut
 * to find out where they are: 120 MiB, so that ten million need one more reading
 * and no more.
 */
#define BATCH (10 * 1024 * 1024)
#define PARTS 4096

/* Of one slice, whatever a file says. */
#define MOST (64 * 1024)

/* What is printed of a moment, and no more: there are as many as samples. */
struct moment {
	uint32_t at_us; /* since the part began */
	uint32_t thread, stack;
};

struct view {
	struct timeline tl;
	struct sink sink;
	struct str name; /* as it is, before it is escaped */
	struct texts frames, labels, stacks; /* labels are of threads */
	uint32_t thread;                     /* the first that was seen */
	bool several;                        /* and others were, too */
	uint64_t unix_ns;                    /* when the history began */
	uint64_t part_ns;
	/* How many samples are in each part of time; what is held now: from part
	 * `from` to `until` less one, in the order of parts. */
	uint64_t parts[PARTS];
	size_t from, until;
	struct VEC(struct moment) moments;
	size_t next[PARTS]; /* the place of a part's next */
	struct moment *spare;
	size_t batch;
};

typedef void (*moment_fn)(struct view *v, size_t part, struct moment moment);

static uint64_t micros(const struct view *v, uint64_t at_ns)
{
	return (v->unix_ns + at_ns) / NSEC_PER_USEC;
}

/* Call @fn for each sample of a slice. */
static void each_moment(struct view *v, const struct slice *slice, moment_fn fn)
{
	uint64_t n = slice->weight.samples < MOST ? slice->weight.samples
						  : MOST;
	struct moment m = { .thread = slice->thread,
			    .stack = slice->seen.stack };
	uint64_t step_ns = n ? slice->weight.wall_ns / n : 0;
	uint64_t at_ns = slice->start_ns;

	for (uint64_t i = 0; i < n; i++, at_ns += step_ns) {
		uint64_t part = at_ns / v->part_ns, since;

		part = part < PARTS ? part : PARTS - 1;
		since = micros(v, at_ns) - micros(v, part * v->part_ns);
		m.at_us = since < UINT32_MAX ? (uint32_t)since : UINT32_MAX;
		fn(v, (size_t)part, m);
	}
}

static void count_moment(struct view *v, size_t part, struct moment m)
{
	(void)m;
	v->parts[part]++;
}

static int count_slice(void *ctx, const struct slice *slice)
{
	struct view *v = ctx;

	if (v->thread == HISTORY_NONE)
		v->thread = slice->thread;
	else if (v->thread != slice->thread)
		v->several = true;
	each_moment(v, slice, count_moment);
	return 0;
}

static void place_moment(struct view *v, size_t part, struct moment m)
{
	if (part >= v->from && part < v->until)
		v->moments.at[v->next[part]++] = m;
}

static int place_slice(void *ctx, const struct slice *slice)
{
	each_moment(ctx, slice, place_moment);
	return 0;
}

/* Merge two sorted halves of @n from @from to @to. */
static void merge(struct moment *to, const struct moment *from, size_t half,
		  size_t n)
{
	size_t a = 0, b = half;

	for (size_t i = 0; i < n; i++)
		to[i] = b >= n || (a < half && from[a].at_us <= from[b].at_us)
				? from[a++]
				: from[b++];
}

/*
 * Sort the @n of a part, in which there is room for as many in @spare: those of
 * one moment stay in the order in which the recording has them. They mostly are
 * sorted.
 */
static void sort_moments(struct moment *at, size_t n, struct moment *spare)
{
	struct moment *from = at, *to = spare, *other;
	size_t i = 1;

	while (i < n && at[i - 1].at_us <= at[i].at_us)
		i++;
	if (i >= n)
		return;
	for (size_t half = 1; half < n; half *= 2) {
		for (i = 0; i < n; i += 2 * half) {
			size_t left = n - i;

			merge(to + i, from + i, half < left ? half : left,
			      2 * half < left ? 2 * half : left);
		}
		other = from;
		from = to;
		to = other;
	}
	if (from != at)
		memcpy(at, from, n * sizeof(*at));
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

static int add_stack(struct view *v, uint32_t stack)
{
	struct str *to = &v->sink.text;
	size_t at = to->len;
	int r;

	if (texts_add(&v->stacks, stack, to))
		return 0;
	r = timeline_stack(&v->tl, stack);
	for (size_t i = 0; !r && i < v->tl.frames.n; i++)
		r = add_frame(v, v->tl.frames.at[i]);
	if (r)
		return r;
	str_puts(to, v->tl.frames.n ? "\n" : "(idle)\n");
	return texts_keep(&v->stacks, stack, to, at);
}

static int write_moment(struct view *v, const struct moment *m, uint64_t at_us)
{
	int r = 0;

	v->sink.json.comma = false;
	sink_u64(&v->sink, at_us);
	str_add(&v->sink.text, "\n", 1);
	if (v->several)
		r = add_label(v, m->thread);
	if (!r)
		r = add_stack(v, m->stack);
	return r ? r : sink_pass(&v->sink);
}

/* Sort and write the @n samples of a part. */
static int write_part(struct view *v, size_t part, size_t n)
{
	struct moment *at = v->moments.at + v->next[part] - n;
	uint64_t begin_us = micros(v, part * v->part_ns);
	int r = 0;

	sort_moments(at, n, v->spare);
	for (size_t i = 0; !r && i < n; i++)
		r = write_moment(v, &at[i], begin_us + at[i].at_us);
	return r;
}

/* Write the samples of the parts from v->from to v->until - 1. */
static int write_parts(struct view *v)
{
	size_t sum = 0, most = 0;
	int r;

	for (size_t i = v->from; i < v->until; i++) {
		v->next[i] = sum;
		sum += v->parts[i];
		if (v->parts[i] > most)
			most = v->parts[i];
	}
	if (!sum)
		return 0;
	v->moments.n = 0;
	free(v->spare);
	v->spare = calloc(most, sizeof(*v->spare));
	if (!v->spare || !vec_reserve(&v->moments, sum))
		return -ENOMEM;
	r = timeline_slices(&v->tl, place_slice, v);
	for (size_t i = v->from; !r && i < v->until; i++)
		r = write_part(v, i, v->parts[i]);
	return r;
}

static int write_all(struct view *v, const struct history *h)
{
	uint64_t sum;
	int r;

	/* The history's time begins with its earliest recording. */
	v->unix_ns = UINT64_MAX;
	for (size_t i = 0; i < h->runs.n; i++)
		if (h->runs.at[i].run.unix_ns < v->unix_ns)
			v->unix_ns = h->runs.at[i].run.unix_ns;
	if (v->unix_ns == UINT64_MAX)
		v->unix_ns = 0;
	v->part_ns = h->end_ns / PARTS + 1;
	r = timeline_slices(&v->tl, count_slice, v);
	for (; !r && v->from < PARTS; v->from = v->until) {
		sum = v->parts[v->from];
		for (v->until = v->from + 1; v->until < PARTS; v->until++) {
			sum += v->parts[v->until];
			if (sum > v->batch)
				break;
		}
		r = write_parts(v);
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
	texts_free(&v->stacks);
	vec_free(&v->moments);
	free(v->spare);
	free(v);
	return r;
}
