/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDING_DECODE_H
#define PROFILE_RECORDING_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/recording.h"
#include "profile/recording_wire.h"

/* Records of a block, checked. */

/* How far a file was read: what it has defined so far. Owned by decode_free. */
struct decode {
	uint32_t strings, frames, stacks; /* the next numbers; stacks from 1 */
	uint32_t processes, images;
	struct VEC(struct wire_last) threads; /* by number */
	struct wire_block block;
	bool has_run;
	bool summary; /* the last record was one */
};

/* Forget all, keep the room. */
void decode_begin(struct decode *d);
void decode_free(struct decode *d);

/*
 * Hand the records of a block of @n bytes at @plain to @fn, those of @kinds.
 * Returns 0; OUT_UNKNOWN where they make no sense, after those before were handed
 * out; -ENOMEM; or what @fn returned.
 *
 * @ret_fn  set to what @fn returned when that is why it ended, else to 0
 */
int decode_block(struct decode *d, const uint8_t *plain, size_t n,
		 uint32_t kinds, record_fn fn, void *ctx, int *ret_fn);

#endif
