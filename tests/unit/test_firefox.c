/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

static void writes_a_sample_a_slice_and_one_at_the_end(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:<module>:1;a.py:f:2");
	const struct str *text;

	maker_busy(m, t, 10, 10, f);
	maker_idle(m, t, 20, 10, f, WAIT_GIL);
	maker_busy(m, t, 40, 10, f); /* after a gap */
	text = told_view(told, out_firefox, 50);
	assert_has(text, "\"samples\":{\"stack\":[1,2,null,1,null],"
			 "\"time\":[10,20,30,40,50],"
			 "\"weight\":[10,10,0,10,0],"
			 "\"threadCPUDelta\":[0,10000000,0,0,10000000],"
			 "\"weightType\":\"tracing-ms\",\"length\":5}");
	/* Two rows for one stack: running, and waiting for the lock. */
	assert_has(text, "\"stackTable\":{\"frame\":[0,1,2],"
			 "\"prefix\":[null,0,0],\"length\":3}");
	assert_has(text, "\"category\":[1,1,2],\"subcategory\":[0,0,0],"
			 "\"func\":[0,1,1],");
	assert_has(text, "\"line\":[1,2,2],");
}

static void tells_when_processes_and_threads_lived(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_firefox, p, &query, OUT_WALL);

	assert_has(&text, "\"processName\":\"100 python3 app.py\","
			  "\"name\":\"100 python3 app.py\","
			  "\"isMainThread\":true,\"tid\":100,\"pid\":\"100\","
			  "\"processStartupTime\":0,"
			  "\"processShutdownTime\":2000,\"registerTime\":0,"
			  "\"unregisterTime\":2000,");
	assert_has(&text, "\"isMainThread\":false,\"tid\":110,\"pid\":\"100\","
			  "\"processStartupTime\":0,"
			  "\"processShutdownTime\":2000,\"registerTime\":100,");
	/* 103 lives on. */
	assert_has(&text, "\"pid\":\"103\",\"processStartupTime\":200,"
			  "\"processShutdownTime\":null,\"registerTime\":200,"
			  "\"unregisterTime\":null,");
	/* The second 101. */
	assert_has(&text, "\"tid\":\"101#6\",\"pid\":\"101.2\","
			  "\"processStartupTime\":1000,");
	assert_has(&text, "\"startTime\":1700000000000,");
	assert_utf8(&text);
	str_free(&text);
}

static void weighs_what_the_history_weighs(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text;

	text = timeline_view(out_firefox, p, &query, OUT_WALL);
	assert_true(timeline_sum_arrays(text.at, "\"weight\":[") * 1e6 ==
		    (double)p->h->total.wall_ns);
	assert_true(timeline_sum_arrays(text.at, "\"threadCPUDelta\":[") ==
		    (double)p->h->total.cpu_ns);
	assert_true(timeline_sum_arrays(text.at, "\"count\":[") ==
		    (double)p->h->total.cpu_ns);
	str_free(&text);
	text = timeline_view(out_firefox, p, &query, OUT_CPU);
	assert_true(timeline_sum_arrays(text.at, "\"weight\":[") * 1e6 ==
		    (double)p->h->total.cpu_ns);
	str_free(&text);
	text = timeline_view(out_firefox, p, &query, OUT_GIL);
	assert_true(timeline_sum_arrays(text.at, "\"weight\":[") * 1e6 ==
		    (double)p->h->gil_ns);
	str_free(&text);
	text = timeline_view(out_firefox, p, &query, OUT_SAMPLES);
	assert_true(timeline_sum_arrays(text.at, "\"weight\":[") ==
		    (double)p->h->total.samples);
	assert_has(&text, "\"weightType\":\"samples\"");
	str_free(&text);
}

static void marks_births_execs_and_ends(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_firefox, p, &query, OUT_WALL);

	/* The parent's children, the oldest first, its own end, its wait. */
	assert_has(&text, "\"data\":["
			  "{\"type\":\"fork\",\"pid\":\"101\","
			  "\"command\":\"python3 app.py\"},"
			  "{\"type\":\"fork\",\"pid\":\"102\","
			  "\"command\":\"python3 app.py\"},"
			  "{\"type\":\"fork\",\"pid\":\"103\","
			  "\"command\":\"python3 app.py\"},"
			  "{\"type\":\"fork\",\"pid\":\"104\","
			  "\"command\":\"python3 app.py\"},"
			  "{\"type\":\"exit\",\"status\":\"exit 0\"},"
			  "{\"type\":\"idle\",\"wait\":\"process\"}],");
	assert_has(&text, "\"startTime\":[100,100,200,300,2000,100],"
			  "\"endTime\":[null,null,null,null,null,2000],"
			  "\"phase\":[0,0,0,0,0,1],"
			  "\"category\":[0,0,0,0,0,4],\"length\":6}");
	assert_has(&text, "{\"type\":\"exec\",\"pid\":\"104\","
			  "\"command\":\"/bin/sh -c x\"}");
	assert_has(&text, "{\"type\":\"exit\",\"status\":\"signal 9\"}");
	str_free(&text);
}

static void makes_one_marker_of_a_wait_on_several_stacks(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	uint32_t g = maker_stack(m, "a.py:g:3");
	const struct str *text;

	maker_idle(m, t, 0, 10, f, WAIT_PIPE);
	maker_idle(m, t, 10, 10, g, WAIT_PIPE);
	maker_idle(m, t, 20, 10, g, WAIT_SOCKET);
	maker_flush(m, 30); /* or the next would be joined to it */
	maker_idle(m, t, 40, 10, g, WAIT_SOCKET);
	maker_idle(m, t, 50, 10, g, WAIT_GIL);
	text = told_view(told, out_firefox, 60);
	assert_has(text, "\"data\":[{\"type\":\"idle\",\"wait\":\"pipe\"},"
			 "{\"type\":\"idle\",\"wait\":\"socket\"},"
			 "{\"type\":\"idle\",\"wait\":\"socket\"},"
			 "{\"type\":\"gil\"}],");
	assert_has(text, "\"startTime\":[0,20,40,50],"
			 "\"endTime\":[20,30,50,60],");
	/* Idle frames say what for; those of the lock have their category. */
	assert_has(text, "\"category\":[4,4,4,2],"
			 "\"subcategory\":[3,3,4,0],");
}

static void counts_the_cpu_time_of_a_process_by_steps(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	const struct str *text;

	maker_busy(m, t, 10, 20, f);
	maker_idle(m, t, 30, 30, f, WAIT_PIPE);
	text = told_view(told, out_firefox, 60);
	assert_has(text, "\"pid\":\"100\",\"mainThreadIndex\":0,"
			 "\"samples\":{\"time\":[0,20,40,60,80],"
			 "\"count\":[0,10000000,10000000,0,0],"
			 "\"length\":5}");
}

static void has_one_main_thread_a_process_after_an_exec(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	uint32_t f = maker_stack(m, "a.py:f:2");
	uint32_t image;
	const struct str *text;

	maker_busy(m, t, 0, 10, f);
	image = maker_image(m, 0, 10, "python3 b.py", "3.12.0");
	t = maker_thread(m, 0, image, 100, 10, "Main");
	maker_busy(m, t, 10, 10, f);
	text = told_view(told, out_firefox, 20);
	assert_int_equal(timeline_count(text->at, "\"pid\":\"100\",\"proc"), 2);
	assert_int_equal(timeline_count(text->at, "\"isMainThread\":true"), 1);
	assert_has(text, "\"name\":\"100 python3 a.py\","
			 "\"isMainThread\":true,\"tid\":100,");
	assert_has(text, "\"name\":\"100 Main\",\"isMainThread\":false,"
			 "\"tid\":\"100 Main#1\",");
}

static void gives_a_stack_without_frames_one_that_says_so(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;

	maker_busy(m, t, 0, 10, STACKS_EMPTY);
	text = told_view(told, out_firefox, 10);
	assert_has(text, "\"stack\":[0,null]");
	assert_has(text, "\"(no frames)\",\"fork\",\"exec\",\"exit\","
			 "\"GIL wait\",\"idle\"],");
	assert_has(text, "\"source\":[null],");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(writes_a_sample_a_slice_and_one_at_the_end),
		SMALL(tells_when_processes_and_threads_lived),
		SMALL(weighs_what_the_history_weighs),
		SMALL(marks_births_execs_and_ends),
		TOLD(makes_one_marker_of_a_wait_on_several_stacks),
		TOLD(counts_the_cpu_time_of_a_process_by_steps),
		TOLD(has_one_main_thread_a_process_after_an_exec),
		TOLD(gives_a_stack_without_frames_one_that_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
