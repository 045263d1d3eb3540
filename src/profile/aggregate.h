/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_AGGREGATE_H
#define PROFILE_AGGREGATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/frame.h"
#include "base/strtab.h"

/*
 * Every stack that was seen, once, with what it weighs: a tree whose first level
 * are processes (one entry for each image: an exec begins another) and whose
 * nodes are frames, the root of a stack first. Weights are kept at the node
 * where a stack ends (self); a view adds up.
 */
struct aggregate;

#define AGGREGATE_NONE UINT32_MAX

struct weight {
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t samples;
};

/* A first-level entry. Texts are ids of the string table. */
struct process_entry {
	pid_t pid;
	uint32_t serial;  /* of the process in this run */
	uint32_t image;   /* 0 the first, 1 after an exec, ... */
	uint32_t parent;  /* serial of its parent; AGGREGATE_NONE for a root */
	uint32_t command; /* its command line, arguments joined by blanks */
	uint32_t python;  /* version text */
	uint64_t born_ns,
		left_ns; /* since the start of the run; left 0: lives */
};

struct node {
	uint32_t parent; /* node; AGGREGATE_NONE at the first level */
	uint32_t frame; /* index of its frame; of its process at the first level */
	uint32_t child;   /* newest child, AGGREGATE_NONE without */
	uint32_t sibling; /* next older child of the same parent */
	struct weight self;
};

/* @strings is borrowed for life. Returns NULL when memory is gone. */
struct aggregate *aggregate_new(struct strtab *strings);
void aggregate_free(struct aggregate *agg);

/* Add a process image. Returns its node, or AGGREGATE_NONE without memory. */
uint32_t aggregate_process(struct aggregate *agg,
			   const struct process_entry *entry);

/*
 * Change what is known of a process image (its end). @node as given above; NULL
 * for any other. Valid until the next aggregate_process.
 */
struct process_entry *aggregate_process_at(struct aggregate *agg,
					   uint32_t node);

/*
 * The node of a stack: @frames innermost first, as they are read. With no frames
 * it is the process's own node. Returns AGGREGATE_NONE without memory.
 */
uint32_t aggregate_stack(struct aggregate *agg, uint32_t process,
			 const struct frame *frames, size_t n);

/* Add to a node's own weight. */
void aggregate_charge(struct aggregate *agg, uint32_t node,
		      struct weight weight);

/*
 * To read it: nodes 0 to count - 1, frames 0 to frame_count - 1; a parent comes
 * before its children. The entry is that of a first-level node, else NULL.
 */
uint32_t aggregate_count(const struct aggregate *agg);
const struct node *aggregate_node(const struct aggregate *agg, uint32_t node);
struct frame aggregate_frame(const struct aggregate *agg, uint32_t frame);
uint32_t aggregate_frame_count(const struct aggregate *agg);
const struct process_entry *aggregate_entry(const struct aggregate *agg,
					    uint32_t node);
const struct strtab *aggregate_strings(const struct aggregate *agg);

#endif
