/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"
#include "profile/table_sums.h"

#define NO_FUNCTION UINT32_MAX

/* A walk over the tree. */
struct walk {
	const struct aggregate *agg;
	struct sums *sums;
	struct sum *nodes,
		*nodes_base;   /* by node: own, and with its children */
	struct sum *frames;    /* by frame, of what is compared */
	uint32_t *function_of; /* by frame: index of sums */
	uint32_t *open;        /* by function: how often it is on the stack */
	unsigned levels;
};

static uint64_t value_of(const struct node *node, enum out_value value,
			 bool base)
{
	const struct weight *weight = base ? &node->base : &node->self;

	switch (value) {
	case OUT_CPU:
		return weight->cpu_ns;
	case OUT_SAMPLES:
		return weight->samples;
	case OUT_GIL:
		return base ? node->base_gil_ns : node->gil_ns;
	case OUT_WALL:
		break;
	}
	return weight->wall_ns;
}

/* Functions of all frames, whatever the line. */
static int find_functions(struct walk *w)
{
	struct map known = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < aggregate_frame_count(w->agg); i++) {
		struct frame frame = aggregate_frame(w->agg, i);
		struct function_sum sum = { .function = frame.function,
					    .file = frame.file };
		uint64_t key = (uint64_t)frame.function << 32 | frame.file;
		uint64_t at = w->sums->at.n;

		if (!map_get(&known, key, &at) &&
		    (!map_put(&known, key, at) ||
		     !vec_push(&w->sums->at, sum))) {
			r = -ENOMEM;
			break;
		}
		w->function_of[i] = (uint32_t)at;
	}
	map_free(&known);
	return r;
}

/* What each node weighs with all below it: parents come before children. */
static void weigh_nodes(struct walk *w, enum out_value value)
{
	for (uint32_t i = aggregate_count(w->agg); i-- > 0;) {
		const struct node *node = aggregate_node(w->agg, i);

		w->nodes[i].own = value_of(node, value, false);
		w->nodes[i].total += w->nodes[i].own;
		w->nodes_base[i].own = value_of(node, value, true);
		w->nodes_base[i].total += w->nodes_base[i].own;
		if (node->parent == AGGREGATE_NONE)
			continue;
		w->nodes[node->parent].total += w->nodes[i].total;
		w->nodes_base[node->parent].total += w->nodes_base[i].total;
	}
}

/* Come to a node from its parent; @depth: 0 at the first level. */
static void enter(struct walk *w, uint32_t at, unsigned depth)
{
	const struct node *node = aggregate_node(w->agg, at);
	struct function_sum *sum;
	uint32_t function;

	if (depth <= w->levels) {
		w->sums->now.own += w->nodes[at].own;
		w->sums->base.own += w->nodes_base[at].own;
		return;
	}
	function = w->function_of[node->frame];
	sum = &w->sums->at.at[function];
	sum->now.own += w->nodes[at].own;
	sum->base.own += w->nodes_base[at].own;
	w->frames[node->frame].own += w->nodes[at].own + w->nodes_base[at].own;
	w->frames[node->frame].total +=
		w->nodes[at].total + w->nodes_base[at].total;
	if (w->open[function]++)
		return;
	sum->now.total += w->nodes[at].total;
	sum->base.total += w->nodes_base[at].total;
}

static void leave(struct walk *w, uint32_t at, unsigned depth)
{
	if (depth > w->levels)
		w->open[w->function_of[aggregate_node(w->agg, at)->frame]]--;
}

/* All that hangs below a first-level node, a caller before what it calls. */
static void walk_entry(struct walk *w, uint32_t entry)
{
	uint32_t at = entry;
	unsigned depth = 0;

	for (;;) {
		const struct node *node = aggregate_node(w->agg, at);

		enter(w, at, depth);
		if (node->child != AGGREGATE_NONE) {
			at = node->child;
			depth++;
			continue;
		}
		while (depth && node->sibling == AGGREGATE_NONE) {
			leave(w, at, depth--);
			at = node->parent;
			node = aggregate_node(w->agg, at);
		}
		if (!depth)
			return;
		leave(w, at, depth);
		at = node->sibling;
	}
}

/* The line that a function spends most in; else, that calls most. */
static void choose_lines(struct walk *w)
{
	for (uint32_t i = 0; i < aggregate_frame_count(w->agg); i++) {
		struct function_sum *sum = &w->sums->at.at[w->function_of[i]];
		const struct sum *frame = &w->frames[i];

		if (frame->own < sum->line_own ||
		    (frame->own == sum->line_own &&
		     frame->total <= sum->line_total))
			continue;
		sum->line = aggregate_frame(w->agg, i).line;
		sum->line_own = frame->own;
		sum->line_total = frame->total;
	}
}

static int walk_make(struct walk *w)
{
	size_t nodes = (size_t)aggregate_count(w->agg) + 1;
	size_t frames = (size_t)aggregate_frame_count(w->agg) + 1;

	w->nodes = calloc(nodes, sizeof(*w->nodes));
	w->nodes_base = calloc(nodes, sizeof(*w->nodes_base));
	w->frames = calloc(frames, sizeof(*w->frames));
	w->function_of = calloc(frames, sizeof(*w->function_of));
	w->open = calloc(frames, sizeof(*w->open));
	return w->nodes && w->nodes_base && w->frames && w->function_of &&
			       w->open
		       ? find_functions(w)
		       : -ENOMEM;
}

int sums_make(struct sums *ret, const struct aggregate *agg,
	      enum out_value value, unsigned levels)
{
	struct walk w = { .agg = agg, .sums = ret, .levels = levels };
	int r;

	*ret = (struct sums){ 0 };
	r = walk_make(&w);
	if (r)
		goto out;
	weigh_nodes(&w, value);
	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		if (aggregate_node(agg, i)->parent != AGGREGATE_NONE)
			continue;
		ret->now.total += w.nodes[i].total;
		ret->base.total += w.nodes_base[i].total;
		walk_entry(&w, i);
	}
	choose_lines(&w);
out:
	free(w.nodes);
	free(w.nodes_base);
	free(w.frames);
	free(w.function_of);
	free(w.open);
	return r;
}

void sums_free(struct sums *sums)
{
	vec_free(&sums->at);
}
