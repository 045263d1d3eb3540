/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDING_WIRE_H
#define PROFILE_RECORDING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/varint.h"

/*
 * The bytes of a recording, for its reader and its writer; forkflame-recording(5)
 * tells them to others. Numbers of a fixed size are little-endian.
 *
 *	file    magic[8] version:16 codec:8 0:8 crc:32        crc of what is before it
 *	block   crc:32 stored:32 plain:32 codec:8 bytes[stored]    crc of what is after
 *	record  kind:8 length:varint fields[length]
 *	     or 0x80 | WIRE_SLICE flags:8 fields              a slice, without a length
 */
#define WIRE_MAGIC \
	"\x8f"     \
	"FLAME\r\n"
#define WIRE_VERSION 1

#define WIRE_FILE_SIZE 16
#define WIRE_FILE_VERSION 8
#define WIRE_FILE_CODEC 10
#define WIRE_FILE_CRC 12

#define WIRE_BLOCK_SIZE 13
#define WIRE_BLOCK_CRC 0
#define WIRE_BLOCK_STORED 4
#define WIRE_BLOCK_PLAIN 8
#define WIRE_BLOCK_CODEC 12

/* What a reader takes; the writer stays below. */
#define WIRE_PLAIN_MAX (16u << 20)
#define WIRE_STRING_MAX (1u << 20)
#define WIRE_SUMMARY_MAX (8u << 20)
#define WIRE_TIME_MAX (UINT64_C(1) << 62)
#define WIRE_NUMBERS_MAX (1u << 24) /* of processes, images, threads */

enum wire_codec {
	WIRE_PLAIN,
	WIRE_ZLIB,
	WIRE_ZSTD,
	WIRE_CODECS,
};

/*
 * Flags of a slice: what is written out, in this order. What is not is as in the
 * slice before, in the same block: of the thread, or of whichever was the last
 * where the thread has none there.
 */
#define WIRE_SLICE 0x80u
#define WIRE_SLICE_THREAD 0x01u /* folded difference to the last slice's */
#define WIRE_SLICE_START 0x02u  /* folded difference to the expected one */
#define WIRE_SLICE_STATE 0x04u  /* a byte */
#define WIRE_SLICE_STACK 0x08u  /* folded difference */
/* Wall time is always there. */
#define WIRE_SLICE_CPU 0x30u /* one of these four */
#define WIRE_SLICE_CPU_NONE 0x00u
#define WIRE_SLICE_CPU_WALL 0x10u /* the same as wall time */
#define WIRE_SLICE_CPU_OWN 0x20u
#define WIRE_SLICE_CPU_LESS 0x30u /* folded difference to wall time */
#define WIRE_SLICE_SAMPLES 0x40u  /* else 1 */
#define WIRE_SLICE_MAX 64         /* bytes, more than there can be */

/* What is expected of the next slice of a thread. */
struct wire_last {
	uint32_t block; /* the block of which this is */
	uint32_t stack;
	uint64_t end_ns;
	uint8_t state;
};

/* Of all threads of a block. */
struct wire_block {
	uint32_t number; /* 1 for the first */
	uint32_t thread;
	struct wire_last last;
};

static inline void wire_block_begin(struct wire_block *block)
{
	*block = (struct wire_block){ .number = block->number + 1 };
}

/* What is expected of @thread's next slice. */
static inline const struct wire_last *
wire_expect(const struct wire_block *block, const struct wire_last *thread)
{
	return thread->block == block->number ? thread : &block->last;
}

static inline uint8_t wire_state(const struct seen *seen)
{
	return (uint8_t)((seen->run & 3u) | (seen->gil & 3u) << 2 |
			 (seen->wait & 15u) << 4);
}

static inline void wire_passed(struct wire_block *block,
			       struct wire_last *thread,
			       const struct slice *slice, uint8_t state)
{
	*thread = (struct wire_last){
		.block = block->number,
		.stack = slice->seen.stack,
		.end_ns = slice->start_ns + slice->weight.wall_ns,
		.state = state,
	};
	block->thread = slice->thread;
	block->last = *thread;
	/* Another thread's begins at about the same time as this one. */
	block->last.end_ns = slice->start_ns;
}

static inline uint32_t wire_get32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static inline void wire_put32(uint8_t *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

#endif
