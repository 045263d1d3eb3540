/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/aggregate.h"

#include <stdlib.h>
#include <string.h>

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
	struct VEC(struct agg_entry) entries;
	struct VEC(struct known_frame) frames;
	struct map frame_of; /* the newest frame of a hash */

	/* Nodes by parent and frame: open addressing, AGGREGATE_NONE is free. A
	 * tree has millions of nodes; a number each is all that this takes. */
	uint32_t *slots;
	size_t room; /* a power of two, or 0 */
	size_t used;
	uint64_t seed;
};

struct aggregate *aggregate_new(struct strtab *strings)
{
	struct aggregate *agg = calloc(1, sizeof(*agg));

	if (!agg)
		return NULL;
	agg->strings = strings;
	/* Where it lies is chance: names cannot be chosen to collide. */
	agg->seed = map_mix((uintptr_t)agg, 0);
	return agg;
}

void aggregate_free(struct aggregate *agg)
{
	if (!agg)
		return;
	vec_free(&agg->nodes);
	vec_free(&agg->entries);
	vec_free(&agg->frames);
	free(agg->slots);
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

uint32_t aggregate_entry_new(struct aggregate *agg,
			     const struct agg_entry *entry)
{
	if (agg->nodes.n >= AGGREGATE_NONE || !vec_reserve(&agg->nodes, 1) ||
	    !vec_push(&agg->entries, *entry))
		return AGGREGATE_NONE;
	return node_append(agg, AGGREGATE_NONE, (uint32_t)(agg->entries.n - 1));
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

/* The slot of a child, or the free one where it would go. Needs a free slot. */
static uint32_t *find_slot(const struct aggregate *agg, uint32_t parent,
			   uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	size_t i = map_mix(key, agg->seed) & (agg->room - 1);

	for (;; i = (i + 1) & (agg->room - 1)) {
		const struct node *node;

		if (agg->slots[i] == AGGREGATE_NONE)
			return &agg->slots[i];
		node = &agg->nodes.at[agg->slots[i]];
		if (node->parent == parent && node->frame == frame)
			return &agg->slots[i];
	}
}

/* Room for one more child; false, nothing changed, without memory. */
static bool grow_slots(struct aggregate *agg)
{
	size_t room = agg->room ? agg->room * 2 : 64;
	uint32_t *slots;

	if (agg->used < agg->room / 4 * 3)
		return true;
	if (room > SIZE_MAX / sizeof(*slots))
		return false;
	slots = malloc(room * sizeof(*slots));
	if (!slots)
		return false;
	memset(slots, 0xff, room * sizeof(*slots));
	free(agg->slots);
	agg->slots = slots;
	agg->room = room;
	for (uint32_t i = 0; i < agg->nodes.n; i++) {
		const struct node *node = &agg->nodes.at[i];

		if (node->parent != AGGREGATE_NONE)
			*find_slot(agg, node->parent, node->frame) = i;
	}
	return true;
}

uint32_t aggregate_child(struct aggregate *agg, uint32_t parent,
			 const struct frame *frame)
{
	uint32_t index;
	uint32_t *slot;

	if (parent >= agg->nodes.n)
		return AGGREGATE_NONE;
	index = frame_index(agg, frame);
	if (index == AGGREGATE_NONE || !grow_slots(agg))
		return AGGREGATE_NONE;
	slot = find_slot(agg, parent, index);
	if (*slot != AGGREGATE_NONE)
		return *slot;
	if (agg->nodes.n >= AGGREGATE_NONE || !vec_reserve(&agg->nodes, 1))
		return AGGREGATE_NONE;
	*slot = (uint32_t)agg->nodes.n;
	agg->used++;
	return node_append(agg, parent, index);
}

uint32_t aggregate_stack(struct aggregate *agg, uint32_t parent,
			 const struct frame *frames, size_t n)
{
	while (n-- && parent != AGGREGATE_NONE)
		parent = aggregate_child(agg, parent, &frames[n]);
	return parent;
}

static void add_weight(struct weight *to, const struct weight *weight)
{
	to->wall_ns += weight->wall_ns;
	to->cpu_ns += weight->cpu_ns;
	to->samples += weight->samples;
}

void aggregate_charge(struct aggregate *agg, uint32_t node,
		      struct weight weight, uint64_t gil_ns)
{
	if (node >= agg->nodes.n)
		return;
	add_weight(&agg->nodes.at[node].self, &weight);
	agg->nodes.at[node].gil_ns += gil_ns;
}

void aggregate_charge_base(struct aggregate *agg, uint32_t node,
			   struct weight weight, uint64_t gil_ns)
{
	if (node >= agg->nodes.n)
		return;
	add_weight(&agg->nodes.at[node].base, &weight);
	agg->nodes.at[node].base_gil_ns += gil_ns;
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

struct agg_entry *aggregate_entry_at(struct aggregate *agg, uint32_t node)
{
	if (node >= agg->nodes.n ||
	    agg->nodes.at[node].parent != AGGREGATE_NONE)
		return NULL;
	return &agg->entries.at[agg->nodes.at[node].frame];
}

const struct agg_entry *aggregate_entry(const struct aggregate *agg,
					uint32_t node)
{
	if (node >= agg->nodes.n ||
	    agg->nodes.at[node].parent != AGGREGATE_NONE)
		return NULL;
	return &agg->entries.at[agg->nodes.at[node].frame];
}

const struct strtab *aggregate_strings(const struct aggregate *agg)
{
	return agg->strings;
}
