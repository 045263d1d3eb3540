/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/aggregate.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/* A frame, and another of the same hash. */
struct known_frame {
	struct frame frame;
	uint32_t next;
};

struct aggregate {
	struct strtab *strings; /* borrowed */
	struct VEC(struct node) nodes;
	struct VEC(struct process_entry) processes;
	struct VEC(struct known_frame) frames;
	struct map node_of;  /* parent << 32 | frame: exact, no collisions */
	struct map frame_of; /* the newest frame of a hash */
};

struct aggregate *aggregate_new(struct strtab *strings)
{
	struct aggregate *agg = calloc(1, sizeof(*agg));

	if (agg)
		agg->strings = strings;
	return agg;
}

void aggregate_free(struct aggregate *agg)
{
	if (!agg)
		return;
	vec_free(&agg->nodes);
	vec_free(&agg->processes);
	vec_free(&agg->frames);
	map_free(&agg->node_of);
	map_free(&agg->frame_of);
	free(agg);
}

/* A new node at the end, linked to its parent. The room must be there. */
static uint32_t node_append(struct aggregate *agg, uint32_t parent,
			    uint32_t frame)
{
	uint32_t id = (uint32_t)agg->nodes.n;
	struct node *up;
	struct node node = { .parent = parent,
			     .frame = frame,
			     .child = AGGREGATE_NONE,
			     .sibling = AGGREGATE_NONE };

	if (parent != AGGREGATE_NONE) {
		up = &agg->nodes.at[parent];
		node.sibling = up->child;
		up->child = id;
	}
	agg->nodes.at[agg->nodes.n++] = node;
	return id;
}

uint32_t aggregate_process(struct aggregate *agg,
			   const struct process_entry *entry)
{
	if (agg->nodes.n >= AGGREGATE_NONE || !vec_reserve(&agg->nodes, 1) ||
	    !vec_push(&agg->processes, *entry))
		return AGGREGATE_NONE;
	return node_append(agg, AGGREGATE_NONE,
			   (uint32_t)(agg->processes.n - 1));
}

/* The index of a frame, new or not; AGGREGATE_NONE without memory. */
static uint32_t frame_index(struct aggregate *agg, const struct frame *frame)
{
	uint64_t names = (uint64_t)frame->function << 32 | frame->file;
	uint64_t hash = map_mix(names, (uint32_t)frame->line);
	struct known_frame known = { .frame = *frame, .next = AGGREGATE_NONE };
	uint64_t newest;

	if (map_get(&agg->frame_of, hash, &newest))
		known.next = (uint32_t)newest;
	for (uint32_t i = known.next; i != AGGREGATE_NONE;) {
		const struct known_frame *k = &agg->frames.at[i];

		if (k->frame.function == frame->function &&
		    k->frame.file == frame->file &&
		    k->frame.line == frame->line)
			return i;
		i = k->next;
	}
	if (agg->frames.n >= AGGREGATE_NONE || !vec_reserve(&agg->frames, 1) ||
	    !map_put(&agg->frame_of, hash, agg->frames.n))
		return AGGREGATE_NONE;
	agg->frames.at[agg->frames.n++] = known;
	return (uint32_t)(agg->frames.n - 1);
}

/* The child of @parent for a frame, new or not. */
static uint32_t child_of(struct aggregate *agg, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t id;

	if (map_get(&agg->node_of, key, &id))
		return (uint32_t)id;
	if (agg->nodes.n >= AGGREGATE_NONE || !vec_reserve(&agg->nodes, 1) ||
	    !map_put(&agg->node_of, key, agg->nodes.n))
		return AGGREGATE_NONE;
	return node_append(agg, parent, frame);
}

uint32_t aggregate_stack(struct aggregate *agg, uint32_t process,
			 const struct frame *frames, size_t n)
{
	uint32_t node = process;
	uint32_t frame;

	while (n-- && node != AGGREGATE_NONE) {
		frame = frame_index(agg, &frames[n]);
		if (frame == AGGREGATE_NONE)
			return AGGREGATE_NONE;
		node = child_of(agg, node, frame);
	}
	return node;
}

void aggregate_charge(struct aggregate *agg, uint32_t node,
		      struct weight weight)
{
	struct weight *self;

	if (node >= agg->nodes.n)
		return;
	self = &agg->nodes.at[node].self;
	self->wall_ns += weight.wall_ns;
	self->cpu_ns += weight.cpu_ns;
	self->samples += weight.samples;
}

uint32_t aggregate_count(const struct aggregate *agg)
{
	return (uint32_t)agg->nodes.n;
}

const struct node *aggregate_node(const struct aggregate *agg, uint32_t node)
{
	return node < agg->nodes.n ? &agg->nodes.at[node] : NULL;
}

uint32_t aggregate_frame_count(const struct aggregate *agg)
{
	return (uint32_t)agg->frames.n;
}

struct frame aggregate_frame(const struct aggregate *agg, uint32_t frame)
{
	return frame < agg->frames.n ? agg->frames.at[frame].frame
				     : (struct frame){ 0 };
}

/* The index of the process whose first-level node is @node. */
static uint32_t entry_index(const struct aggregate *agg, uint32_t node)
{
	if (node >= agg->nodes.n ||
	    agg->nodes.at[node].parent != AGGREGATE_NONE)
		return AGGREGATE_NONE;
	return agg->nodes.at[node].frame;
}

struct process_entry *aggregate_process_at(struct aggregate *agg, uint32_t node)
{
	uint32_t i = entry_index(agg, node);

	return i == AGGREGATE_NONE ? NULL : &agg->processes.at[i];
}

const struct process_entry *aggregate_entry(const struct aggregate *agg,
					    uint32_t node)
{
	uint32_t i = entry_index(agg, node);

	return i == AGGREGATE_NONE ? NULL : &agg->processes.at[i];
}

const struct strtab *aggregate_strings(const struct aggregate *agg)
{
	return agg->strings;
}
