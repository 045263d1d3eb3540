/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "profile/history_internal.h"
#include "profile/query_internal.h"

/* From slices to weights at the nodes of an aggregate. */

/*
 * Of the callers of a stack that was seen, each so many frames the node is kept.
 * The table stays small, which is what makes it fast; and no stack, however deep,
 * is walked further than this more than once.
 */
#define KEEP_EACH 32

int placing_begin(struct placing *p, struct aggregate *agg,
		  const struct selection *selection)
{
	size_t threads = selection->history->threads.n;

	*p = (struct placing){ .agg = agg, .selection = selection };
	p->filter = filter_new(selection->history, selection->query);
	p->root_of = calloc(threads + 1, sizeof(*p->root_of));
	p->seed = map_mix((uintptr_t)p->root_of, 0);
	if (!p->filter || !p->root_of)
		return -ENOMEM;
	for (size_t i = 0; i < threads; i++)
		p->root_of[i] = AGGREGATE_NONE;
	return 0;
}

void placing_end(struct placing *p)
{
	filter_free(p->filter);
	free(p->root_of);
	vec_free(&p->strings);
	vec_free(&p->path);
	free(p->cells);
	*p = (struct placing){ 0 };
}

uint32_t placing_string(struct placing *p, uint32_t id)
{
	const char *text;
	size_t len;

	if (!p->from)
		return id;
	while (p->strings.n <= id)
		if (!vec_push(&p->strings, STRTAB_NONE))
			return STRTAB_NONE;
	if (p->strings.at[id] == STRTAB_NONE) {
		text = strtab_get(p->from, id, &len);
		p->strings.at[id] = strtab_id(p->to, text, len);
	}
	return p->strings.at[id];
}

/* The node of a stack whose caller's node is @parent. */
static uint32_t place_call(struct placing *p, uint32_t parent, uint32_t number)
{
	struct frame frame = stacks_frame_at(filter_stacks(p->filter), number);

	frame.function = placing_string(p, frame.function);
	frame.file = placing_string(p, frame.file);
	if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
		return AGGREGATE_NONE;
	return aggregate_child(p->agg, parent, &frame);
}

/* The cell of a key, or the free one where it would go. Needs a free cell. */
static struct cell *find_cell(struct placing *p, uint64_t key)
{
	size_t i = map_mix(key, p->seed) & (p->room - 1);

	while (p->cells[i].node && p->cells[i].key != key)
		i = (i + 1) & (p->room - 1);
	return &p->cells[i];
}

/* Room for one more cell; false, nothing changed, without memory. */
static bool grow_cells(struct placing *p)
{
	struct placing to = *p;

	if (p->used < p->room / 4 * 3)
		return true;
	to.room = p->room ? p->room * 2 : 256;
	if (to.room > SIZE_MAX / sizeof(*to.cells))
		return false;
	to.cells = calloc(to.room, sizeof(*to.cells));
	if (!to.cells)
		return false;
	for (size_t i = 0; i < p->room; i++)
		if (p->cells[i].node)
			*find_cell(&to, p->cells[i].key) = p->cells[i];
	free(p->cells);
	p->cells = to.cells;
	p->room = to.room;
	return true;
}

/* A new cell; NULL without memory. */
static struct cell *new_cell(struct placing *p, uint64_t key, uint32_t node)
{
	struct cell *cell;

	if (!grow_cells(p))
		return NULL;
	cell = find_cell(p, key);
	p->used += !cell->node;
	*cell = (struct cell){ .key = key, .node = node + 1 };
	return cell;
}

/* The cell of a stack of the filter that has none; NULL without memory. */
static struct cell *place_stack(struct placing *p, uint32_t root,
				uint32_t number)
{
	const struct stacks *stacks = filter_stacks(p->filter);
	uint64_t above = (uint64_t)root << 32;
	struct cell *cell = NULL;
	uint32_t node = root;

	if (number == STACKS_EMPTY)
		return new_cell(p, above | number, root);
	if (!grow_cells(p))
		return NULL;
	p->path.n = 0;
	for (; number != STACKS_EMPTY;
	     number = stacks_at(stacks, number).parent) {
		cell = find_cell(p, above | number);
		if (cell->node) {
			node = cell->node - 1;
			break;
		}
		if (!vec_push(&p->path, number))
			return NULL;
	}
	while (p->path.n) {
		struct stack stack;

		number = p->path.at[--p->path.n];
		stack = stacks_at(stacks, number);
		node = place_call(p, node, stack.frame);
		if (node == AGGREGATE_NONE)
			return NULL;
		if (p->path.n && stack.depth % KEEP_EACH != 0)
			continue;
		cell = new_cell(p, above | number, node);
		if (!cell)
			return NULL;
	}
	return cell;
}

static int place_slice(void *ctx, const struct slice *slice)
{
	struct placing *p = ctx;
	uint32_t root = p->root_of[slice->thread];
	struct cell *cell = NULL;
	uint32_t stack;
	int r;

	if (root == AGGREGATE_NONE)
		return 0;
	stack = filter_stack(p->filter, slice->seen.stack, &r);
	if (stack == STACKS_NONE)
		return r;
	if (p->room)
		cell = find_cell(p, (uint64_t)root << 32 | stack);
	if (!cell || !cell->node)
		cell = place_stack(p, root, stack);
	if (!cell)
		return -ENOMEM;
	history_add_weight(&cell->weight, &slice->weight);
	if (slice->seen.gil == GIL_HELD)
		cell->gil_ns += slice->weight.wall_ns;
	return 0;
}

int placing_run(struct placing *p)
{
	int r = selection_slices(p->selection, place_slice, p);

	if (r)
		return r;
	for (size_t i = 0; i < p->room; i++) {
		const struct cell *cell = &p->cells[i];

		if (!cell->node)
			continue;
		if (p->base)
			aggregate_charge_base(p->agg, cell->node - 1,
					      cell->weight, cell->gil_ns);
		else
			aggregate_charge(p->agg, cell->node - 1, cell->weight,
					 cell->gil_ns);
	}
	return 0;
}
