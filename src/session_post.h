/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_POST_H
#define SESSION_POST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "python/runtime.h"

/*
 * A post: a thread of ours that wakes on another CPU than the sampling thread, shortly
 * before each tick. Who ran there has been pushed aside by that and stands, as on the
 * sampling thread's own CPU: its stack is read there and then, and needs no stop. That it
 * stood all the while is for the caller to prove, by the switch records, when it takes
 * what was read.
 *
 * A post shares nothing with others while it works: it has names, code objects and stacks
 * of its own, and what it is asked to read is copied. It has to be made by a thread that
 * may be urgent (linux/urgency.h); one that comes behind others on its CPU is no good.
 */
struct post;
struct image;

/* When ticks are: the next, and the one after it. Of all posts; the caller writes it. */
struct post_plan {
	_Atomic uint64_t next_ns, after_ns;
	_Atomic uint64_t lead_ns; /* so much earlier a post wakes */
};

/* Whom to read. */
struct post_task {
	pid_t tid;
	uint32_t serial; /* of the process */
	uint64_t tstate, interp, pthread;
	pid_t native;
	struct image *image;
	uint64_t asked_tick;
};

/* What was read. */
struct post_found {
	int r; /* 0, or an outcome; then no more than the times are set */
	uint64_t from_ns; /* when reading began, ... */
	uint64_t to_ns;   /* ... and when it had ended */
	uint64_t mark;    /* of the list of threads (runtime_mark), then */
	uint32_t stack; /* in the caller's numbers once post_stack has been asked */
	bool empty;     /* no Python frame was on it */
	uint8_t gil; /* enum gil_state */
};

enum post_state {
	POST_IDLE,
	POST_ASKED, /* to read at its next waking; may be taken back */
	POST_BUSY,
	POST_FOUND, /* it has read; what it found waits to be taken */
};

/*
 * Starts the thread, which sleeps until it is asked for something. @plan is borrowed for
 * life. @gil: tell what threads have to do with the interpreter's lock. Returns 0, or a
 * negative errno with nothing made.
 */
int post_new(struct post **ret, const struct post_plan *plan, bool gil);

/* Ends the thread. NULL is fine. */
void post_free(struct post *post);

/* Its thread. */
pid_t post_tid(const struct post *post);

enum post_state post_state(const struct post *post);

/*
 * Of one that is idle: read @task at the next waking. Returns false without memory. A
 * reference to its image is kept for as long as names of it are.
 */
bool post_ask(struct post *post, const struct post_task *task);

/* Asked, and has not begun: it will not. False when it has begun. */
bool post_unask(struct post *post);

/* Of one that has found: for whom, and what. */
const struct post_task *post_task(const struct post *post);
const struct post_found *post_found(const struct post *post);

/*
 * The next two likewise. The stack that was found as a number of @stacks, with strings of
 * @strings; STACKS_NONE without memory.
 */
struct stacks;
struct strtab;
uint32_t post_stack(struct post *post, struct stacks *stacks,
		    struct strtab *strings);

/* The thread may have run meanwhile: what the post has learnt by that is forgotten. */
void post_distrust(struct post *post);

/* It is idle again. */
void post_take(struct post *post);

#endif
