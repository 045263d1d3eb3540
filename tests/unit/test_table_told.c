/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "tabletest.h"

static void counts_a_recursive_function_once_for_each_stack(void **state)
{
	struct fixture *f = *state;
	const char *text;

	add_busy(f, RECORD_NONE, 1, "p", 600,
		 "a.py:main:1;a.py:walk:5;a.py:look:9;a.py:walk:5;a.py:walk:6");
	add_busy(f, RECORD_NONE, 2, "p", 400, "a.py:main:1;a.py:walk:7");
	finish(f);
	text = table(f);
	assert_has(text, "  100.0      1.00   100.0      1.00  walk ");
	/* The line that it was in the longest. */
	assert_has(text, "a.py:6\n");
	assert_has(text, "    0.0      0.00    60.0      0.60  look ");
}

static void shows_no_callers_that_only_start_processes(void **state)
{
	struct fixture *f = *state;
	const char *text;

	add_busy(f, RECORD_NONE, 1, "p", 1000,
		 "a.py:main:1;/lib/python3.11/multiprocessing/process.py:"
		 "_bootstrap:3;a.py:work:1");
	finish(f);
	text = table(f);
	assert_has(text, "  main ");
	assert_has_not(text, "_bootstrap");
}

static void makes_one_line_of_equal_workers_when_they_are_many(void **state)
{
	struct fixture *f = *state;
	uint32_t root = add_busy(f, RECORD_NONE, 1, "python3 main.py", 100,
				 "a.py:main:1");
	const char *text;

	for (int i = 0; i < 30; i++) {
		uint32_t worker = add_busy(f, root, 10 + 2 * i,
					   "/usr/bin/python3 worker.py", 500,
					   "a.py:work:1");

		add_busy(f, worker, 11 + 2 * i, "helper", 10, "a.py:help:1");
	}
	finish(f);
	text = table(f);
	assert_has(
		text,
		"processes (Python 3.11.2)\n"
		"pid         start s    end s    CPU s  CPU %  GIL %  ended    "
		"   command\n"
		"1              0.00     1.00     0.10   10.0    0.0  ok       "
		"   python3 main.py\n"
		"  30 x         0.00     1.00    15.00   50.0    0.0  ok       "
		"   python3 worker.py\n"
		"    30 x       0.00     1.00     0.30    1.0    0.0  ok       "
		"   helper\n");
}

static void sums_up_children_that_are_too_many_to_show(void **state)
{
	struct fixture *f = *state;
	uint32_t root = add_busy(f, RECORD_NONE, 1, "main", 1000, "a.py:m:1");
	const char *text;
	char command[16];

	for (int i = 0; i < 50; i++) {
		(void)snprintf(command, sizeof(command), "job %d", i);
		add_busy(f, root, 100 + i, command, i < 40 ? 10 : 100 + i * 10,
			 "a.py:f:1");
	}
	finish(f);
	f->options.rows = 1;
	assert_has(table(f), "  50 x                         5.85            "
			     "    others\n");
	f->options.rows = 4;
	text = table(f);
	assert_has(text, "  149        0.00     1.00     0.59 ");
	assert_has(text, "  147        0.00     1.00     0.57 ");
	assert_has_not(text, "  146 ");
	/* 40 of 10 ms, and 500 to 560. */
	assert_has(
		text,
		"  47 x                         4.11                others\n");
}

static void shows_other_programs_only_where_they_are_few(void **state)
{
	struct fixture *f = *state;
	uint32_t root = add_busy(f, RECORD_NONE, 1, "main", 10, "a.py:m:1");
	char command[16];

	for (int i = 0; i < 20; i++) {
		uint32_t process = maker_process(&f->m, root, 100 + i, 0);

		(void)snprintf(command, sizeof(command), "tool %d", i);
		maker_image(&f->m, process, 0, command, "");
		maker_process_end(&f->m, process, 1000, VERDICT_NOT_PYTHON, 0);
	}
	finish(f);
	assert_has_not(table(f), "tool");
	assert_has(table(f), "  20 x                         0.00            "
			     "    others\n");
}

static void says_how_workers_of_one_line_ended(void **state)
{
	struct fixture *f = *state;
	uint32_t root = add_busy(f, RECORD_NONE, 1, "main", 10, "a.py:m:1");

	for (int i = 0; i < 20; i++) {
		uint32_t process = maker_process(&f->m, root, 100 + i, 0);

		maker_image(&f->m, process, 0, "worker", "3.11.2");
		maker_process_end(&f->m, process, 1000, VERDICT_TOO_SHORT,
				  i < 3 ? 11 : 0);
	}
	finish(f);
	assert_has(table(f),
		   "  20 x       0.00     1.00     0.00    0.0    0.0  "
		   "3 bad       [too short] worker\n");
}

static void cuts_long_names_between_characters(void **state)
{
	struct fixture *f = *state;
	const char *out;

	add_busy(f, RECORD_NONE, 1,
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
		 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2",
		 10,
		 "a/very/long/path/to/some/file/that/is/deep/down.py:"
		 "a_function_with_a_name_that_is_too_long_for_it:1");
	finish(f);
	out = table(f);
	assert_has(out, "  a_function_with_a_name_that_is_to\xe2\x80\xa6  "
			"\xe2\x80\xa6/is/deep/down.py:1\n");
	/* Each takes two columns: 17 of them and the mark fit. */
	assert_has(out, "\xe6\xbc\xa2\xe2\x80\xa6\n");
	for (const char *at = out; *at; at++)
		assert_int_not_equal(str_utf8(at, strlen(at)) ||
					     ((unsigned char)*at & 0xc0) ==
						     0x80,
				     0);
}

static void says_that_a_file_is_cut_and_how_much_was_read(void **state)
{
	struct fixture *f = *state;

	add_busy(f, RECORD_NONE, 1, "p", 1000, "a.py:f:1");
	maker_flush(&f->m, 1000);
	maker_process(&f->m, RECORD_NONE, 2, 1500);
	maker_flush(&f->m, 2000);
	assert_int_equal(past_add(&f->p, f->m.bytes.at, f->m.bytes.n - 1), 0);
	maker_free(&f->m);
	assert_has(table(f), "\n! the file is cut off: ");
	assert_has(table(f), " bytes could be read, up to 1.00 s\n");
}

static void says_that_a_file_has_no_end(void **state)
{
	struct fixture *f = *state;

	add_busy(f, RECORD_NONE, 1, "p", 1000, "a.py:f:1");
	maker_flush(&f->m, 1000);
	assert_has(table(f), "\n! the recording has no end: ");
}

static void says_how_many_samples_were_dropped(void **state)
{
	static const char summary[] = "{\"dropped\":{\"torn\":3,\"busy\":14}}";
	struct fixture *f = *state;

	add_busy(f, RECORD_NONE, 1, "p", 1000, "a.py:f:1");
	recorder_summary(f->m.rec, summary, sizeof(summary) - 1);
	maker_flush(&f->m, 1000);
	assert_has(table(f), "\n! 17 samples were dropped\n");
}

static void names_the_hosts_of_several_recordings(void **state)
{
	struct fixture *f = *state;
	const char *text;

	past_small(&f->p);
	maker_free(&f->m);
	maker_begin(&f->m, "other", PAST_UNIX_NS + 5 * PAST_MS);
	add_busy(f, RECORD_NONE, 7, "p", 1000, "a.py:f:1");
	finish(f);
	past_take(&f->p, &f->m);
	text = table(f);
	assert_has(text, "\nhost:\n100 ");
	assert_has(text, "\nother:\n7 ");
	assert_has(text, "\nother, 2023-11-14 22:13:20 UTC, 1.00 s at ");
}

static void tells_files_of_one_run_as_one(void **state)
{
	struct fixture *f = *state;
	struct record_run run = { .unix_ns = PAST_UNIX_NS,
				  .start_ns = 1000 * PAST_MS,
				  .interval_ns = 10 * PAST_MS };
	const char *text;

	add_busy(f, RECORD_NONE, 7, "p", 1000, "a.py:f:1");
	maker_flush(&f->m, 1000);
	past_take(&f->p, &f->m);
	/* The first file was ended by a rotation: without a summary. */
	maker_begin(&f->m, "host", PAST_UNIX_NS);
	f->m.bytes.n = 0;
	recorder_free(f->m.rec);
	f->m.rec = recorder_new(f->m.strings, f->m.stacks, RECORDER_PLAIN);
	run.host = maker_string(&f->m, "host");
	recorder_run(f->m.rec, &run);
	recorder_summary(f->m.rec, "{}", 2);
	maker_flush(&f->m, 3000);
	text = table(f);
	assert_has(text, "\nhost, 2023-11-14 22:13:20 UTC, 3.00 s at 100 Hz, 4 "
			 "CPUs, 2 files\n1 process");
	assert_has_not(text, "!");
}

static void says_that_nothing_was_sampled(void **state)
{
	struct fixture *f = *state;

	finish(f);
	assert_has(table(f), "\nnothing was sampled\n");
	assert_has_not(table(f), "hottest");
}

static void knows_the_date(void **state)
{
	static const struct {
		uint64_t unix_s;
		const char *text;
	} dates[] = {
		{ 0, "1970-01-01 00:00:00 UTC" },
		{ 951782399, "2000-02-28 23:59:59 UTC" },
		{ 951868799, "2000-02-29 23:59:59 UTC" },
		{ 1709251200, "2024-03-01 00:00:00 UTC" },
		{ 4107542399, "2100-02-28 23:59:59 UTC" },
		{ 4107542400, "2100-03-01 00:00:00 UTC" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
		maker_free(&f->m);
		past_free(&f->p);
		maker_begin(&f->m, "h", dates[i].unix_s * 1000000000ull);
		finish(f);
		assert_has(table(f), dates[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_a_recursive_function_once_for_each_stack),
		TEST(shows_no_callers_that_only_start_processes),
		TEST(makes_one_line_of_equal_workers_when_they_are_many),
		TEST(sums_up_children_that_are_too_many_to_show),
		TEST(shows_other_programs_only_where_they_are_few),
		TEST(says_how_workers_of_one_line_ended),
		TEST(cuts_long_names_between_characters),
		TEST(says_that_a_file_is_cut_and_how_much_was_read),
		TEST(says_that_a_file_has_no_end),
		TEST(says_how_many_samples_were_dropped),
		TEST(names_the_hosts_of_several_recordings),
		TEST(tells_files_of_one_run_as_one),
		TEST(says_that_nothing_was_sampled),
		TEST(knows_the_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
