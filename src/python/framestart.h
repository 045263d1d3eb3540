/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_FRAMESTART_H
#define PYTHON_FRAMESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/layout.h"
#include "python/stackhint.h"

/* Where the walk of a thread's stack begins. */
struct framestart {
	uint64_t leaf;  /* the newest frame; 0: none */
	uint64_t base;  /* the frame that is below every stack, if any */
	uint64_t chunk; /* the newest of the data stack, 3.11+ */
	/* 3.11 and 3.12: from there to there, it has no frame that is in use. */
	uint64_t unused, unused_end;
	bool has_below; /* there is a cframe below the newest */
	uint64_t below; /* its newest frame */
	uint64_t below_at, below_previous; /* that one, and the one below it */
};

/*
 * In a thread state, from the pointer to the newest chunk of the data stack: where the
 * next frame will be, and behind that where the chunk ends (3.11 and later).
 */
#define FRAMESTART_UNUSED 8u

/* A thread state that lies further apart than that is none that we know. */
#define FRAMESTART_MAX_BYTES 512

/*
 * Is what lies at @frame left over from a call that has returned? (The newest frame may
 * just have been given back, and be the newest still.)
 */
static inline bool framestart_is_left_over(const struct framestart *start,
					   uint64_t frame)
{
	return frame - start->unused < start->unused_end - start->unused;
}

/*
 * The part of a thread state that is needed, and the caller: whose it is. From
 * *@ret_from on, *@ret_len bytes.
 */
void framestart_span(const struct layout *layout, size_t *ret_from,
		     size_t *ret_len);

/*
 * Read where the stack of the thread state at @tstate begins.
 *
 * @layout  of the target's CPython version; its span is FRAMESTART_MAX_BYTES at
 *          most
 * @hint    remembers what was read beside the thread state; NULL: nothing does
 *
 * Returns 0; OUT_TORN when a cframe cannot be one, or is not filled in yet; else
 * what reading came to.
 */
int framestart_find(const struct mem *mem, const struct layout *layout,
		    struct stackhint *hint, uint64_t tstate,
		    struct framestart *ret);

/*
 * The start that is left when the newest cframe has not been filled in: the cframe below.
 *
 * Returns as framestart_find.
 */
int framestart_below(const struct mem *mem, const struct layout *layout,
		     struct stackhint *hint, uint64_t tstate,
		     const struct framestart *above, struct framestart *ret);

#endif
