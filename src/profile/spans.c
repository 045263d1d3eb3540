/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/spans.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* Places that are remembered: powers of two. */
#define NEAR (512 * 1024u)
#define NEAR_WAYS 4u

int spans_init(struct spans *spans, uint64_t from_ns, uint64_t until_ns,
	       uint32_t threads, size_t most)
{
	uint64_t length = until_ns > from_ns ? until_ns - from_ns : 0;
	size_t bytes = ((size_t)threads + 1) * sizeof(*spans->last);

	*spans = (struct spans){ .from_ns = from_ns,
				 .tick_ns = length / SPANS_CELLS / SPANS_CELL,
				 .coarsest_ns =
					 length / SPANS_COARSEST / SPANS_CELL,
				 .threads = threads,
				 .most = most };
	if (!spans->tick_ns)
		spans->tick_ns = 1;
	spans->last = malloc(bytes);
	spans->cell = malloc(bytes);
	spans->near = malloc(NEAR * sizeof(*spans->near));
	if (!spans->last || !spans->cell || !spans->near) {
		spans_free(spans);
		return -ENOMEM;
	}
	memset(spans->last, 0xff, bytes);
	memset(spans->cell, 0xff, bytes);
	memset(spans->near, 0xff, NEAR * sizeof(*spans->near));
	return 0;
}

void spans_free(struct spans *spans)
{
	vec_free(&spans->at);
	free(spans->last);
	free(spans->cell);
	free(spans->near);
	spans->last = NULL;
	spans->cell = NULL;
	spans->near = NULL;
}

static bool is_same(const struct span *a, const struct span *b)
{
	return a->thread == b->thread && a->stack == b->stack &&
	       a->state == b->state;
}

static uint32_t cell_of(const struct span *span)
{
	return span->start / SPANS_CELL;
}

static bool in_one_cell(const struct span *span)
{
	return (span->end - 1) / SPANS_CELL == cell_of(span);
}

/*
 * Where the place of a span is remembered, until those of NEAR_WAYS others have
 * come to the same spot. Its cell does not count: the slices of a thread come in
 * the order of time, so that only its newest cell is ever looked for. What is
 * forgotten too early is not joined, and that is all. (A map that kept all took
 * half of the time of a long recording: it waited for memory.)
 */
static struct span_place *near(const struct spans *spans,
			       const struct span *span, uint32_t *ret_tag)
{
	uint64_t mixed = map_mix((uint64_t)span->thread << 32 | span->stack,
				 span->state);

	*ret_tag = (uint32_t)(mixed >> 32);
	return spans->near + (mixed & (NEAR - NEAR_WAYS));
}

static void join(struct span *to, const struct span *span)
{
	if (span->start < to->start)
		to->start = span->start;
	if (span->end > to->end)
		to->end = span->end;
	to->weight.wall_ns += span->weight.wall_ns;
	to->weight.cpu_ns += span->weight.cpu_ns;
	to->weight.samples += span->weight.samples;
	to->gil_ns += span->gil_ns;
}

/* Is the span at @place one of the same cell that @span can become a part of? */
static bool takes(const struct spans *spans, uint32_t place,
		  const struct span *span)
{
	const struct span *other;

	if (place >= spans->at.n)
		return false;
	other = &spans->at.at[place];
	return is_same(other, span) && cell_of(other) == cell_of(span) &&
	       in_one_cell(other);
}

/* The span that @span can become a part of; SPANS_NONE: none. */
static uint32_t find_place(const struct spans *spans, const struct span *span)
{
	uint32_t last = spans->last[span->thread], tag;
	const struct span_place *spot;
	const struct span *other;

	if (last != SPANS_NONE) {
		other = &spans->at.at[last];
		if (is_same(other, span) && span->start <= other->end + 1)
			return last;
	}
	/* The thread's first in this cell: not looked up in vain. */
	if (!in_one_cell(span) || spans->cell[span->thread] != cell_of(span))
		return SPANS_NONE;
	spot = near(spans, span, &tag);
	for (size_t i = 0; i < NEAR_WAYS; i++)
		if (spot[i].tag == tag && takes(spans, spot[i].place, span))
			return spot[i].place;
	return SPANS_NONE;
}

/* Remember a place, the newest first. */
static void remember(struct spans *spans, const struct span *span,
		     uint32_t place)
{
	uint32_t tag;
	struct span_place *spot = near(spans, span, &tag);

	memmove(spot + 1, spot, (NEAR_WAYS - 1) * sizeof(*spot));
	*spot = (struct span_place){ .place = place, .tag = tag };
	spans->cell[span->thread] = cell_of(span);
}

/* A slice ends where the next one of its thread begins. */
static void end_last(struct spans *spans, const struct span *span)
{
	uint32_t last = spans->last[span->thread];
	struct span *other = last == SPANS_NONE ? NULL : &spans->at.at[last];

	if (other && other->end > span->start)
		other->end = span->start > other->start ? span->start
							: other->start + 1;
}

static int put(struct spans *spans, const struct span *span)
{
	uint32_t place = find_place(spans, span);

	if (place != SPANS_NONE) {
		join(&spans->at.at[place], span);
	} else {
		end_last(spans, span);
		place = (uint32_t)spans->at.n;
		if (place == SPANS_NONE || !vec_push(&spans->at, *span))
			return -ENOMEM;
		if (in_one_cell(span))
			remember(spans, span, place);
	}
	spans->last[span->thread] = place;
	return 0;
}

/* Make a tick twice as long. */
static int double_tick(struct spans *spans)
{
	struct span *old = spans->at.at;
	size_t n = spans->at.n;
	int r = 0;

	memset(&spans->at, 0, sizeof(spans->at));
	memset(spans->last, 0xff, spans->threads * sizeof(*spans->last));
	memset(spans->cell, 0xff, spans->threads * sizeof(*spans->cell));
	memset(spans->near, 0xff, NEAR * sizeof(*spans->near));
	spans->tick_ns *= 2;
	for (size_t i = 0; !r && i < n; i++) {
		old[i].start /= 2;
		old[i].end = old[i].end / 2 + (old[i].end & 1);
		r = put(spans, &old[i]);
	}
	free(old);
	return r;
}

static int coarsen(struct spans *spans)
{
	uint64_t most = spans->most / 4 * 3;
	int r;

	do {
		r = double_tick(spans);
	} while (!r && spans->at.n > most &&
		 spans->tick_ns < spans->coarsest_ns);
	/* What cannot be joined further is kept, rather than tried for ever. */
	if (spans->at.n > most)
		spans->most += spans->most / 2;
	return r;
}

static uint8_t state_of(const struct seen *seen)
{
	if (seen->gil == GIL_WAITED || seen->wait == WAIT_GIL)
		return SPAN_GIL_WAIT;
	if (seen->run == RUN_ON_CPU)
		return SPAN_ON_CPU;
	return seen->run == RUN_STOPPED ? SPAN_STOPPED : SPAN_IDLE;
}

static uint32_t tick_at(const struct spans *spans, uint64_t at_ns)
{
	uint64_t tick = at_ns > spans->from_ns
				? (at_ns - spans->from_ns) / spans->tick_ns
				: 0;
	uint64_t most = (uint64_t)SPANS_CELLS * SPANS_CELL * 2;

	return (uint32_t)(tick < most ? tick : most);
}

int spans_add(struct spans *spans, const struct slice *slice, uint32_t stack)
{
	struct span span = { .thread = slice->thread,
			     .stack = stack,
			     .state = state_of(&slice->seen),
			     .weight = slice->weight };
	int r;

	span.start = tick_at(spans, slice->start_ns);
	span.end = tick_at(spans, slice->start_ns + slice->weight.wall_ns);
	if (span.end <= span.start)
		span.end = span.start + 1;
	if (slice->seen.gil == GIL_HELD)
		span.gil_ns = slice->weight.wall_ns;
	r = put(spans, &span);
	if (!r && spans->at.n > spans->most)
		r = coarsen(spans);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (int)x->state - (int)y->state;
}

void spans_sort(struct spans *spans)
{
	if (spans->at.n)
		qsort(spans->at.at, spans->at.n, sizeof(*spans->at.at),
		      compare);
}
