/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_PACKED_H
#define PROFILE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/vec.h"

/*
 * The slices of many threads, as they come, each thread's together: three to
 * ten bytes each, for views that want a thread after the other without reading
 * the recording for each.
 *
 * A thread has a lane, and a lane is a list of chunks. When there are no more
 * chunks, the slices of the last lane that has any are dropped, and its number
 * becomes `until`: from there on nothing is taken, and the caller has to come
 * again. The lane at `from` is always taken whole.
 */

#define PACKED_CHUNK 512
#define PACKED_NONE UINT32_MAX

struct packed_chunk {
	uint32_t next; /* of the lane; PACKED_NONE: the last */
	uint32_t used; /* bytes */
	uint8_t bytes[PACKED_CHUNK - 8];
};

/* What is expected of the next slice. */
struct packed_last {
	uint64_t end_ns, wall_ns;
	struct seen seen;
};

struct packed_lane {
	uint32_t first, last; /* chunks; PACKED_NONE: none */
	size_t n;             /* slices */
	struct packed_last expected;
};

struct packed {
	struct VEC(struct packed_chunk) chunks;
	uint32_t unused; /* chunks of lanes that were dropped, a list */
	size_t most;     /* chunks */
	struct packed_lane *lanes;
	size_t n_lanes;
	size_t from, until; /* lanes that are taken */
};

/* @most chunks are held, or those of one lane where it has more. Returns 0 or
 * -ENOMEM; packed_free is right after both. */
int packed_init(struct packed *packed, size_t lanes, size_t most);
void packed_free(struct packed *packed);

/* Forget all slices, and take those of @from and what follows. */
void packed_begin(struct packed *packed, size_t from);

/* Add a slice to @lane, a number below that of packed_init. Of no account where
 * it is not between from and until. Returns 0 or -ENOMEM. */
int packed_add(struct packed *packed, size_t lane, const struct slice *slice);

/* On its way through a lane, as often as one likes while nothing is added. */
struct packed_reader {
	const struct packed *packed;
	uint32_t first, thread;
	uint32_t next; /* chunk, after the one that is read */
	const uint8_t *at, *end;
	struct slice expected;
};

/* To the first slice of @lane; slices become those of @thread. */
void packed_read(struct packed_reader *ret, const struct packed *packed,
		 size_t lane, uint32_t thread);

/* Back to it. */
void packed_rewind(struct packed_reader *reader);

/* The next slice; false after the last. */
bool packed_next(struct packed_reader *reader, struct slice *ret);

#endif
