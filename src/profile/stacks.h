/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_STACKS_H
#define PROFILE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/*
 * Each different stack once, whichever process it was seen in, under a small
 * number: a tree of frames whose nodes are the stacks. Stack 0 is the empty one;
 * the parent of a stack is the stack without its innermost frame, and has a
 * smaller number. Frames likewise. Nothing is ever taken out.
 */
struct stacks;

#define STACKS_NONE UINT32_MAX
#define STACKS_EMPTY 0u

struct stack {
	uint32_t parent; /* STACKS_NONE of the empty one */
	uint32_t frame;  /* the innermost; STACKS_NONE of the empty one */
	uint32_t depth;  /* frames */
};

/* Returns NULL when memory is gone. */
struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

/* The number of a frame, new or not; STACKS_NONE without memory. */
uint32_t stacks_frame(struct stacks *stacks, const struct frame *frame);

/*
 * The stack of @parent called @frame (a number of stacks_frame), new or not.
 * STACKS_NONE without memory, or where @parent or @frame does not exist.
 */
uint32_t stacks_push(struct stacks *stacks, uint32_t parent, uint32_t frame);

/* The stack of @n frames, innermost first, as they are read. Returns as above. */
uint32_t stacks_put(struct stacks *stacks, const struct frame *frames,
		    size_t n);

/* How many there are; numbers are 0 to that less one. */
uint32_t stacks_count(const struct stacks *stacks);
uint32_t stacks_frame_count(const struct stacks *stacks);

/* All of them by number, for those who go through many; valid until the next is
 * new. */
const struct stack *stacks_all(const struct stacks *stacks);

/* @stack and @frame exist. */
struct stack stacks_at(const struct stacks *stacks, uint32_t stack);
struct frame stacks_frame_at(const struct stacks *stacks, uint32_t frame);

#endif
