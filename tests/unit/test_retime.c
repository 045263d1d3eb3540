/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/retime.h"

#define MS 1000000ull
#define CHANGES 200000

/* Always the same numbers, each time another one. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/*
 * Ticks of a clock in time with @interval that is changed after @least intervals and up
 * to @spread more, in parts of a thousand of what they should be.
 */
static uint64_t ticks_of(uint64_t interval, uint64_t least, uint64_t spread)
{
	uint64_t seed = 1, period = 0, passed = 0, ticks = 0, all = 0;

	for (int i = 0; i < CHANGES; i++) {
		period = retime_next(interval, period, passed,
				     next_random(&seed) % RETIME_CHANCES);
		passed = least * interval +
			 next_random(&seed) % (spread * interval);
		ticks += passed / period;
		all += passed;
	}
	return ticks * 1000 / (all / interval);
}

static void counts_time_right_whatever_the_changes_cost(void **state)
{
	(void)state;
	assert_in_range(ticks_of(MS, 16, 1), 998, 1002);
	assert_in_range(ticks_of(MS, 16, 16), 998, 1002);
	assert_in_range(ticks_of(50 * MS, 16, 1), 998, 1002);
	assert_in_range(ticks_of(MS, 100, 10), 998, 1002);
	assert_in_range(ticks_of(10000 * MS, 16, 4), 998, 1002);
}

static void stays_near_the_interval(void **state)
{
	(void)state;
	assert_int_equal(retime_next(MS, 0, 0, 256), MS);
	assert_in_range(retime_next(MS, 0, 0, 0), MS * 13 / 10, MS * 14 / 10);
	assert_in_range(retime_next(MS, MS, 16 * MS + MS / 2, 512), MS * 7 / 10,
			MS * 8 / 10);
	/* Nothing to go by. */
	assert_int_equal(retime_next(MS, MS, MS / 2, 256), MS);
	assert_int_equal(retime_next(MS, MS, UINT64_MAX, 256), MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_time_right_whatever_the_changes_cost),
		cmocka_unit_test(stays_near_the_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
