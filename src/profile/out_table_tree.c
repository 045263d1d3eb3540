/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "profile/summary.h"
#include "profile/table_tree.h"

/* A tree that is being made. */
struct growth {
	struct tree_lines *tree;
	const struct history *h;
	const struct selection *selection;
	const struct roles *roles;
	uint32_t *line_of; /* by process; LINE_NONE: not selected */
	struct map folds;  /* by parent line and command: the line */
	bool fold;
};

/* The image that tells what a process is: its last. HISTORY_NONE: it has none. */
static uint32_t image_of(const struct past_process *process)
{
	return process->images ? process->image + process->images - 1
			       : HISTORY_NONE;
}

/* By what processes are the same: the command line that their role goes by. */
static uint32_t command_of(const struct growth *g, uint32_t image)
{
	uint32_t role;

	if (image == HISTORY_NONE)
		return 0;
	role = g->roles->members.at[image].role;
	return role == ROLE_NONE ? g->h->images.at[image].command
				 : g->roles->at.at[role].command;
}

/* Put a new line below its parent. */
static uint32_t line_append(struct growth *g, struct tree_line line)
{
	uint32_t at = (uint32_t)g->tree->at.n;
	struct tree_line *parent;

	if (!vec_push(&g->tree->at, line))
		return LINE_NONE;
	if (line.parent == LINE_NONE)
		return at;
	parent = &g->tree->at.at[line.parent];
	if (parent->child == LINE_NONE)
		parent->child = at;
	else
		g->tree->at.at[parent->last].sibling = at;
	parent->last = at;
	g->tree->at.at[at].depth = parent->depth + 1;
	return at;
}

/* The line for a process, new or not; LINE_NONE without memory. */
static uint32_t line_for(struct growth *g, uint32_t number)
{
	const struct past_process *process = &g->h->processes.at[number];
	uint32_t image = image_of(process);
	struct tree_line line = { .parent = LINE_NONE,
				  .child = LINE_NONE,
				  .last = LINE_NONE,
				  .sibling = LINE_NONE,
				  .first = number,
				  .alike = true,
				  .born_ns = process->born_ns,
				  .verdict = process->verdict };
	uint64_t key, at = 0;

	if (image != HISTORY_NONE) {
		line.command = g->h->images.at[image].command;
		line.python = g->h->images.at[image].python;
	}
	/* Its parent has a smaller number, or is none that can be shown. */
	if (process->parent < number)
		line.parent = g->line_of[process->parent];
	if (!g->fold)
		return line_append(g, line);
	/* Roots of different runs are never one; NONE + 1 is 0. */
	key = (uint64_t)(line.parent + 1) << 32 | command_of(g, image);
	if (line.parent == LINE_NONE)
		key = map_mix(key, process->run + 1);
	if (map_get(&g->folds, key, &at))
		return (uint32_t)at;
	at = line_append(g, line);
	if (at != LINE_NONE && !map_put(&g->folds, key, at))
		return LINE_NONE;
	return (uint32_t)at;
}

static bool same_end(const struct past_process *a, const struct past_process *b)
{
	return a->left == b->left && a->has_status == b->has_status &&
	       (!a->has_status || a->status == b->status);
}

/* Add a process to its line. */
static void line_add(const struct growth *g, struct tree_line *line,
		     const struct past_process *process)
{
	uint32_t image = image_of(process);

	line->processes++;
	line->before = line->before || process->before;
	if (process->left_ns > line->left_ns)
		line->left_ns = process->left_ns;
	if (process->born_ns < line->born_ns)
		line->born_ns = process->born_ns;
	if (image != HISTORY_NONE &&
	    g->h->images.at[image].python != line->python)
		line->python = 0;
	if (process->verdict != line->verdict)
		line->verdict = VERDICT_SAMPLED;
	line->living += !process->left;
	line->told += process->left && process->has_status;
	line->bad += process->left && process->has_status && process->status;
	line->alike = line->alike &&
		      same_end(process, &g->h->processes.at[line->first]);
	for (uint32_t i = 0; i < process->images; i++) {
		const struct role_member *member =
			&g->roles->members.at[process->image + i];

		line->cpu_ns += member->cpu_ns;
		line->gil_wait_ns += member->gil_wait_ns;
		line->life_ns += member->life_ns;
	}
}

static int grow(struct growth *g)
{
	for (uint32_t i = 0; i < g->h->processes.n; i++) {
		g->line_of[i] = LINE_NONE;
		if (!g->selection->processes[i])
			continue;
		g->line_of[i] = line_for(g, i);
		if (g->line_of[i] == LINE_NONE)
			return -ENOMEM;
		line_add(g, &g->tree->at.at[g->line_of[i]],
			 &g->h->processes.at[i]);
	}
	return 0;
}

/* Parents come before their children. */
static void add_up(struct tree_lines *tree)
{
	for (size_t i = tree->at.n; i-- > 0;) {
		struct tree_line *line = &tree->at.at[i];

		line->all_processes += line->processes;
		line->all_cpu_ns += line->cpu_ns;
		if (line->parent == LINE_NONE)
			continue;
		tree->at.at[line->parent].all_processes += line->all_processes;
		tree->at.at[line->parent].all_cpu_ns += line->all_cpu_ns;
	}
}

/* A line and its weight, to be ranked. */
struct rank {
	bool strange; /* no Python: shown where there is nothing else */
	uint64_t cpu_ns;
	uint32_t line;
};

static int rank_order(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->strange != y->strange)
		return x->strange ? 1 : -1;
	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/*
 * Show the @most lines with the most CPU, and whom they descend from. A table of
 * many, @fold, has none of other programs that nothing is known of.
 */
static int choose(struct tree_lines *tree, bool fold, size_t most)
{
	size_t n = tree->at.n;
	struct rank *ranks = calloc(n + 1, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		ranks[i] = (struct rank){
			.strange =
				fold &&
				(tree->at.at[i].verdict == VERDICT_NOT_PYTHON ||
				 tree->at.at[i].verdict == VERDICT_LEFT_OUT),
			.cpu_ns = tree->at.at[i].cpu_ns,
			.line = i,
		};
	qsort(ranks, n, sizeof(*ranks), rank_order);
	for (size_t i = 0; i < n && i < most; i++) {
		uint32_t at = ranks[i].line;

		if (ranks[i].strange && !ranks[0].strange)
			break;
		for (; at != LINE_NONE && !tree->at.at[at].shown;
		     at = tree->at.at[at].parent)
			tree->at.at[at].shown = true;
	}
	free(ranks);
	return 0;
}

int tree_make(struct tree_lines *ret, const struct history *h,
	      const struct selection *selection, const struct roles *roles,
	      bool fold, size_t most)
{
	struct growth g = { .tree = ret,
			    .h = h,
			    .selection = selection,
			    .roles = roles,
			    .fold = fold };
	int r;

	*ret = (struct tree_lines){ 0 };
	g.line_of = calloc(h->processes.n + 1, sizeof(*g.line_of));
	r = g.line_of ? grow(&g) : -ENOMEM;
	if (!r) {
		add_up(ret);
		r = choose(ret, fold, most);
	}
	free(g.line_of);
	map_free(&g.folds);
	return r;
}

void tree_free(struct tree_lines *tree)
{
	vec_free(&tree->at);
}
