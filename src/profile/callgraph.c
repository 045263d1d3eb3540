/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/callgraph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

/*
 * Each node is told its function, its place and the edge that leads to it, once.
 * Then each node that weighs something is walked up to its root, along these
 * numbers; what has been met on the way is marked with the number of the walk.
 */

#define NONE UINT32_MAX

struct node_call {
	uint32_t place;
	uint32_t edge; /* NONE at the first level */
};

/* What callgraph_make works with. */
struct builder {
	const struct aggregate *agg;
	const struct call_options *options;
	struct callgraph *graph;
	struct map name_of;     /* file << 32 | name: a number */
	struct map function_of; /* entry << 32 | that number: index */
	struct map place_of;    /* function << 32 | line: index */
	struct map edge_of;     /* place << 32 | callee: index */
	struct node_call *calls;
	uint32_t *function_seen; /* by index: the last walk that met it */
	uint32_t *edge_seen;
};

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* The index that @key has in @map, or @next, put there; NONE without memory. */
static uint32_t number(struct map *map, uint64_t key, size_t next)
{
	uint64_t found;

	if (map_get(map, key, &found))
		return (uint32_t)found;
	return next < NONE && map_put(map, key, next) ? (uint32_t)next : NONE;
}

static uint32_t function_number(struct builder *b, uint32_t entry,
				uint32_t file, uint32_t name)
{
	struct callgraph *g = b->graph;
	uint32_t named = number(&b->name_of, pair(file, name), b->name_of.n);
	uint32_t i;

	if (named == NONE)
		return NONE;
	i = number(&b->function_of, pair(entry, named), g->functions.n);
	if (i < g->functions.n || i == NONE)
		return i;
	if (!vec_push(&g->functions,
		      ((struct call_function){
			      .entry = entry, .file = file, .name = name })))
		return NONE;
	return i;
}

static uint32_t place_number(struct builder *b, uint32_t function, int32_t line)
{
	struct callgraph *g = b->graph;
	uint32_t i;

	if (!b->options->by_line)
		line = 0;
	i = number(&b->place_of, pair(function, (uint32_t)line), g->places.n);
	if (i < g->places.n || i == NONE)
		return i;
	if (!vec_push(&g->places, ((struct call_place){ .function = function,
							.line = line })))
		return NONE;
	return i;
}

static uint32_t edge_number(struct builder *b, uint32_t place, uint32_t callee)
{
	struct callgraph *g = b->graph;
	uint32_t i;

	i = number(&b->edge_of, pair(place, callee), g->edges.n);
	if (i < g->edges.n || i == NONE)
		return i;
	if (!vec_push(&g->edges,
		      ((struct call_edge){ .place = place, .callee = callee })))
		return NONE;
	return i;
}

/* The label of the entry that @place belongs to, as functions are told apart. */
static uint32_t entry_of(const struct builder *b, uint32_t place)
{
	uint32_t function = b->graph->places.at[place].function;

	return b->graph->functions.at[function].entry;
}

/* Number what node @i stands for; its parent has been. */
static int number_node(struct builder *b, uint32_t i)
{
	const struct node *node = aggregate_node(b->agg, i);
	struct node_call *call = &b->calls[i];
	struct frame frame = { 0 };
	uint32_t entry = 0;
	uint32_t function;

	if (node->parent == AGGREGATE_NONE) {
		frame.function = aggregate_entry(b->agg, i)->label;
		if (b->options->by_entry)
			entry = frame.function;
	} else {
		frame = aggregate_frame(b->agg, node->frame);
		entry = entry_of(b, b->calls[node->parent].place);
	}
	function = function_number(b, entry, frame.file, frame.function);
	if (function == NONE)
		return -ENOMEM;
	call->place = place_number(b, function, frame.line);
	call->edge = NONE;
	if (call->place == NONE)
		return -ENOMEM;
	if (node->parent == AGGREGATE_NONE)
		return 0;
	call->edge = edge_number(b, b->calls[node->parent].place, function);
	return call->edge == NONE ? -ENOMEM : 0;
}

static void cost_add(struct call_cost *to, const struct call_cost *cost)
{
	for (size_t i = 0; i < CALL_VALUES; i++)
		to->at[i] += cost->at[i];
}

/* What node @i weighs by itself; false when that is nothing. */
static bool cost_of(const struct builder *b, uint32_t i, struct call_cost *ret)
{
	bool any = false;

	for (size_t v = 0; v < CALL_VALUES; v++) {
		ret->at[v] = b->options->own[v] ? b->options->own[v][i] : 0;
		any = any || ret->at[v];
	}
	return any;
}

/* Add @cost to all that the stack which ends in @leaf goes through. */
static void charge_stack(struct builder *b, uint32_t leaf,
			 const struct call_cost *cost)
{
	struct callgraph *g = b->graph;
	struct call_place *place = &g->places.at[b->calls[leaf].place];
	uint32_t edge = NONE; /* the one that was just come from */
	uint32_t walk = leaf + 1;

	cost_add(&place->self, cost);
	cost_add(&g->functions.at[place->function].self, cost);
	if (b->calls[leaf].edge != NONE)
		cost_add(&g->edges.at[b->calls[leaf].edge].self, cost);
	for (uint32_t i = leaf; i != AGGREGATE_NONE;
	     i = aggregate_node(b->agg, i)->parent) {
		uint32_t f = g->places.at[b->calls[i].place].function;
		bool first = b->function_seen[f] != walk;
		bool counts = first;

		b->function_seen[f] = walk;
		if (first)
			cost_add(&g->functions.at[f].total, cost);
		if (edge != NONE && b->options->rule == CALL_EACH)
			counts = b->edge_seen[edge] != walk;
		if (edge != NONE && counts) {
			cost_add(&g->edges.at[edge].total, cost);
			b->edge_seen[edge] = walk;
		}
		edge = b->calls[i].edge;
	}
}

int callgraph_make(struct callgraph *ret, const struct aggregate *agg,
		   const struct call_options *options)
{
	uint32_t count = aggregate_count(agg);
	struct builder b = { .agg = agg, .options = options, .graph = ret };
	struct call_cost cost;
	int r = -ENOMEM;

	*ret = (struct callgraph){ 0 };
	b.calls = calloc((size_t)count + 1, sizeof(*b.calls));
	if (!b.calls)
		goto out;
	for (uint32_t i = 0; i < count; i++)
		if (number_node(&b, i))
			goto out;
	b.function_seen =
		calloc(ret->functions.n + 1, sizeof(*b.function_seen));
	b.edge_seen = calloc(ret->edges.n + 1, sizeof(*b.edge_seen));
	if (!b.function_seen || !b.edge_seen)
		goto out;
	for (uint32_t i = 0; i < count; i++)
		if (cost_of(&b, i, &cost))
			charge_stack(&b, i, &cost);
	r = 0;
out:
	map_free(&b.name_of);
	map_free(&b.function_of);
	map_free(&b.place_of);
	map_free(&b.edge_of);
	free(b.calls);
	free(b.function_seen);
	free(b.edge_seen);
	return r;
}

void callgraph_free(struct callgraph *graph)
{
	vec_free(&graph->functions);
	vec_free(&graph->places);
	vec_free(&graph->edges);
}
