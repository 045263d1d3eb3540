/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

#include "profile/timeline.h"

/* What a thread was handed out as. */
static int note_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct str *notes = ctx;

	str_printf(notes, "%" PRIu32 ":", thread);
	while (course_next(course)) {
		assert_int_equal(course->slice.thread, thread);
		str_printf(notes, " %u",
			   (unsigned)(course->slice.start_ns / PAST_MS));
	}
	str_puts(notes, "\n");
	return 0;
}

static void hands_out_threads_whole_however_small_the_batch(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;

	for (size_t batch = 1; batch < 20; batch++) {
		struct timeline tl;
		struct str notes = { 0 };

		assert_int_equal(timeline_open(&tl, p->h, &query), 0);
		tl.batch = batch; /* chunks: one has room for a thread */
		assert_int_equal(timeline_threads(&tl, note_thread, &notes), 0);
		assert_string_equal(notes.at, "0: 0 100\n"
					      "1: 100 1100 1200\n"
					      "2: 100 500 700\n"
					      "3: 100 1100\n"
					      "4: 200 900 1300\n"
					      "5: 300\n"
					      "6: 1000 1400 1600\n");
		timeline_close(&tl);
		str_free(&notes);
	}
}

static int stop_at_second(void *ctx, uint32_t thread, struct course *course)
{
	(void)ctx;
	(void)course;
	return thread == 1 ? 7 : 0;
}

static void ends_with_what_the_function_returned(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct timeline tl;

	assert_int_equal(timeline_open(&tl, p->h, &query), 0);
	assert_int_equal(timeline_threads(&tl, stop_at_second, NULL), 7);
	timeline_close(&tl);
}

static void ends_a_slice_where_the_next_begins(void **state)
{
	const struct slice slices[] = {
		{ .start_ns = 0, .weight = { .wall_ns = 10 } },
		{ .start_ns = 20, .weight = { .wall_ns = 30 } },
		{ .start_ns = 30, .weight = { .wall_ns = 5 } },
	};

	const uint64_t right_ns[] = { 10, 30, 35 };
	struct packed packed;
	struct course course;

	(void)state;
	assert_int_equal(packed_init(&packed, 1, 10), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(packed_add(&packed, 0, &slices[i]), 0);
	course_open(&course, &packed, 0, 0);
	assert_int_equal(course.slices, 3);
	for (size_t again = 0; again < 2; again++) {
		for (size_t i = 0; i < 3; i++) {
			assert_true(course_next(&course));
			assert_int_equal(course.until_ns, right_ns[i]);
			assert_int_equal(course.has_next, i < 2);
		}
		assert_false(course_next(&course));
		course_rewind(&course);
	}
	packed_free(&packed);
}

static void writes_fractions_exactly(void **state)
{
	struct sink sink;

	(void)state;
	sink_open(&sink, timeline_refuse, NULL);
	sink_decimal(&sink, 0, 3);
	sink_decimal(&sink, 1500, 3);
	sink_decimal(&sink, 1001, 3);
	sink_decimal(&sink, 7, 6);
	sink_decimal(&sink, 12, 0);
	sink_decimal(&sink, UINT64_MAX, 6);
	sink_i64(&sink, -3);
	assert_string_equal(sink.text.at, "0,1.5,1.001,0.000007,12,"
					  "18446744073709.551615,-3");
	sink_free(&sink);
}

static void gives_each_user_of_a_number_its_turn(void **state)
{
	struct numbers numbers = { 0 };

	(void)state;
	assert_int_equal(numbers_turn(&numbers, 42, 0), 0);
	assert_int_equal(numbers_turn(&numbers, 42, 3), 1);
	assert_int_equal(numbers_turn(&numbers, 42, 0), 0);
	assert_int_equal(numbers_turn(&numbers, 43, 3), 0);
	assert_int_equal(numbers_turn(&numbers, 42, 9), 2);
	numbers_free(&numbers);
}

static void names_the_host_only_where_there_are_several(void **state)
{
	struct maker m = { 0 };
	struct past p = { 0 };
	struct str name = { 0 };

	(void)state;
	past_small(&p);
	timeline_process_name(p.h, 0, HISTORY_NONE, &name);
	assert_string_equal(name.at, "100 python3 app.py");
	maker_small(&m, "other", PAST_UNIX_NS);
	past_take(&p, &m);
	str_clear(&name);
	timeline_process_name(p.h, 0, HISTORY_NONE, &name);
	assert_string_equal(name.at, "host 100 python3 app.py");
	str_clear(&name);
	timeline_process_name(p.h, 10, HISTORY_NONE, &name);
	assert_string_equal(name.at, "other 104 /bin/sh -c x");
	str_clear(&name);
	timeline_process_name(p.h, 10, p.h->processes.at[10].image, &name);
	assert_string_equal(name.at, "other 104 python3 app.py");
	str_free(&name);
	past_free(&p);
}

static void returns_what_the_write_function_returned(void **state)
{
	static const view_fn views[] = { out_speedscope, out_chrome,
					 out_firefox, out_jsonl,
					 out_flamechart };
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct out_options options = { 0 };

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		assert_int_equal(
			views[i](p->h, &query, &options, timeline_refuse, NULL),
			-ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(hands_out_threads_whole_however_small_the_batch),
		SMALL(ends_with_what_the_function_returned),
		cmocka_unit_test(ends_a_slice_where_the_next_begins),
		cmocka_unit_test(writes_fractions_exactly),
		cmocka_unit_test(gives_each_user_of_a_number_its_turn),
		cmocka_unit_test(names_the_host_only_where_there_are_several),
		SMALL(returns_what_the_write_function_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
