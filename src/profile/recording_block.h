/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDING_BLOCK_H
#define PROFILE_RECORDING_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/recording_wire.h"

/* The header of a file, and blocks: bytes compressed, under a checksum. */

struct bytes VEC(uint8_t);

/* A block as it was found. */
struct block {
	const uint8_t *plain; /* borrowed: of the file, or of the room */
	size_t n;
	size_t size; /* of the whole block in the file */
};

/* Where blocks are decompressed. A zeroed one is empty. */
struct block_room {
	struct bytes bytes;
	void *zstd; /* what it needs for each block, made once */
};

void block_room_free(struct block_room *room);

/* Is @codec one that this build can read and write? */
bool block_codec_known(unsigned codec);

/* Append the header of a file. Returns false when memory is gone. */
bool block_put_header(struct bytes *to, enum wire_codec codec);

/*
 * Read it. Returns 0; -EINVAL for other bytes; -ENOTSUP for a version or a codec
 * that this build does not know.
 */
int block_get_header(const uint8_t *at, size_t left,
		     enum wire_codec *ret_codec);

/*
 * Append a block of the @n bytes at @plain, 1 to WIRE_PLAIN_MAX; what @codec does
 * not make smaller stays plain. Returns false when memory is gone.
 */
bool block_pack(struct bytes *to, const uint8_t *plain, size_t n,
		enum wire_codec codec);

/*
 * Read the block at @at, where the file has @left bytes more. @room holds what was
 * compressed, until the next call.
 *
 * Returns 0; OUT_TORN when the file ends before the block does; OUT_UNKNOWN when
 * the bytes are not those that were written; -ENOMEM.
 */
int block_unpack(struct block_room *room, const uint8_t *at, size_t left,
		 enum wire_codec codec, struct block *ret);

#endif
