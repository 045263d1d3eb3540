/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "profile/spans.h"

/* A tick is one microsecond at first: times are in microseconds. */
#define US 1000ull
#define LENGTH ((uint64_t)SPANS_CELLS * SPANS_CELL * US)

static int begin(void **state)
{
	static struct spans spans;

	*state = &spans;
	return spans_init(&spans, 0, LENGTH, 3, 1000);
}

static int end(void **state)
{
	spans_free(*state);
	return 0;
}

static void add(struct spans *spans, uint32_t thread, uint64_t at_us,
		uint64_t wall_us, uint32_t stack)
{
	struct slice slice = { .thread = thread,
			       .start_ns = at_us * US,
			       .seen = { .run = RUN_ON_CPU, .gil = GIL_HELD },
			       .weight = { .wall_ns = wall_us * US,
					   .cpu_ns = wall_us * US / 2,
					   .samples = 1 } };

	assert_int_equal(spans_add(spans, &slice, stack), 0);
}

static const struct span *at(const struct spans *spans, size_t i)
{
	assert_in_range(i, 0, spans->at.n - 1);
	return &spans->at.at[i];
}

static void assert_place(const struct span *span, uint32_t start, uint32_t stop)
{
	assert_int_equal(span->start, start);
	assert_int_equal(span->end, stop);
}

static void joins_what_goes_on(void **state)
{
	struct spans *spans = *state;

	add(spans, 0, 0, 100, 7);
	add(spans, 0, 100, 50, 7);
	assert_int_equal(spans->at.n, 1);
	assert_place(at(spans, 0), 0, 150);
	assert_int_equal(at(spans, 0)->weight.wall_ns, 150 * US);
	assert_int_equal(at(spans, 0)->weight.samples, 2);
}

static void keeps_apart_what_differs(void **state)
{
	struct spans *spans = *state;
	struct slice idle = { .start_ns = 300 * US,
			      .weight = { .wall_ns = 100 * US } };

	add(spans, 0, 0, 100, 7);
	add(spans, 0, 100, 100, 8);
	add(spans, 1, 100, 100, 8);
	add(spans, 0, 200, 100, 7);
	assert_int_equal(spans_add(spans, &idle, 7), 0);
	assert_int_equal(spans->at.n, 5);
}

static void joins_within_a_cell_whatever_is_between(void **state)
{
	struct spans *spans = *state;

	add(spans, 0, 0, 2, 7);
	add(spans, 0, 2, 2, 8);
	add(spans, 0, 4, 2, 7);
	assert_int_equal(spans->at.n, 2);
	assert_place(at(spans, 0), 0, 6);
	assert_int_equal(at(spans, 0)->weight.wall_ns, 4 * US);
	/* The next cell is another place. */
	add(spans, 0, SPANS_CELL, 1, 8);
	add(spans, 0, SPANS_CELL + 2, 1, 7);
	assert_int_equal(spans->at.n, 4);
}

static void ends_a_slice_where_the_next_one_begins(void **state)
{
	struct spans *spans = *state;

	add(spans, 0, 0, 1000, 7);
	add(spans, 0, 600, 100, 8);
	assert_place(at(spans, 0), 0, 600);
	assert_int_equal(at(spans, 0)->weight.wall_ns, 1000 * US);
}

static void tells_waiting_for_the_lock_from_idling(void **state)
{
	struct spans *spans = *state;
	struct slice slice = { .weight = { .wall_ns = 100 * US } };

	slice.seen.wait = WAIT_GIL;
	assert_int_equal(spans_add(spans, &slice, 1), 0);
	slice.start_ns = 100 * US;
	slice.seen = (struct seen){ .run = RUN_STOPPED };
	assert_int_equal(spans_add(spans, &slice, 1), 0);
	add(spans, 0, 200, 100, 1);
	assert_int_equal(at(spans, 0)->state, SPAN_GIL_WAIT);
	assert_int_equal(at(spans, 1)->state, SPAN_STOPPED);
	assert_int_equal(at(spans, 2)->state, SPAN_ON_CPU);
	assert_int_equal(at(spans, 0)->gil_ns, 0);
	assert_int_equal(at(spans, 2)->gil_ns, 100 * US);
}

static void is_never_more_than_it_may_be_and_loses_nothing(void **state)
{
	struct spans *spans = *state;
	uint64_t wall = 0, cpu = 0, samples = 0;

	for (uint32_t i = 0; i < 16000; i++)
		add(spans, i % 3, i * 2, 2, i % 5);
	assert_in_range(spans->at.n, 1, 1000);
	assert_true(spans->tick_ns > US);
	for (size_t i = 0; i < spans->at.n; i++) {
		const struct span *span = at(spans, i);

		assert_true(span->start < span->end);
		wall += span->weight.wall_ns;
		cpu += span->weight.cpu_ns;
		samples += span->weight.samples;
	}
	assert_int_equal(wall, 32000 * US);
	assert_int_equal(cpu, 16000 * US);
	assert_int_equal(samples, 16000);
}

static void keeps_as_many_as_there_are_stacks(void **state)
{
	struct spans *spans = *state;

	for (uint32_t i = 0; i < 5000; i++)
		add(spans, 0, i, 1, i);
	assert_int_equal(spans->at.n, 5000);
}

static void takes_times_that_are_beyond_the_end(void **state)
{
	struct spans *spans = *state;
	struct slice slice = { .start_ns = UINT64_MAX - 5,
			       .weight = { .wall_ns = UINT64_MAX } };

	assert_int_equal(spans_add(spans, &slice, 1), 0);
	assert_true(at(spans, 0)->start < at(spans, 0)->end);
}

static void is_ordered_by_thread_and_time(void **state)
{
	struct spans *spans = *state;

	add(spans, 2, 0, 100, 1);
	add(spans, 0, 500, 100, 1);
	add(spans, 1, 0, 100, 1);
	add(spans, 0, 900, 100, 2);
	spans_sort(spans);
	assert_int_equal(at(spans, 0)->thread, 0);
	assert_int_equal(at(spans, 0)->start, 500);
	assert_int_equal(at(spans, 1)->start, 900);
	assert_int_equal(at(spans, 2)->thread, 1);
	assert_int_equal(at(spans, 3)->thread, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(joins_what_goes_on),
		TEST(keeps_apart_what_differs),
		TEST(joins_within_a_cell_whatever_is_between),
		TEST(ends_a_slice_where_the_next_one_begins),
		TEST(tells_waiting_for_the_lock_from_idling),
		TEST(is_never_more_than_it_may_be_and_loses_nothing),
		TEST(keeps_as_many_as_there_are_stacks),
		TEST(takes_times_that_are_beyond_the_end),
		TEST(is_ordered_by_thread_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
