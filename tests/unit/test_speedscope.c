/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

/* The weights of stacks that are not empty, over all profiles. */
static double own_weights(const char *text)
{
	double sum = 0;

	while ((text = strstr(text, "\"samples\":["))) {
		const char *sample = text + strlen("\"samples\":[");
		const char *weight = strstr(sample, "\"weights\":[") +
				     strlen("\"weights\":[");

		while (*sample == '[') {
			char *end;
			double w = strtod(weight, &end);

			assert_true(end > weight);
			if (sample[1] != ']')
				sum += w;
			weight = end + 1;
			sample = strchr(sample, ']') + 1;
			sample += *sample == ',';
		}
		/* There are as many weights as samples. */
		assert_true(weight[-1] == ']');
		text = weight;
	}
	return sum;
}

static void writes_a_profile_a_thread_on_one_time_axis(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 10, 20, maker_stack(m, "a.py:<module>:1;a.py:f:2"));
	maker_idle(m, t, 40, 10, maker_stack(m, "a.py:<module>:1"), WAIT_PIPE);
	text = told_view(told, out_speedscope, 50);
	assert_string_equal(
		text->at,
		"{\"$schema\":"
		"\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"forkflame\",\"name\":\"t\",\"profiles\":["
		"{\"type\":\"sampled\","
		"\"name\":\"100 python3 a.py / 100 Main\","
		"\"unit\":\"nanoseconds\","
		"\"samples\":[[],[1,2],[],[1]],"
		"\"weights\":[10000000,20000000,10000000,10000000],"
		"\"startValue\":0,\"endValue\":50000000}],"
		"\"shared\":{\"frames\":[{\"name\":\"(no frames)\"},"
		"{\"name\":\"\\u003cmodule\\u003e\",\"file\":\"a.py\","
		"\"line\":1},"
		"{\"name\":\"f\",\"file\":\"a.py\",\"line\":2}]},"
		"\"activeProfileIndex\":0}\n");
}

static void lets_a_slice_reach_back_into_the_gap_that_it_was_given(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	uint32_t g = maker_stack(m, "a.py:g:3");
	const struct str *text;

	maker_busy(m, t, 0, 10, f);
	/* Stood from 20 to 30, and weighs 20: until 10 somebody else did. */
	maker_busy(m, t, 20, 20, g);
	maker_busy(m, t, 30, 10, f);
	text = told_view(told, out_speedscope, 40);
	assert_has(text, "\"samples\":[[1],[2],[1]],"
			 "\"weights\":[10000000,20000000,10000000]");
}

static void comes_back_to_the_axis_after_a_slice_without_room(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	uint32_t g = maker_stack(m, "a.py:g:3");
	const struct str *text;

	maker_busy(m, t, 10, 30, f); /* stood for 10 only, no gap before */
	maker_busy(m, t, 20, 10, g);
	maker_busy(m, t, 60, 10, f);
	text = told_view(told, out_speedscope, 70);
	/* 0 to 30, 30 to 40, a gap up to 60. */
	assert_has(text, "\"weights\":[30000000,10000000,20000000,10000000]");
}

static void weighs_what_the_history_weighs(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text;

	text = timeline_view(out_speedscope, p, &query, OUT_WALL);
	assert_true(own_weights(text.at) == (double)p->h->total.wall_ns);
	str_free(&text);
	text = timeline_view(out_speedscope, p, &query, OUT_CPU);
	assert_true(own_weights(text.at) == (double)p->h->total.cpu_ns);
	str_free(&text);
	text = timeline_view(out_speedscope, p, &query, OUT_GIL);
	assert_true(own_weights(text.at) == (double)p->h->gil_ns);
	str_free(&text);
	text = timeline_view(out_speedscope, p, &query, OUT_SAMPLES);
	assert_true(own_weights(text.at) == (double)p->h->total.samples);
	assert_has(&text, "\"unit\":\"none\"");
	str_free(&text);
}

static void keeps_the_axis_when_only_cpu_time_weighs(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_speedscope, p, &query, OUT_CPU);

	/* 102 lives from 100 to 1500 and has 900 ms in `work`. */
	assert_has(&text, "\"name\":\"102 python3 app.py / 102 MainThread\","
			  "\"unit\":\"nanoseconds\",\"samples\":[[],[1,2,13],"
			  "[]],\"weights\":[100000000,900000000,500000000],"
			  "\"startValue\":0,\"endValue\":1500000000}");
	str_free(&text);
}

static void tells_processes_with_one_pid_apart(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_speedscope, p, &query, OUT_WALL);

	assert_has(&text, "\"name\":\"101 python3 app.py / 101 MainThread\"");
	assert_has(&text, "\"name\":\"101 (2) python3 evil.py a;b "
			  "\\u003cb\\u003e\\u0026");
	assert_int_equal(timeline_count(text.at, "\"type\":\"sampled\""), 7);
	/* The one with the most CPU time is shown first. */
	assert_has(&text, "\"activeProfileIndex\":4}");
	assert_utf8(&text);
	str_free(&text);
}

static void begins_the_axis_at_the_time_that_is_asked_for(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	const int32_t pid = 103;
	struct str text;

	query.pids = &pid;
	query.n_pids = 1;
	query.since_ns = 600 * PAST_MS;
	query.until_ns = 700 * PAST_MS;
	text = timeline_view(out_speedscope, p, &query, OUT_WALL);
	assert_has(&text, "\"weights\":[100000000],\"startValue\":0,"
			  "\"endValue\":100000000}]");
	str_free(&text);
}

static void shows_frames_as_the_query_wants_them(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text;

	query.frames = FRAMES_FILES;
	text = timeline_view(out_speedscope, p, &query, OUT_WALL);
	assert_has(&text, "{\"name\":\"app.py\",\"file\":\"app.py\"}");
	assert_has_not(&text, "\"line\"");
	str_free(&text);
}

static void writes_a_file_for_a_history_without_anything(void **state)
{
	struct query query = QUERY_ALL;
	struct past p = { .h = history_new() };
	struct str text;

	(void)state;
	assert_non_null(p.h);
	text = timeline_view(out_speedscope, &p, &query, OUT_WALL);
	assert_has(&text, "\"profiles\":[],\"shared\"");
	str_free(&text);
	past_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(writes_a_profile_a_thread_on_one_time_axis),
		TOLD(lets_a_slice_reach_back_into_the_gap_that_it_was_given),
		TOLD(comes_back_to_the_axis_after_a_slice_without_room),
		SMALL(weighs_what_the_history_weighs),
		SMALL(keeps_the_axis_when_only_cpu_time_weighs),
		SMALL(tells_processes_with_one_pid_apart),
		SMALL(begins_the_axis_at_the_time_that_is_asked_for),
		SMALL(shows_frames_as_the_query_wants_them),
		cmocka_unit_test(writes_a_file_for_a_history_without_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
