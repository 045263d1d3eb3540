/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_PACKED_H
#define PROFILE_PACKED_H

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

/* Unpack a lane: room for its n slices in @ret, which become those of @thread. */
void packed_get(const struct packed *packed, size_t lane, uint32_t thread,
		struct slice *ret);

#endif
