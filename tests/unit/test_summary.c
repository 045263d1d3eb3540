/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "profile/summary.h"

static void counts_every_process_under_one_verdict(void **state)
{
	struct counts counts = { .verdicts = { [VERDICT_SAMPLED] = 3,
					       [VERDICT_NOT_PYTHON] = 2,
					       [VERDICT_GONE] = 1 } };

	(void)state;
	assert_int_equal(counts_seen(&counts), 6);
}

static void adds_up_attempts(void **state)
{
	struct counts counts = { .stopped = 5,
				 .unstopped = 7,
				 .repeated = 11,
				 .kernel = 13,
				 .drops = {
					 [DROP_TORN] = 2, [DROP_GONE] = 3 } };

	(void)state;
	assert_int_equal(counts_taken(&counts), 36);
	assert_int_equal(counts_dropped(&counts), 5);
}

static void knows_the_spread_of_stops_within_an_eighth(void **state)
{
	struct held held = { 0 };

	(void)state;
	for (uint64_t us = 1; us <= 1000; us++)
		held_add(&held, us * 1000);
	assert_int_equal(held.stops, 1000);
	assert_int_equal(held.longest_ns, 1000000);
	assert_int_equal(held.total_ns / held.stops, 500500);
	assert_in_range(held_quantile(&held, 0.99), 990000 * 7 / 8, 1000000);
	assert_in_range(held_quantile(&held, 0.5), 500000 * 7 / 8,
			500000 * 9 / 8);
}

static void bears_any_time(void **state)
{
	struct held held = { 0 };

	(void)state;
	assert_int_equal(held_quantile(&held, 0.99), 0);
	for (unsigned bit = 0; bit < 64; bit++)
		held_add(&held, 1ull << bit);
	held_add(&held, 0);
	held_add(&held, UINT64_MAX);
	assert_int_equal(held.stops, 66);
	assert_int_equal(held_quantile(&held, 0), 0);
}

static struct summary example(const struct counts *counts)
{
	return (struct summary){ .counts = counts,
				 .version = "1.2.3",
				 .mode = "wall",
				 .events = "connector",
				 .oncpu = "switches",
				 .sampler = "kernel",
				 .sampler_reason = "asked for",
				 .kernel = { .unread = 3 },
				 .posts = { .threads = 2, .moved = 5 },
				 .duration_ns = 2000000000,
				 .interval_ns = 10000000,
				 .profiler_cpu_ns = 20000000 };
}

static void tells_a_person_what_was_left_out_and_why(void **state)
{
	struct counts counts = {
		.verdicts = { [VERDICT_SAMPLED] = 3, [VERDICT_DENIED] = 2 },
		.drops = { [DROP_TORN] = 4 },
		.stopped = 10
	};
	struct summary summary = example(&counts);
	struct str text = { 0 };

	(void)state;
	summary_text(&summary, &text);
	assert_non_null(strstr(text.at, "5 seen = 3 sampled + 2 denied"));
	assert_non_null(strstr(text.at, "4 dropped (4 torn)"));
	assert_non_null(strstr(text.at, "2.00 s at 100 Hz"));
	assert_non_null(strstr(text.at, "1.00 % of a core"));
	assert_non_null(strstr(text.at, "read by the kernel: 3 not read"));
	assert_null(strstr(text.at, "lost"));
	assert_null(strstr(text.at, "EINTR"));
	str_free(&text);
}

static void says_when_a_stop_made_calls_fail(void **state)
{
	struct counts counts = { .calls_failed = 7 };
	struct summary summary = example(&counts);
	struct str text = { 0 };

	(void)state;
	summary_text(&summary, &text);
	assert_non_null(strstr(text.at, "EINTR because of a stop: 7\n"));
	str_free(&text);
}

static void says_when_events_were_lost(void **state)
{
	struct counts counts = { .events_lost = 1,
				 .rescans = 1,
				 .found_late = 4 };
	struct summary summary = example(&counts);
	struct str text = { 0 };

	(void)state;
	summary_text(&summary, &text);
	assert_non_null(strstr(text.at, "4 processes found late"));
	str_free(&text);
}

static void writes_its_keys_as_json(void **state)
{
	static const char *const keys[] = {
		"\"version\":\"1.2.3\"",
		"\"mode\":\"wall\"",
		"\"events_reason\":null",
		"\"sampler\":\"kernel\"",
		"\"sampler_reason\":\"asked for\"",
		"\"unread\":3",
		"\"samplers\":{\"threads\":3,\"samples\":0,\"moved\":5",
		"\"seen\":3",
		"\"unknown_python\":0",
		"\"attempts\":14",
		"\"torn\":4",
		"\"missed\":0",
		"\"longest_ns\":0",
		"\"calls_failed\":2",
		"\"interval_ns\":10000000",
	};
	struct counts counts = { .verdicts = { [VERDICT_SAMPLED] = 3 },
				 .drops = { [DROP_TORN] = 4 },
				 .stopped = 10,
				 .calls_failed = 2 };
	struct summary summary = example(&counts);
	struct str text = { 0 };
	struct json j = { .to = &text };

	(void)state;
	json_open(&j, '{');
	summary_json(&summary, &j);
	json_close(&j, '}');
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_non_null(strstr(text.at, keys[i]));
	str_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_every_process_under_one_verdict),
		cmocka_unit_test(adds_up_attempts),
		cmocka_unit_test(knows_the_spread_of_stops_within_an_eighth),
		cmocka_unit_test(bears_any_time),
		cmocka_unit_test(tells_a_person_what_was_left_out_and_why),
		cmocka_unit_test(says_when_events_were_lost),
		cmocka_unit_test(says_when_a_stop_made_calls_fail),
		cmocka_unit_test(writes_its_keys_as_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
