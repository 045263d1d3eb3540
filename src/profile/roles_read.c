/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/roles_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/nsec.h"

/* A reading of all slices, under way. */
struct reading {
	const struct history *h;
	struct roles *roles;
	struct stages stages;
	uint32_t *leaf_of;    /* by frame: number of its function */
	struct map functions; /* function << 32 | file: the same number */
	struct map sums;      /* role, function and wait: index of leaves */
	struct VEC(struct role_leaf) leaves;
};

#define LEAF_UNSEEN UINT32_MAX

/* The number of a frame's function, whatever its line; LEAF_UNSEEN: no memory. */
static uint32_t leaf_number(struct reading *rd, uint32_t at)
{
	struct frame frame;
	uint64_t key, number;

	if (rd->leaf_of[at] != LEAF_UNSEEN)
		return rd->leaf_of[at];
	frame = stacks_frame_at(rd->h->stacks, at);
	key = (uint64_t)frame.function << 32 | frame.file;
	if (!map_get(&rd->functions, key, &number)) {
		number = rd->functions.n;
		if (!map_put(&rd->functions, key, number))
			return LEAF_UNSEEN;
	}
	return rd->leaf_of[at] = (uint32_t)number;
}

/* Add to what the members of a role wait for in a function. */
static int add_leaf(struct reading *rd, uint32_t role, enum wait_kind kind,
		    const struct slice *slice)
{
	struct stack stack = stacks_at(rd->h->stacks, slice->seen.stack);
	struct role_leaf leaf = { .role = role, .wait.kind = (uint8_t)kind };
	struct frame frame;
	uint64_t key, index;
	uint32_t number;

	if (stack.frame == STACKS_NONE)
		return 0;
	number = leaf_number(rd, stack.frame);
	if (number == LEAF_UNSEEN)
		return -ENOMEM;
	/* Exact below 2^28 roles; beyond, two could share a line. */
	key = (uint64_t)role << 36 | (uint64_t)number << 4 | kind;
	if (!map_get(&rd->sums, key, &index)) {
		frame = stacks_frame_at(rd->h->stacks, stack.frame);
		leaf.wait.function = frame.function;
		leaf.wait.file = frame.file;
		index = rd->leaves.n;
		if (!vec_push(&rd->leaves, leaf) ||
		    !map_put(&rd->sums, key, index))
			return -ENOMEM;
	}
	rd->leaves.at[index].wait.wall_ns += slice->weight.wall_ns;
	return 0;
}

static void add_own(struct reading *rd, struct role_member *member,
		    const struct slice *slice)
{
	if (slice->start_ns < member->own_ns &&
	    stages_of(&rd->stages, slice->seen.stack) != STAGE_STARTING)
		member->own_ns = slice->start_ns;
}

static void add_cpu(struct role_member *member, const struct slice *slice,
		    uint64_t until_ns)
{
	uint64_t end = slice->start_ns + slice->weight.wall_ns;

	member->cpu_ns += slice->weight.cpu_ns;
	if (slice->seen.run == RUN_ON_CPU)
		member->ready_ns +=
			nsec_since(slice->weight.wall_ns, slice->weight.cpu_ns);
	if (end > until_ns)
		end = until_ns;
	if ((slice->seen.run == RUN_ON_CPU || slice->weight.cpu_ns) &&
	    end > member->last_cpu_ns)
		member->last_cpu_ns = end;
}

static int add_slice(void *ctx, const struct slice *slice)
{
	struct reading *rd = ctx;
	uint32_t image = rd->h->threads.at[slice->thread].image;
	struct role_member *member = &rd->roles->members.at[image];
	enum wait_kind kind = slice->seen.wait < WAIT_COUNT
				      ? (enum wait_kind)slice->seen.wait
				      : WAIT_OTHER;
	struct role *role;

	if (slice->seen.gil == GIL_WAITED)
		kind = WAIT_GIL;
	member->wall_ns += slice->weight.wall_ns;
	add_cpu(member, slice, rd->h->images.at[image].until_ns);
	add_own(rd, member, slice);
	if (kind == WAIT_GIL)
		member->gil_wait_ns += slice->weight.wall_ns;
	if (slice->seen.run != RUN_IDLE || member->role == ROLE_NONE)
		return 0;
	role = &rd->roles->at.at[member->role];
	role->waits[kind] += slice->weight.wall_ns;
	return add_leaf(rd, member->role, kind, slice);
}

/* Put @wait in its place among a role's, if it has one. */
static void rank_leaf(struct role *role, struct role_wait wait)
{
	for (size_t i = 0; i < ROLE_LEAVES; i++) {
		struct role_wait less = role->leaves[i];

		if (wait.wall_ns <= less.wall_ns)
			continue;
		role->leaves[i] = wait;
		wait = less;
	}
}

int roles_read(struct roles *roles, const struct selection *selection)
{
	const struct history *h = selection->history;
	struct reading rd = { .h = h, .roles = roles };
	size_t frames = stacks_frame_count(h->stacks);
	int r;

	r = stages_make(&rd.stages, h);
	if (!r) {
		rd.leaf_of = malloc((frames + 1) * sizeof(*rd.leaf_of));
		r = rd.leaf_of ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !r && i < frames; i++)
		rd.leaf_of[i] = LEAF_UNSEEN;
	if (!r)
		r = selection_slices(selection, add_slice, &rd);
	for (size_t i = 0; !r && i < rd.leaves.n; i++)
		rank_leaf(&roles->at.at[rd.leaves.at[i].role],
			  rd.leaves.at[i].wait);
	stages_free(&rd.stages);
	free(rd.leaf_of);
	map_free(&rd.functions);
	map_free(&rd.sums);
	vec_free(&rd.leaves);
	return r;
}
