/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_CALLGRAPH_H
#define PROFILE_CALLGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/aggregate.h"

/*
 * A tree of stacks as a graph of functions: who called whom, and what passed
 * through. For formats that know functions and calls, and no stacks.
 *
 * A function is a name in a file; its lines, and the different places of the tree
 * where it stands, are one. An entry of the first level is a function too, without
 * a file and called by its label: what stands at it ran outside of any frame.
 *
 * A stack in which a function stands twice (recursion) counts once for its total.
 */

#define CALL_VALUES 4 /* kinds of weight that are added up at once */

struct call_cost {
	uint64_t at[CALL_VALUES];
};

struct call_function {
	uint32_t entry; /* its entry's label; 0 when they are not told apart */
	uint32_t file, name;    /* ids of the tree's strings; file 0: none */
	struct call_cost self;  /* of the stacks that end in it */
	struct call_cost total; /* of the stacks that it stands in */
};

struct call_place {
	uint32_t function; /* index */
	int32_t line;      /* 0 when lines are not told apart */
	struct call_cost self;
};

struct call_edge {
	uint32_t place;        /* where the caller was: index of a call_place */
	uint32_t callee;       /* index of a call_function */
	struct call_cost self; /* of the stacks that end with this call */
	struct call_cost total; /* of the stacks with it: see call_rule */
};

/* What goes into the total of an edge. */
enum call_rule {
	/* Every stack with a call of this callee by this caller, once. */
	CALL_EACH,
	/* Of a stack, only the innermost call that a function makes: so its self
	 * and the totals of all edges out of it add up to its own total, however
	 * it recurs. Those who read the graph may add up without a cycle. */
	CALL_INNERMOST,
};

struct call_options {
	enum call_rule rule;
	bool by_line;  /* a place for each line, else for each function */
	bool by_entry; /* functions of different entries are different */
	/* What each node weighs by itself; NULL: not wanted, 0. */
	const uint64_t *own[CALL_VALUES];
};

struct callgraph {
	struct VEC(struct call_function) functions;
	struct VEC(struct call_place) places;
	struct VEC(struct call_edge) edges;
};

/*
 * All are numbered as they first come up in the tree's order of nodes.
 * Returns 0 or -ENOMEM; to be freed in either case.
 */
int callgraph_make(struct callgraph *ret, const struct aggregate *agg,
		   const struct call_options *options);
void callgraph_free(struct callgraph *graph);

#endif
