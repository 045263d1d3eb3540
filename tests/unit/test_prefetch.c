/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/prefetch.h"

/* Where byte A + i of the target is i % 251. */
#define A 0x10000u
#define LEN 8192u

struct bench {
	struct fakemem fm;
	struct mem mem;
	struct prefetch *p;
};

static void setup(struct bench *b)
{
	*b = (struct bench){ .p = prefetch_new() };
	assert_non_null(b->p);
	b->mem = fakemem_mem(&b->fm);
	for (unsigned i = 0; i < LEN; i++)
		fakemem_put_u8(&b->fm, A + i, (uint8_t)(i % 251));
	prefetch_start(b->p, &b->mem);
}

static void teardown(struct bench *b)
{
	prefetch_free(b->p);
	fakemem_free(&b->fm);
}

/* Read through the prefetch and check each byte. */
static void expect(struct bench *b, uint64_t addr, size_t len)
{
	uint8_t bytes[512];

	memset(bytes, 0xee, sizeof(bytes));
	assert_int_equal(mem_read(prefetch_mem(b->p), addr, bytes, len), 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], (addr - A + i) % 251);
}

static void serves_what_was_planned_without_a_call(void **state)
{
	struct bench b;

	(void)state;
	setup(&b);
	for (unsigned i = 0; i < 40; i++)
		prefetch_plan(b.p, A + i * 200, 100);
	assert_int_equal(prefetch_fetch(b.p), 0);
	for (unsigned i = 0; i < 40; i++)
		expect(&b, A + i * 200 + 10, 90);
	for (unsigned i = 40; i-- > 0;)
		expect(&b, A + i * 200, 50);
	assert_int_equal(prefetch_calls(b.p), 1);
	assert_int_equal(b.fm.calls, 1);
	teardown(&b);
}

static void reads_the_rest_behind_in_one_call(void **state)
{
	struct bench b;
	uint8_t bytes[4][8];
	struct mem_range ranges[4];

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A + 100, 100);
	assert_int_equal(prefetch_fetch(b.p), 0);
	for (unsigned i = 0; i < 4; i++)
		ranges[i] = (struct mem_range){ .addr = A + i * 64 + 30,
						.buf = bytes[i],
						.len = 8 };
	assert_int_equal(
		prefetch_mem(b.p)->readv(prefetch_mem(b.p)->ctx, ranges, 4), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(ranges[i].got, 8);
		assert_int_equal(bytes[i][7], (i * 64 + 37) % 251);
	}
	assert_int_equal(prefetch_calls(b.p), 2);
	/* 1 planned; then those at 30, 94 (94 to 102: not whole) and 222. */
	assert_int_equal(b.fm.ranges, 1 + 3);
	teardown(&b);
}

static void finds_the_plan_that_covers_among_overlapping(void **state)
{
	struct bench b;

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A, 300);
	prefetch_plan(b.p, A + 10, 5);
	prefetch_plan(b.p, A + 20, 5);
	prefetch_plan(b.p, A + 20, 400);
	prefetch_plan(b.p, A + 400, 20);
	prefetch_plan(b.p, A + 100, 10);
	assert_int_equal(prefetch_fetch(b.p), 0);
	expect(&b, A + 120, 280);
	expect(&b, A + 12, 200);
	expect(&b, A + 22, 390);
	expect(&b, A + 405, 15);
	expect(&b, A + 1, 299);
	assert_int_equal(prefetch_calls(b.p), 1);
	expect(&b, A + 1, 300);
	assert_int_equal(prefetch_calls(b.p), 2);
	teardown(&b);
}

static void serves_a_short_range_as_far_as_it_came(void **state)
{
	struct bench b;
	uint8_t bytes[64];

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A + LEN - 64, 4096);
	assert_int_equal(prefetch_fetch(b.p), 0);
	expect(&b, A + LEN - 64, 64);
	assert_int_equal(prefetch_calls(b.p), 1);
	assert_int_equal(mem_read(prefetch_mem(b.p), A + LEN - 32, bytes, 64),
			 OUT_TORN);
	assert_int_equal(prefetch_calls(b.p), 2);
	teardown(&b);
}

static void adds_a_second_round_to_the_first(void **state)
{
	struct bench b;

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A, 100);
	assert_int_equal(prefetch_fetch(b.p), 0);
	prefetch_plan(b.p, A + 100, 300);
	assert_int_equal(prefetch_fetch(b.p), 0);
	expect(&b, A + 150, 250);
	expect(&b, A + 50, 50);
	assert_int_equal(prefetch_fetch(b.p), 0);
	assert_int_equal(prefetch_calls(b.p), 2);
	teardown(&b);
}

static void forgets_all_at_the_next_start(void **state)
{
	struct bench b;
	uint64_t value;

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A, 100);
	assert_int_equal(prefetch_fetch(b.p), 0);
	prefetch_start(b.p, &b.mem);
	assert_int_equal(prefetch_calls(b.p), 0);
	fakemem_put_u64(&b.fm, A, 77);
	assert_int_equal(mem_read_u64(prefetch_mem(b.p), A, &value), 0);
	assert_int_equal(value, 77);
	teardown(&b);
}

static void ignores_plans_beyond_its_limits(void **state)
{
	struct bench b;

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A, 0);
	prefetch_plan(b.p, UINT64_MAX - 3, 100);
	prefetch_plan(b.p, A, PREFETCH_MAX_BYTES + 1);
	assert_int_equal(prefetch_fetch(b.p), 0);
	assert_int_equal(prefetch_calls(b.p), 0);
	prefetch_plan(b.p, A, PREFETCH_MAX_BYTES - 8);
	prefetch_plan(b.p, A + LEN - 64, 64);
	assert_int_equal(prefetch_fetch(b.p), 0);
	assert_int_equal(b.fm.ranges, 1);
	/* The limit is one for each round. */
	prefetch_plan(b.p, A + LEN - 64, 64);
	assert_int_equal(prefetch_fetch(b.p), 0);
	assert_int_equal(b.fm.ranges, 2);
	teardown(&b);
}

static void passes_on_that_the_target_is_gone(void **state)
{
	struct bench b;
	uint64_t value;

	(void)state;
	setup(&b);
	b.fm.fail = OUT_GONE;
	prefetch_plan(b.p, A, 100);
	assert_int_equal(prefetch_fetch(b.p), OUT_GONE);
	assert_int_equal(mem_read_u64(prefetch_mem(b.p), A, &value), OUT_GONE);
	b.fm.fail = OUT_DENIED;
	assert_int_equal(mem_read_u64(prefetch_mem(b.p), A, &value),
			 OUT_DENIED);
	teardown(&b);
}

static void reads_more_ranges_than_one_call_takes(void **state)
{
	static struct mem_range ranges[3000];
	static uint8_t bytes[3000];
	struct bench b;

	(void)state;
	setup(&b);
	prefetch_plan(b.p, A + 1500, 1);
	assert_int_equal(prefetch_fetch(b.p), 0);
	for (unsigned i = 0; i < 3000; i++)
		ranges[i] = (struct mem_range){ .addr = A + i,
						.buf = &bytes[i],
						.len = 1 };
	assert_int_equal(
		prefetch_mem(b.p)->readv(prefetch_mem(b.p)->ctx, ranges, 3000),
		0);
	for (unsigned i = 0; i < 3000; i++)
		assert_int_equal(bytes[i], i % 251);
	assert_int_equal(prefetch_calls(b.p), 4);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves_what_was_planned_without_a_call),
		cmocka_unit_test(reads_the_rest_behind_in_one_call),
		cmocka_unit_test(finds_the_plan_that_covers_among_overlapping),
		cmocka_unit_test(serves_a_short_range_as_far_as_it_came),
		cmocka_unit_test(adds_a_second_round_to_the_first),
		cmocka_unit_test(forgets_all_at_the_next_start),
		cmocka_unit_test(ignores_plans_beyond_its_limits),
		cmocka_unit_test(passes_on_that_the_target_is_gone),
		cmocka_unit_test(reads_more_ranges_than_one_call_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
