/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_TABLE_TREE_H
#define PROFILE_TABLE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/history.h"
#include "profile/query.h"
#include "profile/roles.h"

/* The lines of the process table: a process each, or equal ones of one parent. */

#define LINE_NONE UINT32_MAX

struct tree_line {
	uint32_t parent; /* line; LINE_NONE of a root. Lines come after it */
	uint32_t child, last, sibling; /* children by birth */
	unsigned depth;
	bool shown;     /* else only counted by its parent's line */
	uint32_t first; /* process */
	uint32_t processes;
	uint32_t command, python; /* strings; python: 0 where they differ */
	uint64_t born_ns, left_ns;
	uint64_t cpu_ns, gil_wait_ns, life_ns;
	uint32_t living, bad, told; /* live on; ended badly; with a status */
	bool alike;                 /* all ended with the status of the first */
	bool before;                /* some were there before the run */
	uint8_t verdict;            /* of all, else VERDICT_SAMPLED */
	/* Of it and all below. */
	uint32_t all_processes;
	uint64_t all_cpu_ns;
};

struct tree_lines {
	struct VEC(struct tree_line) at;
};

/*
 * Of the processes that are selected.
 *
 * @fold  equal ones of one parent are one line
 * @most  so many lines are shown, and their parents: those with the most CPU
 *
 * Returns 0 or -ENOMEM; tree_free is due in both cases.
 */
int tree_make(struct tree_lines *ret, const struct history *h,
	      const struct selection *selection, const struct roles *roles,
	      bool fold, size_t most);
void tree_free(struct tree_lines *tree);

#endif
