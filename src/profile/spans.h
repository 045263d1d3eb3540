/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_SPANS_H
#define PROFILE_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/vec.h"

/*
 * What threads did along time, no finer than it can be drawn. Slices come in
 * while they are read; those of one thread, stack and state are joined where
 * they touch, or lie in one cell of SPANS_CELL ticks. When there get to be too
 * many, a tick is made twice as long and what then falls together is joined.
 *
 * Weights are never cut: they add up to those of the slices.
 */
#define SPANS_CELL 8u
#define SPANS_CELLS 4096u   /* along the whole time, at first */
#define SPANS_COARSEST 128u /* cells that are left when all else fails */
#define SPANS_NONE UINT32_MAX

enum span_state {
	SPAN_IDLE,
	SPAN_ON_CPU,
	SPAN_GIL_WAIT,
	SPAN_STOPPED,
};

struct span {
	uint32_t thread, stack;
	uint32_t start, end; /* ticks since the beginning; end is after start */
	uint8_t state;       /* enum span_state */
	struct weight weight;
	uint64_t gil_ns; /* of its wall time the lock was held */
};

/* Where a span is in `at`; and what tells it from most others. */
struct span_place {
	uint32_t place, tag;
};

struct spans {
	struct VEC(struct span) at;
	uint64_t from_ns, tick_ns, coarsest_ns;
	uint32_t *last; /* by thread: its newest span; SPANS_NONE: none */
	uint32_t *cell; /* in which the newest of each thread in the table is */
	uint32_t threads; /* how many */
	size_t most;
	struct span_place *near; /* a table, by thread, stack and state */
};

/*
 * @most is how many are kept, about: where there are more different stacks, it
 * grows. Returns 0 or -ENOMEM; spans_free is right after both.
 */
int spans_init(struct spans *spans, uint64_t from_ns, uint64_t until_ns,
	       uint32_t threads, size_t most);
void spans_free(struct spans *spans);

/*
 * Add a slice under the number @stack, which is the caller's. Slices of a
 * thread come in the order of time; its number is below the number of threads.
 * Returns 0 or -ENOMEM.
 */
int spans_add(struct spans *spans, const struct slice *slice, uint32_t stack);

/* Order them by thread and start. Nothing can be added any more. */
void spans_sort(struct spans *spans);

#endif
