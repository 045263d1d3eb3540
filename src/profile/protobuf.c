/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/protobuf.h"

enum wire {
	WIRE_VARINT = 0,
	WIRE_BYTES = 2,
};

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
static void add_varint(struct str *to, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	while (value >= 0x80) {
		bytes[n++] = (char)(0x80 | (value & 0x7f));
		value >>= 7;
	}
	bytes[n++] = (char)value;
	str_add(to, bytes, n);
}

static size_t varint_size(uint64_t value)
{
	size_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static void add_key(struct str *to, unsigned field, enum wire wire)
{
	add_varint(to, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct str *to, unsigned field, uint64_t value)
{
	if (!value)
		return;
	add_key(to, field, WIRE_VARINT);
	add_varint(to, value);
}

void protobuf_bytes(struct str *to, unsigned field, const char *bytes,
		    size_t len)
{
	add_key(to, field, WIRE_BYTES);
	add_varint(to, len);
	str_add(to, bytes, len);
}

void protobuf_numbers(struct str *to, unsigned field, const uint64_t *values,
		      size_t n)
{
	size_t len = 0;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		len += varint_size(values[i]);
	add_key(to, field, WIRE_BYTES);
	add_varint(to, len);
	for (size_t i = 0; i < n; i++)
		add_varint(to, values[i]);
}
