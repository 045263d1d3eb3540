/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "timelinetest.h"

static void tells_a_run_from_meta_to_summary(void **state)
{
	struct told *told = *state;
	struct maker *m = &told->m;
	uint32_t t = told->thread;
	const struct str *text;
	char *rest, *roles, *end;

	maker_busy(m, t, 10, 10, maker_stack(m, "a.py:<module>:1;a.py:f:2"));
	maker_process_end(m, 0, 20, 1, 3 << 8);
	text = told_view(told, out_jsonl, 20);
	assert_has(text,
		   "{\"type\":\"meta\",\"format\":\"forkflame-jsonl\","
		   "\"version\":1,\"processes\":1,\"threads\":1,\"runs\":["
		   "{\"host\":\"host\",\"title\":\"python3 app.py\","
		   "\"forkflame\":\"0.1.0\",\"events\":\"connector\","
		   "\"oncpu\":\"switches\",\"cpus\":4,"
		   "\"interval_ns\":10000000,"
		   "\"start_unix_ns\":1700000000000000000,\"start_ns\":0,"
		   "\"end_ns\":20000000,\"end\":\"running\",\"bytes\":");
	rest = strchr(text->at, '\n');
	assert_non_null(rest);
	/* The roles have a test of their own. */
	roles = strstr(rest, "{\"type\":\"roles\"");
	assert_non_null(roles);
	end = strchr(roles, '\n') + 1;
	memmove(roles, end, strlen(end) + 1);
	assert_string_equal(
		rest, "\n"
		      "{\"type\":\"process\",\"process\":0,\"pid\":100,"
		      "\"ppid\":null,\"parent\":null,\"run\":0,\"born_ns\":0,"
		      "\"before\":false,\"command\":\"python3 a.py\","
		      "\"python\":\"3.11.2\",\"uid\":1000}\n"
		      "{\"type\":\"frame\",\"id\":0,"
		      "\"function\":\"\\u003cmodule\\u003e\",\"file\":\"a.py\","
		      "\"line\":1}\n"
		      "{\"type\":\"frame\",\"id\":1,\"function\":\"f\","
		      "\"file\":\"a.py\",\"line\":2}\n"
		      "{\"type\":\"stack\",\"id\":2,\"frames\":[0,1]}\n"
		      "{\"type\":\"slice\",\"process\":0,\"pid\":100,"
		      "\"ppid\":null,\"tid\":100,\"thread\":\"Main\","
		      "\"start_ns\":10000000,\"wall_ns\":10000000,"
		      "\"cpu_ns\":10000000,\"samples\":1,\"state\":\"cpu\","
		      "\"gil\":\"held\",\"wait\":null,\"stack\":2}\n"
		      "{\"type\":\"end\",\"process\":0,\"pid\":100,"
		      "\"at_ns\":20000000,\"left\":true,\"exit\":3,"
		      "\"signal\":null,\"verdict\":\"sampled\"}\n"
		      "{\"type\":\"summary\",\"slices\":1,\"wall_ns\":10000000,"
		      "\"cpu_ns\":10000000,\"samples\":1,\"gil_ns\":10000000,"
		      "\"end_ns\":20000000,\"counts\":[null]}\n");
}

/* Each line is an object that is opened and closed in it. */
static void assert_lines(const struct str *text)
{
	const char *line = text->at, *end;

	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_true(end > line && line[0] == '{' && end[-1] == '}');
		assert_memory_equal(line, "{\"type\":\"", 9);
	}
}

static void weighs_what_the_history_weighs(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_jsonl, p, &query, OUT_WALL);
	char *summary = strstr(text.at, "{\"type\":\"summary\"");
	char *roles;
	char expected[200];

	assert_lines(&text);
	assert_utf8(&text);
	assert_non_null(summary);
	snprintf(expected, sizeof(expected),
		 "{\"type\":\"summary\",\"slices\":%" PRIu64
		 ",\"wall_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
		 ",\"samples\":%" PRIu64 ",\"gil_ns\":%" PRIu64 ",",
		 p->h->slices, p->h->total.wall_ns, p->h->total.cpu_ns,
		 p->h->total.samples, p->h->gil_ns);
	assert_memory_equal(summary, expected, strlen(expected));
	/* Before it are the roles, whose weights are these once more. */
	roles = strstr(text.at, "{\"type\":\"roles\",\"roles\":[{");
	assert_non_null(roles);
	assert_true(roles < summary);
	*roles = '\0';
	assert_true(timeline_sum(text.at, "\"wall_ns\":") ==
		    (double)p->h->total.wall_ns);
	assert_true(timeline_sum(text.at, "\"cpu_ns\":") ==
		    (double)p->h->total.cpu_ns);
	assert_true(timeline_sum(text.at, "\"samples\":") ==
		    (double)p->h->total.samples);
	str_free(&text);
}

static void assert_before(const struct str *text, const char *a, const char *b)
{
	const char *at = strstr(text->at, a);

	if (!at || !strstr(at, b))
		fail_msg("no %s before %s", a, b);
}

static void defines_before_it_uses(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_jsonl, p, &query, OUT_WALL);

	assert_before(&text, "{\"type\":\"process\",\"process\":5,\"pid\":101,",
		      "{\"type\":\"slice\",\"process\":5,\"pid\":101,");
	assert_before(&text, "{\"type\":\"stack\",\"id\":9,", "\"stack\":9}");
	assert_before(&text, "{\"type\":\"frame\",\"id\":8,",
		      "{\"type\":\"stack\",\"id\":9,\"frames\":[8]}");
	/* What happened before a slice begins stands before it. */
	assert_before(&text, "{\"type\":\"note\"", "\"start_ns\":1400000000");
	assert_before(&text, "\"start_ns\":1000000000", "{\"type\":\"note\"");
	/* Once each. */
	assert_int_equal(timeline_count(text.at, "{\"type\":\"process\""), 6);
	assert_int_equal(
		timeline_count(text.at, "\"type\":\"stack\",\"id\":9,"), 1);
	str_free(&text);
}

static void tells_of_execs_ends_and_notes(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	struct str text = timeline_view(out_jsonl, p, &query, OUT_WALL);

	assert_has(&text, "{\"type\":\"exec\",\"process\":4,\"pid\":104,"
			  "\"at_ns\":500000000,\"command\":\"/bin/sh -c x\","
			  "\"python\":\"\"}\n");
	assert_has(&text, "{\"type\":\"end\",\"process\":2,\"pid\":102,"
			  "\"at_ns\":1500000000,\"left\":true,\"exit\":null,"
			  "\"signal\":9,\"verdict\":\"sampled\"}\n");
	assert_has(&text, "{\"type\":\"end\",\"process\":3,\"pid\":103,"
			  "\"at_ns\":2000000000,\"left\":false,\"exit\":null,"
			  "\"signal\":null,");
	assert_has(&text, "{\"type\":\"note\",\"kind\":\"lost\","
			  "\"at_ns\":1250000000,\"value\":3}\n");
	assert_has(&text, "\"ns_pid\":7,\"pid_ns\":4026532000}");
	assert_has(&text, "\"cgroup\":\"/system.slice/app.service\"}");
	/* The run's own counts, as a string. */
	assert_has(&text, "\"counts\":[\"{\\u0022version\\u0022:");
	str_free(&text);
}

static void tells_only_of_what_is_asked_for(void **state)
{
	const struct past *p = *state;
	struct query query = QUERY_ALL;
	const int32_t pid = 104;
	struct str text;

	query.pids = &pid;
	query.n_pids = 1;
	text = timeline_view(out_jsonl, p, &query, OUT_WALL);
	assert_int_equal(timeline_count(text.at, "{\"type\":\"process\""), 1);
	assert_int_equal(timeline_count(text.at, "{\"type\":\"slice\""), 1);
	assert_int_equal(timeline_count(text.at, "{\"type\":\"frame\""), 3);
	assert_has(&text, "\"wall_ns\":200000000,\"cpu_ns\":200000000,"
			  "\"samples\":20,\"gil_ns\":");
	str_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD(tells_a_run_from_meta_to_summary),
		SMALL(weighs_what_the_history_weighs),
		SMALL(defines_before_it_uses),
		SMALL(tells_of_execs_ends_and_notes),
		SMALL(tells_only_of_what_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
