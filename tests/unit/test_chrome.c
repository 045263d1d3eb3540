/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

static void merges_a_call_over_slices_whatever_its_line(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 10, 10, maker_stack(m, "a.py:main:1;a.py:f:2"));
	maker_busy(m, t, 20, 10, maker_stack(m, "a.py:main:1;a.py:f:3"));
	maker_idle(m, t, 30, 10, maker_stack(m, "a.py:main:1"), WAIT_PIPE);
	text = told_view(told, out_chrome, 40);
	assert_string_equal(
		text->at,
		"{\"displayTimeUnit\":\"ms\",\"otherData\":"
		"{\"exporter\":\"forkflame\",\"title\":\"t\"},"
		"\"traceEvents\":[\n"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,"
		"\"tid\":100,\"args\":{\"name\":\"100 python3 a.py\"}},\n"
		"{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":100,"
		"\"tid\":100,\"args\":{\"sort_index\":0}},\n"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":100,"
		"\"tid\":100,\"args\":{\"name\":\"100 Main\"}},\n"
		"{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":10000,"
		"\"dur\":30000,\"name\":\"main\",\"args\":{\"file\":\"a.py\","
		"\"line\":1,\"self_wall_us\":10000,\"self_cpu_us\":0,"
		"\"self_samples\":1}},\n"
		"{\"ph\":\"X\",\"pid\":100,\"tid\":100,\"ts\":10000,"
		"\"dur\":20000,\"name\":\"f\",\"args\":{\"file\":\"a.py\","
		"\"self_wall_us\":20000,\"self_cpu_us\":20000,"
		"\"self_samples\":2}}]}\n");
}

static void tells_functions_of_one_file_apart(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 0, 10, maker_stack(m, "a.py:f:2"));
	maker_busy(m, t, 10, 10, maker_stack(m, "a.py:g:2"));
	maker_busy(m, t, 20, 10, maker_stack(m, "b.py:g:2"));
	text = told_view(told, out_chrome, 30);
	assert_int_equal(timeline_count(text->at, "\"ph\":\"X\""), 3);
}

static void ends_calls_where_there_is_a_gap(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	const struct str *text;

	maker_busy(m, t, 0, 10, f);
	maker_flush(m, 10); /* or they would be one slice */
	maker_busy(m, t, 20, 10, f);
	text = told_view(told, out_chrome, 30);
	assert_has(text, "\"ts\":0,\"dur\":10000");
	assert_has(text, "\"ts\":20000,\"dur\":10000");
}

static void tells_recursion_from_one_call(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 0, 10, maker_stack(m, "a.py:f:2"));
	maker_busy(m, t, 10, 10, maker_stack(m, "a.py:f:2;a.py:f:2"));
	text = told_view(told, out_chrome, 20);
	assert_has(text, "\"ts\":0,\"dur\":20000");
	assert_has(text, "\"ts\":10000,\"dur\":10000");
	assert_int_equal(timeline_count(text->at, "\"ph\":\"X\""), 2);
}

static void keeps_nanoseconds(void **state)
{
	struct slice slice = {
		.start_ns = 1001,
		.seen = { .run = RUN_ON_CPU },
		.weight = { .wall_ns = 2050, .cpu_ns = 7, .samples = 1 }
	};
	struct told *told = *state;
	struct maker *m = &told->m;
	const struct str *text;

	slice.thread = told->thread;
	slice.seen.stack = maker_stack(m, "a.py:f:2");
	maker_slice(m, &slice);
	text = told_view(told, out_chrome, 10);
	/* Exact as doubles, so that no end lies behind the next beginning. */
	assert_has(text, "\"ts\":1,\"dur\":2,");
	assert_has(text, "\"self_wall_us\":2.05,\"self_cpu_us\":0.007,");
}

/* Is there a call of @name... in an event that has @part before it? */
static bool has_call(const struct str *text, const char *part, const char *name)
{
	char call[40];
	const char *at = text->at, *end;

	(void)snprintf(call, sizeof(call), ",\"name\":\"%s", name);
	for (; (at = strstr(at, "{\"ph\":\"X\"")); at = end) {
		const char *found = strstr(at, part);
		const char *named = strstr(at, call);

		end = strchr(at, '\n');
		end = end ? end : text->at + text->len;
		if (found && named && found < named && named < end)
			return true;
	}
	return false;
}

/* The place of the event of a call; each is there once. */
static const char *event_of(const struct str *text, const char *name)
{
	char part[40];
	const char *at;

	(void)snprintf(part, sizeof(part), ",\"name\":\"%s\",\"args\"", name);
	at = strstr(text->at, part);
	assert_non_null(at);
	assert_null(strstr(at + 1, part));
	return at;
}

static void puts_a_caller_before_what_began_with_it(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	/* All but h and i began with their callers, and ended before them. */
	maker_busy(m, t, 0, 10, maker_stack(m, "a.py:a:1;a.py:b:1;a.py:c:1"));
	maker_busy(m, t, 10, 10, maker_stack(m, "a.py:a:1;a.py:b:1"));
	maker_busy(m, t, 20, 10, maker_stack(m, "a.py:a:1;a.py:h:1"));
	maker_busy(m, t, 30, 10, maker_stack(m, "a.py:a:1;a.py:i:1;a.py:j:1"));
	maker_busy(m, t, 40, 10, maker_stack(m, "a.py:a:1;a.py:i:1"));
	text = told_view(told, out_chrome, 50);
	assert_true(event_of(text, "a") < event_of(text, "b"));
	assert_true(event_of(text, "b") < event_of(text, "c"));
	assert_true(event_of(text, "i") < event_of(text, "j"));
	assert_has(text, "\"ts\":20000,\"dur\":10000,\"name\":\"h\"");
	assert_has(text, "\"ts\":30000,\"dur\":20000,\"name\":\"i\"");
}

static void loses_no_call_that_takes_no_time(void **state)
{
	struct slice slice = { .weight = { .wall_ns = 30, .samples = 1 } };
	struct told *told = *state;
	struct maker *m = &told->m;
	const struct str *text;

	slice.thread = told->thread;
	for (int i = 0; i < 4; i++) {
		static const char *const stacks[] = {
			"a.py:a:1;a.py:b:1;a.py:c:1", "a.py:a:1;a.py:d:1",
			"a.py:a:1;a.py:e:1;a.py:f:1", "a.py:a:1"
		};

		slice.seen.stack = maker_stack(m, stacks[i]);
		maker_slice(m, &slice);
		slice.start_ns += 30;
	}
	text = told_view(told, out_chrome, 10);
	for (const char *name = "abcdef"; *name; name++)
		(void)event_of(text, (const char[]){ *name, '\0' });
	assert_true(timeline_sum(text->at, "\"self_samples\":") == 4);
}

static void tells_threads_apart_that_begin_and_end_together(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t other = maker_thread(m, 0, 0, 101, 0, "Other");
	const struct str *text;

	maker_busy(m, told->thread, 0, 10, maker_stack(m, "a.py:a:1"));
	maker_busy(m, other, 0, 10, maker_stack(m, "a.py:b:1"));
	text = told_view(told, out_chrome, 10);
	assert_true(has_call(text, "\"tid\":100,", "a\""));
	assert_true(has_call(text, "\"tid\":101,", "b\""));
	assert_false(has_call(text, "\"tid\":101,", "a\""));
	assert_false(has_call(text, "\"tid\":100,", "b\""));
}

static void weighs_what_the_history_weighs(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_chrome, p, &query, OUT_WALL);

	assert_true(timeline_sum(text.at, "\"self_wall_us\":") * 1000 ==
		    (double)p->h->total.wall_ns);
	assert_true(timeline_sum(text.at, "\"self_cpu_us\":") * 1000 ==
		    (double)p->h->total.cpu_ns);
	assert_true(timeline_sum(text.at, "\"self_samples\":") ==
		    (double)p->h->total.samples);
	assert_utf8(&text);
	str_free(&text);
}

static void gives_a_pid_that_is_used_again_a_number_of_its_own(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_chrome, p, &query, OUT_WALL);

	/* 101 + 2^22, its main thread likewise. */
	assert_has(&text, "\"name\":\"process_name\",\"pid\":4194405,"
			  "\"tid\":4194405,"
			  "\"args\":{\"name\":\"101 (2) python3 evil.py");
	assert_has(&text, "{\"ph\":\"X\",\"pid\":4194405,\"tid\":4194405,");
	/* The first one, of which only `work` and `get` were seen. */
	assert_has(&text, "{\"ph\":\"X\",\"pid\":101,\"tid\":101,");
	assert_false(has_call(&text, "\"pid\":101,", "na"));
	assert_true(has_call(&text, "\"pid\":101,", "work"));
	str_free(&text);
}

static void tells_of_births_execs_and_ends(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_chrome, p, &query, OUT_WALL);

	assert_has(&text, "{\"ph\":\"i\",\"name\":\"fork\",\"pid\":100,"
			  "\"tid\":100,\"s\":\"p\",\"ts\":100000,"
			  "\"args\":{\"pid\":101,"
			  "\"command\":\"python3 app.py\"}}");
	assert_has(&text, "{\"ph\":\"i\",\"name\":\"exec\",\"pid\":104,"
			  "\"tid\":104,\"s\":\"p\",\"ts\":500000,"
			  "\"args\":{\"pid\":104,"
			  "\"command\":\"/bin/sh -c x\"}}");
	assert_has(&text, "\"ts\":900000,"
			  "\"args\":{\"pid\":101,\"status\":\"exit 1\"}}");
	assert_has(&text, "\"ts\":1500000,"
			  "\"args\":{\"pid\":102,\"status\":\"signal 9\"}}");
	/* 103 lives on. */
	assert_int_equal(timeline_count(text.at, "\"exit\""), 5);
	str_free(&text);
}

static void leaves_out_what_happened_at_other_times(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text;

	query.since_ns = 1000 * PAST_MS;
	query.until_ns = 1400 * PAST_MS;
	text = timeline_view(out_chrome, p, &query, OUT_WALL);
	assert_int_equal(timeline_count(text.at, "\"fork\""), 1);
	assert_int_equal(timeline_count(text.at, "\"exit\""), 1);
	str_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(merges_a_call_over_slices_whatever_its_line),
		TOLD(tells_functions_of_one_file_apart),
		TOLD(ends_calls_where_there_is_a_gap),
		TOLD(tells_recursion_from_one_call),
		TOLD(keeps_nanoseconds),
		TOLD(puts_a_caller_before_what_began_with_it),
		TOLD(loses_no_call_that_takes_no_time),
		TOLD(tells_threads_apart_that_begin_and_end_together),
		SMALL(weighs_what_the_history_weighs),
		SMALL(gives_a_pid_that_is_used_again_a_number_of_its_own),
		SMALL(tells_of_births_execs_and_ends),
		SMALL(leaves_out_what_happened_at_other_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
