/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recording_block.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/outcome.h"

/* Less than this is not worth the trouble. */
#define COMPRESSED_MIN 64

/* The next ones take twice the time, and less than 2 % off the size. */
#define ZLIB_LEVEL 1
#define ZSTD_LEVEL 2

bool block_codec_known(unsigned codec)
{
#ifdef HAVE_ZSTD
	if (codec == WIRE_ZSTD)
		return true;
#endif
	return codec == WIRE_PLAIN || codec == WIRE_ZLIB;
}

static uint32_t checksum(const uint8_t *at, size_t n)
{
	return (uint32_t)crc32_z(0, at, n);
}

bool block_put_header(struct bytes *to, enum wire_codec codec)
{
	uint8_t *at;

	if (!vec_reserve(to, WIRE_FILE_SIZE))
		return false;
	at = to->at + to->n;
	memset(at, 0, WIRE_FILE_SIZE);
	memcpy(at, WIRE_MAGIC, WIRE_FILE_VERSION);
	at[WIRE_FILE_VERSION] = WIRE_VERSION;
	at[WIRE_FILE_CODEC] = (uint8_t)codec;
	wire_put32(at + WIRE_FILE_CRC, checksum(at, WIRE_FILE_CRC));
	to->n += WIRE_FILE_SIZE;
	return true;
}

int block_get_header(const uint8_t *at, size_t left, enum wire_codec *ret_codec)
{
	if (left < WIRE_FILE_SIZE ||
	    memcmp(at, WIRE_MAGIC, WIRE_FILE_VERSION) != 0 ||
	    wire_get32(at + WIRE_FILE_CRC) != checksum(at, WIRE_FILE_CRC))
		return -EINVAL;
	if (at[WIRE_FILE_VERSION] != WIRE_VERSION ||
	    at[WIRE_FILE_VERSION + 1] != 0 ||
	    !block_codec_known(at[WIRE_FILE_CODEC]))
		return -ENOTSUP;
	*ret_codec = (enum wire_codec)at[WIRE_FILE_CODEC];
	return 0;
}

/* Returns how many bytes it became, at most @room; 0: it would not fit. */
static size_t compress_to(uint8_t *to, size_t room, const uint8_t *plain,
			  size_t n, enum wire_codec codec)
{
	uLongf len = (uLongf)room;

#ifdef HAVE_ZSTD
	if (codec == WIRE_ZSTD) {
		size_t got = ZSTD_compress(to, room, plain, n, ZSTD_LEVEL);

		return ZSTD_isError(got) ? 0 : got;
	}
#endif
	if (codec != WIRE_ZLIB ||
	    compress2(to, &len, plain, (uLong)n, ZLIB_LEVEL) != Z_OK)
		return 0;
	return (size_t)len;
}

void block_room_free(struct block_room *room)
{
	vec_free(&room->bytes);
#ifdef HAVE_ZSTD
	(void)ZSTD_freeDCtx(room->zstd);
#endif
	room->zstd = NULL;
}

#ifdef HAVE_ZSTD
/* With one context for all blocks: to make it takes longer than most of them. */
static bool zstd_to(struct block_room *room, size_t n, const uint8_t *at,
		    size_t stored)
{
	if (!room->zstd)
		room->zstd = ZSTD_createDCtx();
	return room->zstd && ZSTD_decompressDCtx(room->zstd, room->bytes.at, n,
						 at, stored) == n;
}
#endif

/* Were these @stored bytes exactly @n bytes before, for which there is room? */
static bool decompress_to(struct block_room *room, size_t n, const uint8_t *at,
			  size_t stored, enum wire_codec codec)
{
	uLongf len = (uLongf)n;
	uLong taken = (uLong)stored;

#ifdef HAVE_ZSTD
	if (codec == WIRE_ZSTD)
		return zstd_to(room, n, at, stored);
#endif
	return codec == WIRE_ZLIB &&
	       uncompress2(room->bytes.at, &len, at, &taken) == Z_OK &&
	       len == n && taken == stored;
}

bool block_pack(struct bytes *to, const uint8_t *plain, size_t n,
		enum wire_codec codec)
{
	size_t stored = 0;
	uint8_t *at;

	if (!vec_reserve(to, WIRE_BLOCK_SIZE + n))
		return false;
	at = to->at + to->n;
	if (n >= COMPRESSED_MIN)
		stored = compress_to(at + WIRE_BLOCK_SIZE, n - 1, plain, n,
				     codec);
	if (!stored) {
		codec = WIRE_PLAIN;
		stored = n;
		memcpy(at + WIRE_BLOCK_SIZE, plain, n);
	}
	wire_put32(at + WIRE_BLOCK_STORED, (uint32_t)stored);
	wire_put32(at + WIRE_BLOCK_PLAIN, (uint32_t)n);
	at[WIRE_BLOCK_CODEC] = (uint8_t)codec;
	wire_put32(at + WIRE_BLOCK_CRC,
		   checksum(at + WIRE_BLOCK_STORED,
			    WIRE_BLOCK_SIZE - WIRE_BLOCK_STORED + stored));
	to->n += WIRE_BLOCK_SIZE + stored;
	return true;
}

int block_unpack(struct block_room *room, const uint8_t *at, size_t left,
		 enum wire_codec codec, struct block *ret)
{
	const uint8_t *bytes = at + WIRE_BLOCK_SIZE;
	size_t stored, n;

	if (left < WIRE_BLOCK_SIZE)
		return OUT_TORN;
	stored = wire_get32(at + WIRE_BLOCK_STORED);
	n = wire_get32(at + WIRE_BLOCK_PLAIN);
	if (n == 0 || n > WIRE_PLAIN_MAX || stored > n)
		return OUT_UNKNOWN;
	if (stored > left - WIRE_BLOCK_SIZE)
		return OUT_TORN;
	if (wire_get32(at + WIRE_BLOCK_CRC) !=
	    checksum(at + WIRE_BLOCK_STORED,
		     WIRE_BLOCK_SIZE - WIRE_BLOCK_STORED + stored))
		return OUT_UNKNOWN;
	*ret = (struct block){ .plain = bytes,
			       .n = n,
			       .size = WIRE_BLOCK_SIZE + stored };
	if (at[WIRE_BLOCK_CODEC] == WIRE_PLAIN)
		return stored == n ? 0 : OUT_UNKNOWN;
	if (at[WIRE_BLOCK_CODEC] != codec)
		return OUT_UNKNOWN;
	if (!vec_reserve(&room->bytes, n))
		return -ENOMEM;
	ret->plain = room->bytes.at;
	return decompress_to(room, n, bytes, stored, codec) ? 0 : OUT_UNKNOWN;
}
