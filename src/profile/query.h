/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_QUERY_H
#define PROFILE_QUERY_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/history.h"

/* What a view is to show of a history, and how. */

/* What weights are. */
enum out_value {
	OUT_WALL,    /* wall time, in microseconds */
	OUT_CPU,     /* CPU time, in microseconds */
	OUT_SAMPLES, /* samples */
	OUT_GIL, /* wall time during which the lock was held, in microseconds */
};

/* The first level of an aggregate: what becomes one. */
enum query_group {
	GROUP_PROCESS, /* each image of each process */
	GROUP_THREAD,  /* each thread: its process, and the thread below it */
	GROUP_ROLE, /* images with one command line, whichever their process */
	GROUP_ALL,  /* everything is one */
};

/* What a frame is, beside its function and file. */
enum query_frames {
	FRAMES_LINES,     /* as they are: function, file and line */
	FRAMES_FUNCTIONS, /* line 0 */
	FRAMES_FILES, /* line 0 and no function; neighbours of a file are one */
};

struct query {
	/* Which slices. Of each kind that is given, one must fit. */
	const int32_t *pids; /* these processes */
	size_t n_pids;
	const int32_t *trees; /* these and all their descendants */
	size_t n_trees;
	const char *const *threads; /* a number (tid), or a part of the name */
	size_t n_threads;
	uint32_t process;            /* one process; HISTORY_NONE: all */
	uint64_t since_ns, until_ns; /* 0, UINT64_MAX: all. Weights are cut in
					proportion */
	bool idle; /* false: slices off CPU are left out (wall) */
	bool gil;  /* only slices that held the lock */
	/* Stacks with a frame whose `FILE:FUNCTION` fits; NULL: all. */
	const regex_t *include;
	/* Frames that fit are taken out, what they called stays. */
	const regex_t *exclude;

	enum query_group group;
	enum query_frames frames;
	bool hosts; /* the host is a level of its own above all */
};

#define QUERY_ALL                                 \
	((struct query){ .process = HISTORY_NONE, \
			 .until_ns = UINT64_MAX,  \
			 .idle = true })

/*
 * Which processes and threads fit, told beforehand: by number. A process fits
 * that is asked for and lived in the time that is asked for; where threads are
 * asked for, one of its own must fit too. For views that go through the slices
 * themselves.
 */
struct selection {
	const struct query *query;
	const struct history *history;
	bool *threads; /* by number; processes likewise */
	bool *processes;
};

int selection_make(struct selection *ret, const struct history *h,
		   const struct query *query);
void selection_free(struct selection *selection);

/*
 * Does @slice fit: thread, time, state? It is cut to the time that is asked for,
 * its weight in proportion: times next to one another add up. include and exclude
 * are not looked at.
 */
bool selection_wants(const struct selection *selection, struct slice *slice);

/* history_slices, of those that fit, cut. */
int selection_slices(const struct selection *selection, slice_fn fn, void *ctx);

/*
 * All that fits, as one tree. The entries of its first level:
 *   GROUP_PROCESS  label `PID: COMMAND`, (`PID (again): COMMAND` for a number
 *                  that was another process's before, counted from 2)
 *   GROUP_THREAD   the same, and below it a frame whose function is
 *                  `thread TID NAME`, with file 0 and line 0
 *   GROUP_ROLE     label `COMMAND` and, of several, ` (N processes)`
 *   GROUP_ALL      label `all`
 * With hosts the first level is the host, and the above are frames below it,
 * with file 0 and line 0. Images without weight (not Python) are not in it. A
 * command that is not known is `?` in a label.
 *
 * Strings of the tree are those of the history's table, which grows.
 * Returns 0, -ENOMEM, -EINVAL (a selection that fits nothing is no error).
 */
int query_aggregate(struct history *h, const struct query *query,
		    struct aggregate **ret);

/*
 * Add the weights of another history as the base to compare with: to struct
 * node.base of the same places. @agg was made of @h by a query with GROUP_ROLE or
 * GROUP_ALL, else -EINVAL; labels without the number of processes are then what
 * is compared. What only the base has becomes an entry (processes 0) or a node
 * without a weight of its own. Of the base all processes are taken: pids, trees
 * and process of the query are numbers of the other history.
 *
 * Returns 0, -ENOMEM, -EINVAL.
 */
int query_compare(struct aggregate *agg, struct history *h,
		  const struct query *query, const struct history *base);

#endif
