/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/stacks.h"

#include "base/map.h"
#include "base/vec.h"

/*
 * All maps have keys that say exactly what they stand for, so that no two things
 * ever share one: a frame takes two steps, function and file to a place, place and
 * line to the frame.
 */
struct stacks {
	struct VEC(struct stack) all;
	struct VEC(struct frame) frames;
	struct map places;   /* function, file: number of the place */
	struct map by_frame; /* place, line: number of the frame */
	struct map by_stack; /* parent, frame: number of the stack */
	/* What was put last, outermost first, and the stack up to each of its frames. */
	struct VEC(struct frame) last;
	struct VEC(uint32_t) last_stacks;
};

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

struct stacks *stacks_new(void)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	struct stack empty = { .parent = STACKS_NONE, .frame = STACKS_NONE };

	if (!stacks)
		return NULL;
	/* Where it lies is chance: a target cannot choose keys to collide. */
	stacks->places.seed = map_mix((uintptr_t)stacks, 1);
	stacks->by_frame.seed = map_mix((uintptr_t)stacks, 2);
	stacks->by_stack.seed = map_mix((uintptr_t)stacks, 3);
	if (!vec_push(&stacks->all, empty)) {
		stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	vec_free(&stacks->all);
	vec_free(&stacks->frames);
	map_free(&stacks->places);
	map_free(&stacks->by_frame);
	map_free(&stacks->by_stack);
	vec_free(&stacks->last);
	vec_free(&stacks->last_stacks);
	free(stacks);
}

uint32_t stacks_frame(struct stacks *stacks, const struct frame *frame)
{
	uint64_t file = pair(frame->function, frame->file);
	uint64_t place = stacks->places.n;
	uint64_t number = stacks->frames.n;
	uint64_t key;

	if (!map_get(&stacks->places, file, &place) &&
	    (place >= STACKS_NONE || !map_put(&stacks->places, file, place)))
		return STACKS_NONE;
	key = pair((uint32_t)place, (uint32_t)frame->line);
	if (map_get(&stacks->by_frame, key, &number))
		return (uint32_t)number;
	if (number >= STACKS_NONE || !vec_reserve(&stacks->frames, 1) ||
	    !map_put(&stacks->by_frame, key, number))
		return STACKS_NONE;
	stacks->frames.at[stacks->frames.n++] = *frame;
	return (uint32_t)number;
}

uint32_t stacks_push(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
	uint64_t number = stacks->all.n;
	uint64_t key = pair(parent, frame);
	struct stack stack = { .parent = parent, .frame = frame };

	if (parent >= stacks->all.n || frame >= stacks->frames.n)
		return STACKS_NONE;
	if (map_get(&stacks->by_stack, key, &number))
		return (uint32_t)number;
	stack.depth = stacks->all.at[parent].depth + 1;
	if (number >= STACKS_NONE || !vec_reserve(&stacks->all, 1) ||
	    !map_put(&stacks->by_stack, key, number))
		return STACKS_NONE;
	stacks->all.at[stacks->all.n++] = stack;
	return (uint32_t)number;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->function == b->function && a->file == b->file &&
	       a->line == b->line;
}

/* Of one put after the other, most have their outer frames in common. */
uint32_t stacks_put(struct stacks *stacks, const struct frame *frames, size_t n)
{
	uint32_t stack = STACKS_EMPTY;
	size_t i = 0;

	for (; i < n && i < stacks->last.n; i++) {
		if (!is_same(&frames[n - 1 - i], &stacks->last.at[i]))
			break;
		stack = stacks->last_stacks.at[i];
	}
	stacks->last.n = stacks->last_stacks.n = i;
	for (; i < n && stack != STACKS_NONE; i++) {
		const struct frame *frame = &frames[n - 1 - i];

		stack = stacks_push(stacks, stack, stacks_frame(stacks, frame));
		/* Without memory, what is behind is looked up each time. */
		if (stack != STACKS_NONE && stacks->last.n == i &&
		    vec_reserve(&stacks->last, 1) &&
		    vec_push(&stacks->last_stacks, stack))
			stacks->last.at[stacks->last.n++] = *frame;
	}
	return stack;
}

uint32_t stacks_count(const struct stacks *stacks)
{
	return (uint32_t)stacks->all.n;
}

uint32_t stacks_frame_count(const struct stacks *stacks)
{
	return (uint32_t)stacks->frames.n;
}

const struct stack *stacks_all(const struct stacks *stacks)
{
	return stacks->all.at;
}

struct stack stacks_at(const struct stacks *stacks, uint32_t stack)
{
	return stacks->all.at[stack];
}

struct frame stacks_frame_at(const struct stacks *stacks, uint32_t frame)
{
	return stacks->frames.at[frame];
}
