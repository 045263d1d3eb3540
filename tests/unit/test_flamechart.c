/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

static void writes_two_lines_a_sample_as_pyflame_did(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 10, 20, maker_stack(m, "a.py:<module>:1;b.py:f:2"));
	maker_idle(m, t, 30, 10, STACKS_EMPTY, WAIT_TIME);
	text = told_view(told, out_flamechart, 40);
	assert_string_equal(text->at, "1700000000010000\n"
				      "a.py:<module>:1;b.py:f:2;\n"
				      "1700000000020000\n"
				      "a.py:<module>:1;b.py:f:2;\n"
				      "1700000000030000\n"
				      "(idle)\n");
}

/* How many pairs of lines there are; their times must not go back. */
static size_t pairs_of(const char *text)
{
	unsigned long long at, before = 0;
	size_t n = 0;

	for (; *text; n++) {
		char *end;

		at = strtoull(text, &end, 10);
		assert_true(end > text && *end == '\n');
		assert_true(at >= before);
		before = at;
		text = strchr(end + 1, '\n');
		assert_non_null(text);
		text++;
	}
	return n;
}

static void has_as_many_pairs_as_samples_and_never_goes_back(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_flamechart, p, &query, OUT_WALL);

	assert_int_equal(pairs_of(text.at), p->h->total.samples);
	assert_utf8(&text);
	str_free(&text);
}

static void says_whose_a_stack_is_where_there_are_several(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	const int32_t pid = 103;
	struct str text = timeline_view(out_flamechart, p, &query, OUT_WALL);

	assert_has(&text, "\n103 python3 app.py / 103 MainThread;"
			  "app.py:<module>:41;app.py:main:12;"
			  "pool.py:get:51;\n");
	assert_has(&text, "\n101 (2) python3 evil.py a\\x3bb <b>&\"'\\\\ "
			  "\\x01\\x1b[31m\\xff / 101;");
	str_free(&text);
	query.pids = &pid;
	query.n_pids = 1;
	text = timeline_view(out_flamechart, p, &query, OUT_WALL);
	assert_has(&text, "\napp.py:<module>:41;app.py:main:12;"
			  "pool.py:get:51;\n");
	assert_has_not(&text, "MainThread");
	assert_int_equal(pairs_of(text.at), 160);
	str_free(&text);
}

static void escapes_what_would_break_a_line(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_flamechart, p, &query, OUT_WALL);

	assert_has(&text, ";dir\\x3bx/a:<b>.py:"
			  "we\\x3bird <b>&\"\\\\\\x01\\n\\xff\\x3afn:7;\n");
	str_free(&text);
}

static void leaves_out_lines_where_functions_are_asked_for(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text;

	query.frames = FRAMES_FUNCTIONS;
	text = timeline_view(out_flamechart, p, &query, OUT_WALL);
	assert_has(&text, ";app.py:<module>;app.py:main;app.py:work;\n");
	str_free(&text);
}

static void writes_a_bounded_number_of_pairs_for_a_slice(void **state)
{
	struct slice slice = { .seen = { .run = RUN_ON_CPU },
			       .weight = { .wall_ns = 1000,
					   .samples = UINT64_MAX / 8 } };
	struct told *told = *state;
	struct maker *m = &told->m;
	const struct str *text;

	slice.thread = told->thread;
	slice.seen.stack = maker_stack(m, "a.py:f:2");
	maker_slice(m, &slice);
	text = told_view(told, out_flamechart, 10);
	assert_int_equal(pairs_of(text->at), 64 * 1024);
}

static void orders_the_samples_of_all_threads_by_time(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t first = told->thread;
	uint32_t second = maker_thread(m, 0, 0, 101, 0, "Other");
	const struct str *text;

	/* A recording has a slice when it has ended. */
	maker_busy(m, second, 10, 10, maker_stack(m, "a.py:f:2"));
	maker_busy(m, second, 20, 300, maker_stack(m, "a.py:f:3"));
	maker_busy(m, first, 0, 400, maker_stack(m, "a.py:g:4"));
	/* So long that all of them are in one part of the time. */
	text = told_view(told, out_flamechart, 3600 * 1000);
	assert_int_equal(pairs_of(text->at), told->p.h->total.samples);
	assert_true(strstr(text->at, "g:4;\n") < strstr(text->at, "f:2;\n"));
	assert_has(text, "f:3;\n1700000000030000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(writes_two_lines_a_sample_as_pyflame_did),
		SMALL(has_as_many_pairs_as_samples_and_never_goes_back),
		SMALL(says_whose_a_stack_is_where_there_are_several),
		SMALL(escapes_what_would_break_a_line),
		SMALL(leaves_out_lines_where_functions_are_asked_for),
		TOLD(writes_a_bounded_number_of_pairs_for_a_slice),
		TOLD(orders_the_samples_of_all_threads_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
