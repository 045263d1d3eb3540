/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_QUERY_INTERNAL_H
#define PROFILE_QUERY_INTERNAL_H

#include "profile/aggregate.h"
#include "profile/filter.h"
#include "profile/query.h"

/* Between the files that make an aggregate of a query. */

/* What becomes one: an image, a role, everything. Texts are the history's. */
struct unit {
	uint32_t host;          /* 0 where hosts are no level */
	uint32_t last_process;  /* the last one that was counted */
	uint32_t again;         /* of the first process */
	struct agg_entry entry; /* without a label */
};

struct units {
	struct VEC(struct unit) at;
	struct VEC(uint32_t) of_image; /* HISTORY_NONE: not in any */
};

/* Of the images that the selection has weights of. Returns 0 or -ENOMEM. */
int units_make(struct units *ret, const struct selection *selection);
void units_free(struct units *units);

/* Is it selected, and is there anything to show of it? */
bool units_has_thread(const struct selection *selection, uint32_t thread);

/* What a stack weighs below a root. One is one line or two of the cache. */
struct cell {
	uint64_t key;  /* root << 32 | stack of the filter */
	uint32_t node; /* its node and 1; 0: the cell is free */
	struct weight weight;
	uint64_t gil_ns;
};

/* Put the stacks of threads into an aggregate, and their weights. */
struct placing {
	struct aggregate *agg;
	const struct selection *selection;
	struct filter *filter;
	uint32_t *root_of; /* a node by thread; AGGREGATE_NONE: none */
	bool base;         /* weights are what others are compared with */

	/* Of another history than the aggregate's: its strings there, by number,
	 * STRTAB_NONE where that is not known yet. NULL: the same. */
	const struct strtab *from;
	struct strtab *to;
	struct VEC(uint32_t) strings;

	/* By key, open addressing: the stacks that were seen, and some on the way
	 * to them. Weights are gathered here, and go to the nodes in the end. */
	struct cell *cells;
	size_t room; /* a power of two, or 0 */
	size_t used;
	uint64_t seed;

	struct VEC(uint32_t) path; /* from a stack to one whose node is known */
};

/* Room for a node by each thread, none yet; 0 or -ENOMEM. */
int placing_begin(struct placing *p, struct aggregate *agg,
		  const struct selection *selection);
void placing_end(struct placing *p);

/* The string in the aggregate's table; STRTAB_NONE without memory. */
uint32_t placing_string(struct placing *p, uint32_t id);

/* All slices of the selection. Returns 0 or -ENOMEM. */
int placing_run(struct placing *p);

#endif
