/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_STACKHINT_H
#define PYTHON_STACKHINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/prefetch.h"

/* A chunk of a data stack in which the last walk found frames. */
struct stackchunk {
	uint64_t addr;
	uint32_t size;    /* of the chunk */
	uint32_t used;    /* from its start to the end of its innermost frame */
	uint32_t fetched; /* from its start: what was read of it at once */
};

/* Something else that the last walk read. */
struct stacktouch {
	uint64_t addr;
	uint32_t len;
};

/*
 * What a thread's stack looked like when it was last read: a prediction of what
 * to fetch next time. One a thread; a zeroed one predicts nothing. Never trusted.
 */
struct stackhint {
	struct stacktouch *touches; /* in the order of the walk */
	uint32_t n_touches;
	uint32_t n_chunks;
	size_t room_touches;
	size_t room_chunks;
	struct stackchunk *chunks; /* 3.11+ */
	size_t left_out; /* frames of the last walk; see frame_walk_batched */
};

void stackhint_free(struct stackhint *hint);

/*
 * Something that is read next to the stack: fetch it as well, next time. To be
 * called by a walk or between two; without memory it is forgotten. @hint may be
 * NULL: nothing is predicted.
 */
void stackhint_also(struct stackhint *hint, uint64_t addr, size_t len);

/*
 * Room for one chunk more, in which the walk goes on. Returns false when there is
 * none: no memory, or too many chunks.
 */
bool stackhint_reserve_chunk(struct stackhint *hint);

/*
 * Begin a walk: plan to fetch all that the last one read, a bit more than that of
 * each chunk, since a stack may be deeper by now. What is read otherwise is
 * forgotten, and chunks are not in use, until the walk comes to them again.
 */
void stackhint_plan(struct stackhint *hint, struct prefetch *p);

/* End a walk: forget the chunks that it did not come to. */
void stackhint_drop_unused(struct stackhint *hint);

#endif
