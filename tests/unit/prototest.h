/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROTOTEST_H
#define TESTS_PROTOTEST_H

/* After cmocka.h. A reader of protocol buffers, as far as tests need one. */

#include <stdbool.h>

struct bytes {
	const char *at;
	size_t len;
};

struct field {
	unsigned number;
	uint64_t value;     /* of a number */
	struct bytes bytes; /* of a string or a message */
};

static inline uint64_t take_varint(struct bytes *from)
{
	uint64_t value = 0;
	unsigned char byte;
	unsigned shift = 0;

	do {
		assert_true(from->len && shift < 64);
		byte = (unsigned char)*from->at++;
		from->len--;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline bool take_field(struct bytes *from, struct field *ret)
{
	uint64_t key;

	if (!from->len)
		return false;
	key = take_varint(from);
	*ret = (struct field){ .number = (unsigned)(key >> 3) };
	ret->value = take_varint(from);
	assert_true((key & 7) == 0 || (key & 7) == 2);
	if ((key & 7) == 0)
		return true;
	assert_true(ret->value <= from->len);
	ret->bytes = (struct bytes){ from->at, (size_t)ret->value };
	from->at += ret->value;
	from->len -= (size_t)ret->value;
	return true;
}

/* The first field of that number; false when there is none. */
static inline bool find(struct bytes message, unsigned number,
			struct field *ret)
{
	while (take_field(&message, ret))
		if (ret->number == number)
			return true;
	*ret = (struct field){ .number = number };
	return false;
}

static inline uint64_t number_of(struct bytes message, unsigned number)
{
	struct field field;

	(void)find(message, number, &field);
	return field.value;
}

#endif
