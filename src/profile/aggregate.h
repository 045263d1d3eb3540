/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_AGGREGATE_H
#define PROFILE_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/sample.h"
#include "base/strtab.h"

/*
 * A tree of weights, made for one view: its first level are entries (a process, a
 * role, a host), its other nodes are frames, the root of a stack first. Weights
 * stand at the node where a stack ends (self); a view adds up.
 */
struct aggregate;

#define AGGREGATE_NONE UINT32_MAX

/* A first-level entry. Texts are ids of the string table. */
struct agg_entry {
	uint32_t label;   /* how it is called */
	uint32_t process; /* of the history; HISTORY_NONE for more than one */
	uint32_t thread; /* of the history, where the entry is one; else NONE */
	uint32_t processes;        /* how many are in it */
	int32_t pid;               /* 0: several */
	uint32_t command, python;  /* "": several that differ */
	uint64_t born_ns, left_ns; /* the first birth, the last end */
};

struct node {
	uint32_t parent; /* node; AGGREGATE_NONE at the first level */
	uint32_t frame; /* index of its frame; of its entry at the first level */
	uint32_t child;   /* newest child, AGGREGATE_NONE without */
	uint32_t sibling; /* next older child of the same parent */
	struct weight self;
	uint64_t gil_ns;    /* of self: wall time with the lock held */
	struct weight base; /* what is compared with; 0 without */
	uint64_t base_gil_ns;
};

/* @strings is borrowed for life. Returns NULL when memory is gone. */
struct aggregate *aggregate_new(struct strtab *strings);
void aggregate_free(struct aggregate *agg);

/* Add an entry. Returns its node, or AGGREGATE_NONE without memory. */
uint32_t aggregate_entry_new(struct aggregate *agg,
			     const struct agg_entry *entry);

/*
 * Change what is known of an entry. @node as given above; NULL for any other.
 * Valid until the next aggregate_entry_new.
 */
struct agg_entry *aggregate_entry_at(struct aggregate *agg, uint32_t node);

/* The child of @parent for a frame, new or not; AGGREGATE_NONE without memory. */
uint32_t aggregate_child(struct aggregate *agg, uint32_t parent,
			 const struct frame *frame);

/*
 * The node of a stack: @frames innermost first, below @parent. With no frames it
 * is @parent. Returns AGGREGATE_NONE without memory.
 */
uint32_t aggregate_stack(struct aggregate *agg, uint32_t parent,
			 const struct frame *frames, size_t n);

/* Add to a node's own weight; @gil_ns of its wall time the lock was held. */
void aggregate_charge(struct aggregate *agg, uint32_t node,
		      struct weight weight, uint64_t gil_ns);

/* Add to what it is compared with. */
void aggregate_charge_base(struct aggregate *agg, uint32_t node,
			   struct weight weight, uint64_t gil_ns);

/*
 * To read it: nodes 0 to count - 1, frames 0 to frame_count - 1; a parent comes
 * before its children. The entry is that of a first-level node, else NULL.
 */
uint32_t aggregate_count(const struct aggregate *agg);
const struct node *aggregate_node(const struct aggregate *agg, uint32_t node);
struct frame aggregate_frame(const struct aggregate *agg, uint32_t frame);
uint32_t aggregate_frame_count(const struct aggregate *agg);
const struct agg_entry *aggregate_entry(const struct aggregate *agg,
					uint32_t node);
const struct strtab *aggregate_strings(const struct aggregate *agg);

#endif
