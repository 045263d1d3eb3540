/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/varint.h"
#include "profile/stacks.h"

/* --- stacks ----------------------------------------------------------------- */

static void has_the_empty_stack_from_the_beginning(void **state)
{
	struct stacks *stacks = stacks_new();

	(void)state;
	assert_int_equal(stacks_count(stacks), 1);
	assert_int_equal(stacks_frame_count(stacks), 0);
	assert_int_equal(stacks_at(stacks, STACKS_EMPTY).parent, STACKS_NONE);
	assert_int_equal(stacks_at(stacks, STACKS_EMPTY).depth, 0);
	assert_int_equal(stacks_put(stacks, NULL, 0), STACKS_EMPTY);
	stacks_free(stacks);
	stacks_free(NULL);
}

static void holds_each_stack_once(void **state)
{
	const struct frame deep[] = { { 3, 9, 30 }, { 2, 9, 20 }, { 1, 9, 1 } };
	const struct frame other[] = { { 4, 9, 40 },
				       { 2, 9, 20 },
				       { 1, 9, 1 } };
	struct stacks *stacks = stacks_new();
	uint32_t a = stacks_put(stacks, deep, 3);
	uint32_t b = stacks_put(stacks, other, 3);

	(void)state;
	assert_int_equal(stacks_put(stacks, deep, 3), a);
	assert_int_not_equal(a, b);
	/* Innermost first: what they share is their callers. */
	assert_int_equal(stacks_at(stacks, a).parent,
			 stacks_at(stacks, b).parent);
	assert_int_equal(stacks_put(stacks, deep + 1, 2),
			 stacks_at(stacks, a).parent);
	assert_int_equal(stacks_at(stacks, a).depth, 3);
	assert_int_equal(
		stacks_frame_at(stacks, stacks_at(stacks, a).frame).line, 30);
	assert_int_equal(stacks_count(stacks), 1 + 4);
	assert_int_equal(stacks_frame_count(stacks), 4);
	stacks_free(stacks);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* What two stacks have in common is not looked up anew: the numbers are the same. */
static void numbers_stacks_as_if_each_was_put_alone(void **state)
{
	struct stacks *whole = stacks_new(), *steps = stacks_new();
	struct frame frames[12] = { 0 };
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = next_random(&seed) % 13;
		uint32_t stack = STACKS_EMPTY;

		/* Of few functions: outer frames are often those of before. */
		for (size_t i = 0; i < n; i++)
			if (next_random(&seed) % 3 == 0)
				frames[i] = (struct frame){
					.function = next_random(&seed) % 3,
					.file = next_random(&seed) % 2,
					.line = (int32_t)(next_random(&seed) %
							  3)
				};
		for (size_t i = n; i-- > 0;)
			stack = stacks_push(steps, stack,
					    stacks_frame(steps, &frames[i]));
		assert_int_equal(stacks_put(whole, frames, n), stack);
	}
	assert_int_equal(stacks_count(whole), stacks_count(steps));
	assert_int_equal(stacks_frame_count(whole), stacks_frame_count(steps));
	stacks_free(whole);
	stacks_free(steps);
}

static void tells_frames_apart_by_each_of_their_parts(void **state)
{
	const struct frame frames[] = {
		{ 1, 2, 3 },  { 2, 1, 3 }, { 1, 2, 4 },
		{ 1, 2, -3 }, { 0, 2, 3 }, { 1, 2, INT32_MIN },
		{ 1, 0, 3 },  { 1, 2, 0 }, { UINT32_MAX, UINT32_MAX, -1 },
	};
	const size_t n = sizeof(frames) / sizeof(*frames);
	struct stacks *stacks = stacks_new();

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stacks_frame(stacks, &frames[i]), i);
	for (size_t i = 0; i < n; i++) {
		struct frame back = stacks_frame_at(stacks, (uint32_t)i);

		assert_int_equal(stacks_frame(stacks, &frames[i]), i);
		assert_memory_equal(&back, &frames[i], sizeof(back));
	}
	stacks_free(stacks);
}

static void gives_parents_smaller_numbers(void **state)
{
	struct stacks *stacks = stacks_new();

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		struct frame frame = { .function = i % 7, .line = (int)i % 11 };
		uint32_t parent = i * 2654435761u % stacks_count(stacks);
		uint32_t stack = stacks_push(stacks, parent,
					     stacks_frame(stacks, &frame));

		assert_true(stack > parent);
		assert_int_equal(stacks_at(stacks, stack).parent, parent);
		assert_int_equal(stacks_at(stacks, stack).depth,
				 stacks_at(stacks, parent).depth + 1);
	}
	stacks_free(stacks);
}

static void refuses_what_does_not_exist(void **state)
{
	const struct frame frame = { .function = 1 };
	struct stacks *stacks = stacks_new();

	(void)state;
	assert_int_equal(stacks_push(stacks, STACKS_EMPTY, 0), STACKS_NONE);
	assert_int_equal(stacks_frame(stacks, &frame), 0);
	assert_int_equal(stacks_push(stacks, STACKS_EMPTY, 1), STACKS_NONE);
	assert_int_equal(stacks_push(stacks, 1, 0), STACKS_NONE);
	assert_int_equal(stacks_push(stacks, STACKS_NONE, 0), STACKS_NONE);
	assert_int_equal(stacks_count(stacks), 1);
	assert_int_equal(stacks_push(stacks, STACKS_EMPTY, 0), 1);
	stacks_free(stacks);
}

/* --- varint ----------------------------------------------------------------- */

static void reads_back_numbers_of_every_length(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int less = 0; less < 2; less++) {
			uint64_t value = (UINT64_C(1) << bit) - less, back = 7;
			uint8_t bytes[VARINT_MAX];
			const uint8_t *at = bytes;
			size_t n = varint_put(bytes, value);

			assert_int_equal(n,
					 value < 2 ? 1 : (bit - less) / 7 + 1);
			assert_true(varint_get(&at, bytes + n, &back));
			assert_true(back == value && at == bytes + n);
			at = bytes;
			assert_false(varint_get(&at, bytes + n - 1, &back));
		}
	}
}

static void refuses_numbers_beyond_64_bits(void **state)
{
	uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			    0xff, 0xff, 0xff, 0x01, 0x00 };
	const uint8_t *at = bytes;
	uint64_t value;

	(void)state;
	assert_true(varint_get(&at, bytes + sizeof(bytes), &value));
	assert_true(value == UINT64_MAX);
	at = bytes;
	bytes[9] = 0x02;
	assert_false(varint_get(&at, bytes + sizeof(bytes), &value));
	at = bytes;
	bytes[9] = 0x81;
	assert_false(varint_get(&at, bytes + sizeof(bytes), &value));
}

static void folds_small_numbers_of_either_sign_to_small_ones(void **state)
{
	const int64_t values[] = { 0, -1, 1, -2, 2 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(varint_fold(values[i]), i);
		assert_int_equal(varint_unfold(i), values[i]);
	}
	assert_true(varint_fold(INT64_MIN) == UINT64_MAX);
	assert_true(varint_unfold(UINT64_MAX) == INT64_MIN);
	assert_true(varint_unfold(UINT64_MAX - 1) == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_empty_stack_from_the_beginning),
		cmocka_unit_test(holds_each_stack_once),
		cmocka_unit_test(numbers_stacks_as_if_each_was_put_alone),
		cmocka_unit_test(tells_frames_apart_by_each_of_their_parts),
		cmocka_unit_test(gives_parents_smaller_numbers),
		cmocka_unit_test(refuses_what_does_not_exist),
		cmocka_unit_test(reads_back_numbers_of_every_length),
		cmocka_unit_test(refuses_numbers_beyond_64_bits),
		cmocka_unit_test(
			folds_small_numbers_of_either_sign_to_small_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
