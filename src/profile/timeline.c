/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"

/* Slices that are held at a time: 48 MiB of them. */
#define BATCH (1024 * 1024)

int timeline_open(struct timeline *ret, const struct history *h,
		  const struct query *query)
{
	int r;

	*ret = (struct timeline){ .history = h, .batch = BATCH };
	r = selection_make(&ret->selection, h, query);
	if (r)
		return r;
	ret->filter = filter_new(h, query);
	return ret->filter ? 0 : -ENOMEM;
}

void timeline_close(struct timeline *tl)
{
	filter_free(tl->filter);
	selection_free(&tl->selection);
	vec_free(&tl->frames);
}

struct passing {
	struct timeline *tl;
	slice_fn fn;
	void *ctx;
};

static int pass_slice(void *ctx, const struct slice *slice)
{
	struct passing *p = ctx;
	struct slice shown = *slice;
	int r;

	shown.seen.stack = filter_stack(p->tl->filter, slice->seen.stack, &r);
	if (shown.seen.stack == STACKS_NONE)
		return r;
	return p->fn(p->ctx, &shown);
}

int timeline_slices(struct timeline *tl, slice_fn fn, void *ctx)
{
	struct passing p = { .tl = tl, .fn = fn, .ctx = ctx };

	return selection_slices(&tl->selection, pass_slice, &p);
}

/* Slices on their way to their threads. */
struct sorting {
	size_t *count;  /* slices of each thread */
	size_t *next;   /* the place of its next; NOWHERE: not this time */
	uint32_t *turn; /* threads with slices, in the order of their turn */
	size_t n_turn;
	struct slice *slices;
	size_t room;
};

#define NOWHERE SIZE_MAX

static int count_slice(void *ctx, const struct slice *slice)
{
	struct sorting *s = ctx;

	s->count[slice->thread]++;
	return 0;
}

static int place_slice(void *ctx, const struct slice *slice)
{
	struct sorting *s = ctx;
	size_t *next = &s->next[slice->thread];

	if (*next != NOWHERE && *next < s->room)
		s->slices[(*next)++] = *slice;
	return 0;
}

struct turn {
	uint32_t process, thread;
};

static int turn_order(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* The threads that have slices, those of a process together. */
static int take_turns(struct sorting *s, const struct history *h)
{
	struct turn *turns = malloc((h->threads.n + 1) * sizeof(*turns));

	if (!turns)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->threads.n; i++) {
		s->next[i] = NOWHERE;
		if (s->count[i])
			turns[s->n_turn++] = (struct turn){
				.process = h->threads.at[i].process,
				.thread = i,
			};
	}
	qsort(turns, s->n_turn, sizeof(*turns), turn_order);
	for (size_t i = 0; i < s->n_turn; i++)
		s->turn[i] = turns[i].thread;
	free(turns);
	return 0;
}

/* Collect the slices of turns @from to @to - 1, and hand them out. */
static int one_batch(struct timeline *tl, struct sorting *s, size_t from,
		     size_t to, timeline_fn fn, void *ctx)
{
	size_t at = 0;
	int r;

	for (size_t i = from; i < to; i++) {
		s->next[s->turn[i]] = at;
		at += s->count[s->turn[i]];
	}
	if (at > s->room) {
		free(s->slices);
		s->room = 0;
		s->slices = calloc(at, sizeof(*s->slices));
		if (!s->slices)
			return -ENOMEM;
		s->room = at;
	}
	r = timeline_slices(tl, place_slice, s);
	at = 0;
	for (size_t i = from; !r && i < to; i++) {
		uint32_t thread = s->turn[i];

		r = fn(ctx, thread, s->slices + at, s->count[thread]);
		at += s->count[thread];
		s->next[thread] = NOWHERE;
	}
	return r;
}

int timeline_threads(struct timeline *tl, timeline_fn fn, void *ctx)
{
	size_t n = tl->history->threads.n + 1;
	struct sorting s = { 0 };
	size_t from, to, sum;
	int r = -ENOMEM;

	s.count = calloc(n, sizeof(*s.count));
	s.next = calloc(n, sizeof(*s.next));
	s.turn = calloc(n, sizeof(*s.turn));
	if (!s.count || !s.next || !s.turn)
		goto out;
	r = timeline_slices(tl, count_slice, &s);
	if (!r)
		r = take_turns(&s, tl->history);
	for (from = 0; !r && from < s.n_turn; from = to) {
		sum = 0;
		for (to = from; to < s.n_turn; to++) {
			sum += s.count[s.turn[to]];
			if (to > from && sum > tl->batch)
				break;
		}
		r = one_batch(tl, &s, from, to, fn, ctx);
	}
out:
	free(s.count);
	free(s.next);
	free(s.turn);
	free(s.slices);
	return r;
}

uint64_t timeline_until(const struct slice *slices, size_t n, size_t i)
{
	uint64_t start = slices[i].start_ns;
	uint64_t lasts = slices[i].weight.wall_ns;

	if (i + 1 < n && nsec_since(slices[i + 1].start_ns, start) < lasts)
		lasts = nsec_since(slices[i + 1].start_ns, start);
	return start + lasts;
}

bool timeline_shows(const struct timeline *tl, uint64_t at_ns)
{
	const struct query *query = tl->selection.query;

	return at_ns >= query->since_ns && at_ns <= query->until_ns;
}

uint64_t timeline_amount(const struct slice *slice, enum out_value value)
{
	switch (value) {
	case OUT_CPU:
		return slice->weight.cpu_ns;
	case OUT_SAMPLES:
		return slice->weight.samples;
	case OUT_GIL:
		return slice->seen.gil == GIL_HELD ? slice->weight.wall_ns : 0;
	case OUT_WALL:
		break;
	}
	return slice->weight.wall_ns;
}

int timeline_stack(struct timeline *tl, uint32_t stack)
{
	const struct stacks *stacks = filter_stacks(tl->filter);
	struct stack node = stacks_at(stacks, stack);

	tl->frames.n = 0;
	if (!vec_reserve(&tl->frames, node.depth))
		return -ENOMEM;
	tl->frames.n = node.depth;
	for (size_t i = node.depth; i-- > 0;) {
		tl->frames.at[i] = node.frame;
		node = stacks_at(stacks, node.parent);
	}
	return 0;
}

struct frame timeline_frame(const struct timeline *tl, uint32_t frame)
{
	return stacks_frame_at(filter_stacks(tl->filter), frame);
}
