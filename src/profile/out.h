/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_H
#define PROFILE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate.h"

/*
 * Views: bytes made from an aggregate, handed to a write function. One file a
 * format. Each escapes names in its own way: they come from strangers.
 */

/* Which of the weights a view shows. */
enum out_value {
	OUT_WALL,    /* wall time, in microseconds */
	OUT_CPU,     /* CPU time, in microseconds */
	OUT_SAMPLES, /* samples */
};

struct out_options {
	enum out_value value;
	uint32_t only; /* serial of the only process to show; AGGREGATE_NONE: all */
	const char *title; /* for a page: what was run; NULL: none */
	const char *
		summary; /* for a page: the run's summary, a JSON object; NULL: none */
};

/* Takes all of @len bytes or returns a negative errno, which is passed up. */
typedef int (*out_write)(void *ctx, const char *bytes, size_t len);

/* Whether @options want the process of this entry. */
static inline bool out_wants(const struct out_options *options,
			     const struct process_entry *entry)
{
	return options->only == AGGREGATE_NONE ||
	       options->only == entry->serial;
}

/*
 * What each node weighs by itself in @value: whole microseconds, or samples.
 * What rounding takes from one node it gives to another of the same process
 * (largest remainder), so that the nodes of a process add up to its total,
 * rounded.
 *
 * @ret_own  room for aggregate_count(agg) numbers
 *
 * Returns 0 or -ENOMEM.
 */
int out_weights(const struct aggregate *agg, enum out_value value,
		uint64_t *ret_own);

/*
 * Collapsed stacks: one line a stack, root first, frames separated by ';', then
 * a blank and the weight. The first frame is `PID: COMMAND LINE`, the others
 * `FILE:FUNCTION:LINE`. In names, ';', control characters, bytes that are not
 * UTF-8 and backslashes are escaped as str_escape does; in FUNCTION also ':'
 * so that the last two colons are the separators (a blank is allowed: the weight
 * is what follows the last one). Weights are those of out_weights; a line that
 * would weigh 0 is left out. In the order of the nodes: as they were first seen,
 * a caller before what it calls.
 *
 * Returns 0, -ENOMEM or what @write returned.
 */
int out_collapsed(const struct aggregate *agg,
		  const struct out_options *options, out_write write,
		  void *ctx);

/*
 * A flame graph: one self-contained HTML page, no network. It holds wall and CPU
 * time and samples, whatever options->value is, and lets its reader switch.
 * Returns as out_collapsed.
 */
int out_flamegraph(const struct aggregate *agg,
		   const struct out_options *options, out_write write,
		   void *ctx);

#endif
