/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers in as few bytes as they need: seven bits a byte, the lowest first, bit 7
 * set in all bytes but the last (LEB128). Signed ones are folded first, so that
 * small ones of either sign are short.
 */

#define VARINT_MAX 10 /* bytes of the longest */

/* Write @value; @to has room for VARINT_MAX bytes. Returns how many it took. */
static inline size_t varint_put(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		to[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	to[n++] = (uint8_t)value;
	return n;
}

/*
 * Read one at *@at, which lies before @end, and go on behind it. Returns false,
 * with *@at anywhere up to @end, when it does not end there or is no 64-bit
 * number. Longer forms than needed are taken, as long as they have VARINT_MAX
 * bytes at most.
 */
static inline bool varint_get(const uint8_t **at, const uint8_t *end,
			      uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t byte = *(*at)++;

		/* Of the tenth byte, one bit is left. */
		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t varint_fold(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t varint_unfold(uint64_t folded)
{
	return (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
}

#endif
