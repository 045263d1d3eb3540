/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_H
#define PROFILE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/history.h"
#include "profile/query.h"

/*
 * Views: bytes made from a history, handed to a write function. One file a
 * format. Each escapes names in its own way: they come from strangers. Each
 * returns 0, -ENOMEM or what @write returned.
 *
 * In every view the weights add up to those of the history that the query asks
 * for; where a format has whole numbers only, what rounding takes from one place
 * it gives to another of the same entry.
 */

struct out_options {
	enum out_value value;
	const char *title; /* what was run; NULL: none */
	bool diff;         /* nodes have a base to compare with */
	unsigned rows;     /* of a table; 0: as many as are useful */
	bool color;        /* a terminal that shows colours */
	/* Read a source file of the run, for views that show source lines: its
	 * bytes into *@ret (to be freed) and its length. NULL: none is shown. */
	int (*source)(void *ctx, const char *path, char **ret, size_t *ret_len);
	void *source_ctx;
};

/* Takes all of @len bytes or returns a negative errno, which is passed up. */
typedef int (*out_write)(void *ctx, const char *bytes, size_t len);

/*
 * What each node weighs by itself in @value: whole microseconds, or samples.
 * What rounding takes from one node it gives to another of the same entry
 * (largest remainder), so that the nodes of an entry add up to its total,
 * rounded.
 *
 * @base     the weights that are compared with, instead
 * @ret_own  room for aggregate_count(agg) numbers
 *
 * Returns 0 or -ENOMEM.
 */
int out_weights(const struct aggregate *agg, enum out_value value, bool base,
		uint64_t *ret_own);

/* --- of a tree of weights */

/*
 * Collapsed stacks: one line a stack, root first, frames separated by ';', then
 * a blank and the weight. The first frame is the entry's label, the others
 * `FILE:FUNCTION:LINE`; `FILE:FUNCTION` with line 0, and the function alone
 * without a file. In names, ';', control characters, bytes that are not UTF-8
 * and backslashes are escaped as str_escape does; in FUNCTION also ':' where a
 * file stands before it (a blank is allowed: the weight is what follows the last
 * one). Weights are those of out_weights; a line that would weigh 0 is left out.
 * With options->diff two weights, that of the base first. In the order of the
 * nodes: a caller before what it calls.
 */
int out_collapsed(const struct aggregate *agg,
		  const struct out_options *options, out_write write,
		  void *ctx);

/* A static flame graph, an SVG that any browser opens, with zoom and search. */
int out_svg(const struct aggregate *agg, const struct out_options *options,
	    out_write write, void *ctx);

/* pprof's profile.proto, gzipped: labels pid, thread, process, host. */
int out_pprof(const struct history *h, const struct query *query,
	      const struct out_options *options, out_write write, void *ctx);

/* For callgrind_annotate and kcachegrind. */
int out_callgrind(const struct aggregate *agg,
		  const struct out_options *options, out_write write,
		  void *ctx);

/* A file that Python's pstats reads. */
int out_pstats(const struct aggregate *agg, const struct out_options *options,
	       out_write write, void *ctx);

/*
 * For a terminal: the hottest functions, self and total, and the process table.
 * Roles with more than one process: what is slow about the pool.
 */
int out_table(struct history *h, const struct query *query,
	      const struct aggregate *agg, const struct out_options *options,
	      out_write write, void *ctx);

/* --- of the course of time; include and exclude of the query are minded */

int out_speedscope(const struct history *h, const struct query *query,
		   const struct out_options *options, out_write write,
		   void *ctx);
int out_chrome(const struct history *h, const struct query *query,
	       const struct out_options *options, out_write write, void *ctx);
int out_firefox(const struct history *h, const struct query *query,
		const struct out_options *options, out_write write, void *ctx);
int out_jsonl(const struct history *h, const struct query *query,
	      const struct out_options *options, out_write write, void *ctx);
int out_flamechart(const struct history *h, const struct query *query,
		   const struct out_options *options, out_write write,
		   void *ctx);

/* --- the page: processes along time, the flame graph, the tables */

/*
 * One self-contained HTML page, no network. @base is another history to compare
 * with, or NULL.
 */
int out_page(struct history *h, const struct query *query,
	     const struct history *base, const struct out_options *options,
	     out_write write, void *ctx);

#endif
