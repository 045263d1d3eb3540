/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"

int timeline_open(struct timeline *ret, const struct history *h,
		  const struct query *query)
{
	int r;

	*ret = (struct timeline){ .history = h, .batch = TIMELINE_BATCH };
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

	/* Where stacks are as they were, there is nothing to do for each. */
	if (filter_stacks(tl->filter) == tl->history->stacks)
		return selection_slices(&tl->selection, fn, ctx);
	return selection_slices(&tl->selection, pass_slice, &p);
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

/* Slices on their way to their threads. */
struct sorting {
	struct packed packed; /* a lane for each turn */
	struct turn *turns;   /* threads in the order in which they come */
	uint32_t *turn_of;    /* by thread */
};

/* The threads, those of a process together. */
static int take_turns(struct sorting *s, const struct history *h)
{
	size_t n = h->threads.n;

	s->turns = malloc((n + 1) * sizeof(*s->turns));
	s->turn_of = malloc((n + 1) * sizeof(*s->turn_of));
	if (!s->turns || !s->turn_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		s->turns[i] = (struct turn){
			.process = h->threads.at[i].process,
			.thread = i,
		};
	qsort(s->turns, n, sizeof(*s->turns), turn_order);
	for (uint32_t i = 0; i < n; i++)
		s->turn_of[s->turns[i].thread] = i;
	return 0;
}

static int pack_slice(void *ctx, const struct slice *slice)
{
	struct sorting *s = ctx;

	return packed_add(&s->packed, s->turn_of[slice->thread], slice);
}

/* Hand out the slices of a turn, if it has any. */
static int hand_turn(struct sorting *s, size_t turn, timeline_fn fn, void *ctx)
{
	uint32_t thread = s->turns[turn].thread;
	struct course course;

	if (!s->packed.lanes[turn].n)
		return 0;
	course_open(&course, &s->packed, turn, thread);
	return fn(ctx, thread, &course);
}

int timeline_threads(struct timeline *tl, timeline_fn fn, void *ctx)
{
	struct sorting s = { 0 };
	size_t n = tl->history->threads.n, turn = 0;
	int r;

	r = take_turns(&s, tl->history);
	if (!r)
		r = packed_init(&s.packed, n, tl->batch);
	while (!r && turn < n) {
		packed_begin(&s.packed, turn);
		r = timeline_slices(tl, pack_slice, &s);
		for (; !r && turn < s.packed.until; turn++)
			r = hand_turn(&s, turn, fn, ctx);
	}
	packed_free(&s.packed);
	free(s.turns);
	free(s.turn_of);
	return r;
}

void course_open(struct course *ret, const struct packed *packed, size_t lane,
		 uint32_t thread)
{
	*ret = (struct course){ .slices = packed->lanes[lane].n };
	packed_read(&ret->reader, packed, lane, thread);
	course_rewind(ret);
}

void course_rewind(struct course *course)
{
	packed_rewind(&course->reader);
	course->has_next = packed_next(&course->reader, &course->next);
}

bool course_next(struct course *course)
{
	uint64_t start_ns, lasts_ns;

	if (!course->has_next)
		return false;
	course->slice = course->next;
	course->has_next = packed_next(&course->reader, &course->next);
	start_ns = course->slice.start_ns;
	lasts_ns = course->slice.weight.wall_ns;
	if (course->has_next &&
	    nsec_since(course->next.start_ns, start_ns) < lasts_ns)
		lasts_ns = nsec_since(course->next.start_ns, start_ns);
	course->until_ns = start_ns + lasts_ns;
	return true;
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
	const struct stack *all = stacks_all(filter_stacks(tl->filter));
	struct stack node = all[stack];

	tl->frames.n = 0;
	if (!vec_reserve(&tl->frames, node.depth))
		return -ENOMEM;
	tl->frames.n = node.depth;
	for (size_t i = node.depth; i-- > 0;) {
		tl->frames.at[i] = node.frame;
		node = all[node.parent];
	}
	return 0;
}

struct frame timeline_frame(const struct timeline *tl, uint32_t frame)
{
	return stacks_frame_at(filter_stacks(tl->filter), frame);
}
