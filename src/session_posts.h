/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_POSTS_H
#define SESSION_POSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "profile/summary.h"
#include "session_post.h"

/* The posts (session_post.h) of a run: whom they are to read, and what they bring. */

/* A post, and where it is. */
struct posted {
	struct post *post;
	int cpu;
	uint64_t used_tick; /* when it was last asked */
	unsigned misses;    /* in a row: it may have been moved by somebody */
};

struct session_posts {
	struct VEC(struct posted) all;
	struct post_plan plan;
	bool failed;      /* no more of them are to be had */
	uint64_t late_ns; /* some have not found yet: look again then; 0: none */
	/* Of this tick. */
	pid_t brought; /* a thread of which one brought a sample; 0: none */
	struct summary_posts counts;
};

struct forkflame;
struct thread;

void posts_close(struct forkflame *ff);

/* Take what they have found; and when that is to be done out of turn. */
void posts_collect(struct forkflame *ff);
uint64_t posts_next_ns(const struct forkflame *ff);

/* In a tick: has @t, which is on a CPU, been read by one, or is being read? */
bool posts_cover(struct forkflame *ff, const struct thread *t);

/*
 * After a tick, when the next ones are planned: have those read that run on other CPUs
 * than ours.
 */
void posts_ask(struct forkflame *ff);

#endif
