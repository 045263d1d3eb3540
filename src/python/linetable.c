/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four encodings of the same thing: ranges of instructions, each with the
 * difference of its line to that of the range before. Objects/lnotab_notes.txt
 * and, from 3.11, Objects/locations.md (InternalDocs/code_objects.md later) in
 * CPython's sources tell them.
 *
 * Sums are kept in 64 bits: at most 2^32 is added for each byte of a table, so
 * they cannot overflow before CODE_MAX_LINETABLE, nor long after it.
 */
#include "python/linetable.h"

#include <stdbool.h>

static int32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
}

/* Lines go back as well from 3.6 on (@is_signed). */
static int64_t lnotab_line(const uint8_t *table, size_t len, int64_t line,
			   int64_t instr, bool is_signed)
{
	int64_t at = 0;

	for (size_t i = 0; len - i >= 2; i += 2) {
		at += table[i];
		if (at > instr)
			break;
		line += is_signed ? (int8_t)table[i + 1] : table[i + 1];
	}
	return line;
}

static int64_t linetable310_line(const uint8_t *table, size_t len, int64_t line,
				 int64_t instr)
{
	int64_t end = 0;

	for (size_t i = 0; len - i >= 2; i += 2) {
		int8_t delta = (int8_t)table[i + 1];
		bool has_line = delta != INT8_MIN;

		end += table[i];
		if (has_line)
			line += delta;
		/* Ranges are without gaps: the first that ends after it has it. */
		if (instr < end)
			return has_line ? line : 0;
	}
	return 0;
}

/* How a range of 3.11+ tells its line, in bits 3 to 6 of its first byte. */
enum location_kind {
	LOCATION_ONE_LINE_FIRST =
		10, /* 10, 11, 12: as many lines on, less 10 */
	LOCATION_ONE_LINE_LAST = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/*
 * Six bits a byte, the lowest first, bit 6: there is more; the number's own
 * lowest bit is its sign. False when it does not end or is beyond 32 bits.
 */
static bool read_svarint(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (at == end || shift > 30)
			return false;
		byte = *at++;
		value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	*ret = (int64_t)(value >> 1);
	if (value & 1)
		*ret = -*ret;
	return true;
}

static int64_t locations_line(const uint8_t *table, size_t len, int64_t line,
			      int64_t instr)
{
	const uint8_t *at = table, *end = table + len;
	int64_t pos = 0, delta;

	while (at < end) {
		uint8_t first = *at++;
		unsigned kind = (first >> 3) & 15;

		if (!(first & 128))
			return 0;
		if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG) {
			if (!read_svarint(at, end, &delta))
				return 0;
			line += delta;
		} else if (kind >= LOCATION_ONE_LINE_FIRST &&
			   kind <= LOCATION_ONE_LINE_LAST) {
			line += kind - LOCATION_ONE_LINE_FIRST;
		}
		pos += ((first & 7) + 1) * 2;
		if (instr < pos)
			return kind == LOCATION_NONE ? 0 : line;
		/* Only the first byte of a range has bit 7. */
		while (at < end && !(*at & 128))
			at++;
	}
	return 0;
}

int32_t linetable_line(enum lines_kind kind, const uint8_t *table, size_t len,
		       int32_t firstline, int64_t instr)
{
	if (instr < 0)
		return line_or_none(firstline);
	if (!len)
		return kind == LINES_LNOTAB || kind == LINES_LNOTAB_UNSIGNED
			       ? line_or_none(firstline)
			       : 0;
	switch (kind) {
	case LINES_LNOTAB:
	case LINES_LNOTAB_UNSIGNED:
		return line_or_none(lnotab_line(table, len, firstline, instr,
						kind == LINES_LNOTAB));
	case LINES_LINETABLE:
		return line_or_none(
			linetable310_line(table, len, firstline, instr));
	case LINES_LOCATIONS:
		return line_or_none(
			locations_line(table, len, firstline, instr));
	}
	return 0;
}
