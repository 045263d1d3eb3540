/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "recordtest.h"

static void joins_slices_that_go_on_until_the_next_flush(void **state)
{
	struct told t;
	uint32_t a, b;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, RECORD_NONE, 1);
	add(&t, 0, 2);
	a = stack(&t, "a");
	b = stack(&t, "b");
	slice(&t, 0, 0, a, 10);
	slice(&t, 1, 0, a, 10);
	slice(&t, 0, 10, a, 20);
	slice(&t, 1, 10, b, 20);
	slice(&t, 0, 30, a, 30);
	/* Far from where the last one ended. */
	slice(&t, 0, 60 + 11 * MS, a, 5);
	flush(&t, S);
	slice(&t, 0, 65 + 11 * MS, a, 6);
	flush(&t, 2 * S);
	expect(&t.file, 1u << RECORD_SLICE, RECORDING_RUNNING,
	       "slice 1 0 stack 1 1/0/0 weight 10 10 1\n"
	       "slice 0 0 stack 1 1/0/0 weight 60 60 3\n"
	       "slice 0 11000060 stack 1 1/0/0 weight 5 5 1\n"
	       "slice 1 10 stack 2 1/0/0 weight 20 20 1\n"
	       "slice 0 11000065 stack 1 1/0/0 weight 6 6 1\n");
	told_end(&t);
}

static void keeps_slices_apart_that_differ_in_their_state(void **state)
{
	struct slice slice = { .seen = { .run = RUN_IDLE },
			       .weight = { 10, 0, 1 } };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, RECORD_NONE, 1);
	recorder_slice(t.rec, &slice);
	slice.seen.gil = GIL_HELD;
	recorder_slice(t.rec, &slice);
	slice.seen.wait = WAIT_PIPE;
	recorder_slice(t.rec, &slice);
	slice.seen.run = RUN_STOPPED;
	recorder_slice(t.rec, &slice);
	flush(&t, S);
	expect(&t.file, 1u << RECORD_SLICE, RECORDING_RUNNING,
	       "slice 0 0 stack 0 0/0/0 weight 10 0 1\n"
	       "slice 0 0 stack 0 0/2/0 weight 10 0 1\n"
	       "slice 0 0 stack 0 0/2/3 weight 10 0 1\n"
	       "slice 0 0 stack 0 2/2/3 weight 10 0 1\n");
	told_end(&t);
}

static void writes_a_thread_s_slices_before_its_end(void **state)
{
	struct record_process_end end = { .process = 1, .at_ns = 8 };
	struct record_note note = { NOTE_GAP, 9, 1 };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	add(&t, RECORD_NONE, 1);
	add(&t, 0, 2);
	slice(&t, 0, 0, 0, 1);
	slice(&t, 1, 0, 0, 2);
	recorder_thread_end(t.rec, 0, 7);
	recorder_thread_end(t.rec, 0, 70);
	recorder_process_end(t.rec, &end);
	recorder_note(t.rec, &note);
	flush(&t, 10);
	expect(&t.file,
	       1u << RECORD_SLICE | 1u << RECORD_THREAD_END |
		       1u << RECORD_PROCESS_END | 1u << RECORD_NOTE,
	       RECORDING_RUNNING,
	       "slice 0 0 stack 0 1/0/0 weight 1 1 1\n"
	       "thread 0 ends 7\n"
	       "slice 1 0 stack 0 1/0/0 weight 2 2 1\n"
	       "process 1 ends 8 verdict 0 0 0 0\n"
	       "note 3 9 1\n");
	told_end(&t);
}

static void records_what_stands_only_when_that_is_news(void **state)
{
	struct record_stand stand = { .start_ns = 5 };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, RECORD_NONE, 1);
	recorder_stand(t.rec, &stand);
	recorder_stand(t.rec, &stand);
	flush(&t, S);
	recorder_stand(t.rec, &stand);
	flush(&t, 2 * S);
	stand.seen.wait = WAIT_POLL;
	recorder_stand(t.rec, &stand);
	/* What was before it. */
	slice(&t, 0, 0, 0, 5);
	recorder_stand(t.rec, &stand);
	/* Now it has ended; so another one may look the same. */
	slice(&t, 0, 5, 0, 5);
	recorder_stand(t.rec, &stand);
	flush(&t, 3 * S);
	expect(&t.file, 1u << RECORD_STAND | 1u << RECORD_TIME,
	       RECORDING_RUNNING,
	       "stand 0 5 stack 0 0/0/0\ntime 1000000000\n"
	       "stand 0 5 stack 0 0/0/6\nstand 0 5 stack 0 0/0/6\n"
	       "time 3000000000\n");
	told_end(&t);
}

static void records_names_only_when_they_are_news(void **state)
{
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, RECORD_NONE, 1);
	for (int i = 0; i < 4; i++) {
		recorder_thread_name(t.rec, 0, name(&t, i < 2 ? "a" : "b"));
		recorder_image_python(t.rec, 0, name(&t, i < 2 ? "" : "3.9"));
		recorder_image_title(t.rec, 0, name(&t, i < 2 ? "a" : "b"));
	}
	flush(&t, S);
	expect(&t.file,
	       1u << RECORD_THREAD_NAME | 1u << RECORD_IMAGE_PYTHON |
		       1u << RECORD_IMAGE_TITLE,
	       RECORDING_RUNNING,
	       "name 0 4\ntitle 0 4\nname 0 5\npython 0 6\ntitle 0 5\n");
	told_end(&t);
}

static void says_every_ten_seconds_that_nothing_happened(void **state)
{
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	for (uint64_t now = 1; now <= 30; now++)
		flush(&t, now * S);
	/* Time does not go back. */
	add(&t, RECORD_NONE, 1);
	flush(&t, 3 * S);
	expect(&t.file, 1u << RECORD_TIME, RECORDING_RUNNING,
	       "time 1000000000\ntime 12000000000\ntime 23000000000\n"
	       "time 23000000000\n");
	told_end(&t);
}

/* --- size ------------------------------------------------------------------- */

#define THREADS 8u
#define SLICES 40000u

/* The threads take turns, so that the place of each slice is known. */
static int add_up(void *ctx, const struct record *record)
{
	const struct slice *slice = &record->slice;
	uint64_t *n = ctx;

	if (slice->thread == THREADS)
		return 0;
	assert_int_equal(slice->thread, *n % THREADS);
	assert_int_equal(slice->start_ns, *n / THREADS * 10 * MS);
	assert_int_equal(slice->weight.wall_ns, 10 * MS + *n % 1000);
	++*n;
	return 0;
}

static void takes_ten_bytes_for_a_slice_and_many_blocks(void **state)
{
	struct recording_reader *reader;
	uint32_t stacks[200];
	size_t before;
	uint64_t n = 0;
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	for (unsigned i = 0; i <= THREADS; i++)
		add(&t, i ? 0 : RECORD_NONE, (int)i + 1);
	for (unsigned i = 0; i < 200; i++) {
		char text[] = { 'a', (char)('b' + i % 20), (char)('A' + i / 20),
				'\0' };

		stacks[i] = stack(&t, text);
		slice(&t, THREADS, 0, stacks[i], 1);
	}
	flush(&t, 0);
	before = t.file.bytes.n;
	for (unsigned i = 0; i < SLICES; i++)
		slice(&t, i % THREADS, i / THREADS * 10 * MS,
		      stacks[i * 7919 % 200], 10 * MS + i % 1000);
	flush(&t, 60 * S);
	assert_in_range(t.file.bytes.n - before, 2 * (128 << 10), SLICES * 10);

	assert_int_equal(
		recording_open(&reader, file_at(&t.file), t.file.bytes.n), 0);
	assert_int_equal(recording_read(reader, 1u << RECORD_SLICE, add_up, &n,
					NULL, NULL),
			 0);
	assert_int_equal(n, SLICES);
	recording_close(reader);
	told_end(&t);
}

static void bears_the_largest_numbers_there_are(void **state)
{
	struct record_process process = { .parent = RECORD_NONE,
					  .pid = INT32_MAX,
					  .ns_pid = INT32_MIN,
					  .born_ns = UINT64_MAX,
					  .pid_ns = UINT64_MAX,
					  .uid = UINT32_MAX,
					  .cgroup = UINT32_MAX };
	struct slice big = { .start_ns = UINT64_MAX,
			     .seen = { UINT32_MAX, 2, 3, 10 },
			     .weight = { UINT64_MAX, 1, UINT64_MAX } };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, RECORD_NONE, 1);
	recorder_process(t.rec, &process);
	recorder_slice(t.rec, &big);
	flush(&t, UINT64_MAX);
	expect(&t.file,
	       1u << RECORD_PROCESS | 1u << RECORD_SLICE | 1u << RECORD_TIME,
	       RECORDING_RUNNING,
	       "process 1 (0) of -1, 0 uid 0 ns 0 cgroup 3\n"
	       "process 2147483647 (-2147483648) of -1, 4611686018427387904 "
	       "uid 4294967295 ns 18446744073709551615 cgroup 3\n"
	       "slice 0 4611686018427387904 stack 0 2/3/10 weight "
	       "4611686018427387904 1 4611686018427387904\n"
	       "time 4611686018427387904\n");
	told_end(&t);
}

static void cuts_strings_that_nobody_will_read(void **state)
{
	struct told t;
	char *text = malloc(2 << 20);
	struct result result;
	uint32_t thread;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 2 << 20);
	told_begin(&t, RECORDER_ZLIB);
	thread = add(&t, RECORD_NONE, 1);
	flush(&t, 1);
	recorder_thread_name(t.rec, thread,
			     strtab_id(t.strings, text, 2 << 20));
	flush(&t, 2);
	result = read_kinds(file_at(&t.file), t.file.bytes.n,
			    1u << RECORD_STRING);
	assert_int_equal(result.end, RECORDING_RUNNING);
	assert_in_range(result.text.len, 1 << 20, (1 << 20) + 100);
	result_free(&result);
	told_end(&t);
	free(text);
}

/* --- what goes wrong -------------------------------------------------------- */

static int write_fails(void *ctx, const char *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	++*(int *)ctx;
	return -ENOSPC;
}

static void ends_the_file_when_it_cannot_be_written(void **state)
{
	struct told t;
	int calls = 0;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	add(&t, RECORD_NONE, 1);
	flush(&t, S);
	slice(&t, 0, 0, 0, 1);
	assert_int_equal(recorder_flush(t.rec, 2 * S, write_fails, &calls),
			 -ENOSPC);
	slice(&t, 0, 1, 0, 1);
	recorder_summary(t.rec, "{}", 2);
	recorder_rotate(t.rec, 2 * S);
	assert_int_equal(recorder_process(t.rec, &(struct record_process){ 0 }),
			 RECORD_NONE);
	assert_int_equal(recorder_flush(t.rec, 20 * S, write_fails, &calls),
			 -ENOSPC);
	assert_int_equal(calls, 1);
	assert_int_equal(recorder_size(t.rec), t.file.bytes.n);
	expect(&t.file, 1u << RECORD_TIME, RECORDING_RUNNING,
	       "time 1000000000\n");
	told_end(&t);
}

static void takes_no_summary_that_no_reader_would(void **state)
{
	struct told t;
	int calls = 0;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	recorder_summary(t.rec, "", (size_t)WIRE_SUMMARY_MAX + 1);
	assert_int_equal(recorder_flush(t.rec, S, write_fails, &calls), -E2BIG);
	assert_int_equal(calls, 0);
	told_end(&t);
}

static void is_not_led_astray_by_numbers_that_nobody_has(void **state)
{
	struct record_image image = { .process = 5 };
	struct record_thread thread = { .process = 0, .image = 5 };
	struct record_process_end end = { .process = RECORD_NONE };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	add(&t, 17, 1);
	assert_int_equal(recorder_image(t.rec, &image), 1);
	assert_int_equal(recorder_thread(t.rec, &thread), 1);
	recorder_image_python(t.rec, 1, 0);
	recorder_thread_name(t.rec, 1, 0);
	slice(&t, 1, 0, 0, 1);
	slice(&t, RECORD_NONE, 0, 0, 1);
	recorder_thread_end(t.rec, 1, 0);
	recorder_process_end(t.rec, &end);
	flush(&t, S);
	expect(&t.file, ALL & ~(1u << RECORD_STRING | 1u << RECORD_RUN),
	       RECORDING_RUNNING,
	       "process 1 (0) of -1, 0 uid 0 ns 0 cgroup 3\n"
	       "image of 0 0 3 3\nthread 1 of 0 0 0\ntime 1000000000\n");
	told_end(&t);
}

/* --- rotation --------------------------------------------------------------- */

static void begin_a_file(struct told *t, uint64_t now_ns)
{
	recorder_rotate(t->rec, now_ns);
	assert_int_equal(recorder_size(t->rec), 0);
	t->file.bytes.n = 0;
}

static void defines_anew_what_a_new_file_refers_to(void **state)
{
	struct record_stand stand = { .thread = 1, .start_ns = 500 };
	struct told t;
	uint32_t a;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	a = stack(&t, "ab");
	add(&t, RECORD_NONE, 1);
	add(&t, 0, 2);
	recorder_thread_name(t.rec, 0, name(&t, "main"));
	recorder_image_python(t.rec, 1, name(&t, "3.12"));
	recorder_image_title(t.rec, 1, name(&t, "main"));
	slice(&t, 0, 0, stack(&t, "c"), 9);
	stand.seen.stack = a;
	recorder_stand(t.rec, &stand);
	flush(&t, S);
	begin_a_file(&t, S);
	recorder_stand(t.rec, &stand);
	slice(&t, 0, S, a, 7);
	flush(&t, 2 * S);
	expect(&t.file, ALL, RECORDING_RUNNING,
	       "string host\nstring 1.0\nstring python3 a.py\nstring \n"
	       "run 1000000000000 10000000 1000000000 cpus 2: 0 1 2 3 3\n"
	       "process 1 (0) of -1, 0 uid 0 ns 0 cgroup 3\n"
	       "process 2 (0) of 0, 0 uid 0 ns 0 cgroup 3\n"
	       "image of 0 0 3 3\n"
	       "string 3.12\nimage of 1 0 3 4\nstring main\ntitle 1 5\n"
	       "thread 1 of 0 0 0\nname 0 5\n"
	       "thread 2 of 1 1 0\n"
	       "string a\nstring f.py\nframe 6 7 1\nstack 0 0\n"
	       "string b\nframe 8 7 2\nstack 1 1\n"
	       "stand 1 500 stack 2 0/0/0\n"
	       "slice 0 1000000000 stack 2 1/0/0 weight 7 7 1\n"
	       "time 2000000000\n");
	told_end(&t);
}

static void forgets_who_has_ended_but_for_ancestors(void **state)
{
	struct record_process_end end = { .at_ns = 9, .left = true };
	struct record_image exec = { .process = 3, .at_ns = 8 };
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	add(&t, RECORD_NONE, 100);
	add(&t, 0, 101); /* ends, and leaves 103 behind */
	add(&t, 0, 102); /* ends */
	add(&t, 1, 103);
	recorder_thread_end(t.rec, 3, 8);
	exec.command = name(&t, "new");
	recorder_image(t.rec, &exec);
	/* Here a thread still runs in the one before. */
	exec.process = 0;
	recorder_image(t.rec, &exec);
	end.process = 1;
	recorder_process_end(t.rec, &end);
	end.process = 2;
	recorder_process_end(t.rec, &end);
	flush(&t, S);
	begin_a_file(&t, S);
	/* Nobody hears of these any more. */
	slice(&t, 2, S, 0, 5);
	slice(&t, 3, S, 0, 5);
	assert_int_equal(add(&t, 3, 104), 4);
	assert_int_equal(add(&t, 2, 105), 5);
	slice(&t, 4, S, 0, 6);
	flush(&t, 2 * S);
	expect(&t.file, ALL & ~(1u << RECORD_STRING | 1u << RECORD_RUN),
	       RECORDING_RUNNING,
	       "process 100 (0) of -1, 0 uid 0 ns 0 cgroup 3\n"
	       "process 101 (0) of 0, 0 uid 0 ns 0 cgroup 3\n"
	       "process 103 (0) of 1, 0 uid 0 ns 0 cgroup 3\n"
	       "image of 0 0 3 3\nimage of 1 0 3 3\nimage of 2 8 4 3\n"
	       "image of 0 8 4 3\n"
	       "thread 100 of 0 0 0\n"
	       "process 1 ends 9 verdict 0 1 0 0\n"
	       "process 104 (0) of 2, 0 uid 0 ns 0 cgroup 3\n"
	       "image of 3 0 3 3\nthread 104 of 3 4 0\n"
	       "process 105 (0) of -1, 0 uid 0 ns 0 cgroup 3\n"
	       "image of 4 0 3 3\nthread 105 of 4 5 0\n"
	       "slice 1 1000000000 stack 0 1/0/0 weight 6 6 1\n"
	       "time 2000000000\n");
	told_end(&t);
}

static void will_not_rotate_before_all_is_written(void **state)
{
	struct told t;
	int calls = 0;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	add(&t, RECORD_NONE, 1);
	recorder_rotate(t.rec, S);
	assert_int_equal(recorder_flush(t.rec, S, write_fails, &calls),
			 -EINVAL);
	assert_int_equal(calls, 0);
	told_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_slices_that_go_on_until_the_next_flush),
		cmocka_unit_test(keeps_slices_apart_that_differ_in_their_state),
		cmocka_unit_test(writes_a_thread_s_slices_before_its_end),
		cmocka_unit_test(records_what_stands_only_when_that_is_news),
		cmocka_unit_test(records_names_only_when_they_are_news),
		cmocka_unit_test(says_every_ten_seconds_that_nothing_happened),
		cmocka_unit_test(takes_ten_bytes_for_a_slice_and_many_blocks),
		cmocka_unit_test(bears_the_largest_numbers_there_are),
		cmocka_unit_test(cuts_strings_that_nobody_will_read),
		cmocka_unit_test(ends_the_file_when_it_cannot_be_written),
		cmocka_unit_test(takes_no_summary_that_no_reader_would),
		cmocka_unit_test(is_not_led_astray_by_numbers_that_nobody_has),
		cmocka_unit_test(defines_anew_what_a_new_file_refers_to),
		cmocka_unit_test(forgets_who_has_ended_but_for_ancestors),
		cmocka_unit_test(will_not_rotate_before_all_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
