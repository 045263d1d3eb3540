/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "pasttest.h"
#include "viewtest.h"

static const char *callgrind(struct viewtest *v, enum out_value value,
			     const char *title)
{
	struct out_options options = { .value = value, .title = title };

	str_clear(&v->text);
	assert_int_equal(out_callgrind(v->agg, &options, view_write, &v->text),
			 0);
	return v->text.at;
}

/* What follows the header: the functions. */
static const char *body(const char *text)
{
	const char *end = strstr(text, "\n\n");

	assert_non_null(end);
	return end + 2;
}

static void tells_costs_by_line_and_calls_with_what_they_cost(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:3", 10);
	view_stack(v, entry, "a.py:main:5", 20);
	view_stack(v, entry, "a.py:main:5;b.py:work:7", 40);
	assert_string_equal(
		callgrind(v, OUT_WALL, "p x"),
		"# callgrind format\n"
		"version: 1\n"
		"creator: forkflame " PACKAGE_VERSION "\n"
		"cmd: p x\n"
		"desc: Calls: samples, since calls are not counted\n"
		"positions: line\n"
		"events: Wall_us CPU_us Samples\n"
		"summary: 70000 35000 7\n"
		"\n"
		"fl=(1) ???\n"
		"fn=(1) 1: p\n"
		"cfl=(3) a.py\n"
		"cfn=(2) main\n"
		"calls=7 0\n"
		"0 70000 35000 7\n"
		"\n"
		"fl=(3)\n"
		"fn=(2)\n"
		"3 10000 5000 1\n"
		"5 20000 10000 2\n"
		"cfl=(5) b.py\n"
		"cfn=(3) work\n"
		"calls=4 0\n"
		"5 40000 20000 4\n"
		"\n"
		"fl=(5)\n"
		"fn=(3)\n"
		"7 40000 20000 4\n");
}

static void puts_the_weight_that_was_asked_for_first(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:3", 10);
	assert_non_null(strstr(callgrind(v, OUT_SAMPLES, NULL),
			       "events: Samples Wall_us CPU_us\n"
			       "summary: 1 10000 5000\n"));
	aggregate_charge(v->agg, entry, (struct weight){ .wall_ns = 2000 },
			 2000);
	assert_non_null(strstr(callgrind(v, OUT_GIL, NULL),
			       "events: GIL_us Wall_us CPU_us Samples\n"
			       "summary: 2 10002 5000 1\n"));
}

static void keeps_processes_apart_as_objects(void **state)
{
	struct viewtest *v = *state;

	view_stack(v, view_entry(v, "1: p"), "a.py:main:3", 10);
	view_stack(v, view_entry(v, "2: p"), "a.py:main:3", 30);
	assert_string_equal(body(callgrind(v, OUT_SAMPLES, NULL)),
			    "ob=(2) 1: p\n"
			    "fl=(1) ???\n"
			    "fn=(1) 1: p\n"
			    "cfl=(3) a.py\n"
			    "cfn=(2) main\n"
			    "calls=1 0\n"
			    "0 1 10000 5000\n"
			    "\n"
			    "fl=(3)\n"
			    "fn=(2)\n"
			    "3 1 10000 5000\n"
			    "\n"
			    "ob=(5) 2: p\n"
			    "fl=(1)\n"
			    "fn=(3) 2: p\n"
			    "cfl=(3)\n"
			    "cfn=(4) main\n"
			    "calls=3 0\n"
			    "0 3 30000 15000\n"
			    "\n"
			    "fl=(3)\n"
			    "fn=(4)\n"
			    "3 3 30000 15000\n");
}

/* The first event's cost of a function, added up as a reader does it. */
static uint64_t inclusive(const char *text, unsigned function)
{
	uint64_t sum = 0;
	unsigned at = 0;
	uint64_t cost;

	for (text = body(text); text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, "fn=(", 4))
			at = (unsigned)strtoul(text + 4, NULL, 10);
		if (at == function && sscanf(text, "%*d %" SCNu64, &cost) == 1)
			sum += cost;
	}
	return sum;
}

static void counts_a_stack_once_however_a_function_recurs(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");
	const char *text;

	view_stack(v, entry, "a.py:f:1;a.py:f:2;a.py:f:3", 10);
	view_stack(v, entry, "a.py:f:1;a.py:g:9;a.py:f:2;a.py:g:9", 100);
	text = callgrind(v, OUT_WALL, NULL);
	assert_non_null(strstr(text, "fn=(1) 1: p\n"));
	assert_non_null(strstr(text, "cfn=(2) f\n"));
	assert_non_null(strstr(text, "cfn=(3) g\n"));
	assert_int_equal(inclusive(text, 1), 110000);
	assert_int_equal(inclusive(text, 2), 110000);
	assert_int_equal(inclusive(text, 3), 100000);
}

static void gives_each_name_once(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:1;b.py:work:2", 10);
	view_stack(v, entry, "a.py:main:1;b.py:work:3;a.py:main:4", 10);
	view_stack(v, entry, "b.py:work:5", 10);
	callgrind(v, OUT_WALL, NULL);
	assert_int_equal(view_count(v, ") main\n"), 1);
	assert_int_equal(view_count(v, ") work\n"), 1);
	assert_int_equal(view_count(v, ") a.py\n"), 1);
	assert_int_equal(view_count(v, ") b.py\n"), 1);
}

static void keeps_names_on_their_line_and_never_empty(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: a\nfn=(9) b");

	view_stack(v, entry, "x\n.py::1", 10);
	callgrind(v, OUT_WALL, "a\r\nb");
	assert_true(view_has(v, "cmd: a\\x0d\\nb\n"));
	assert_true(view_has(v, "fn=(1) 1: a\\nfn=(9) b\n"));
	assert_true(view_has(v, "cfl=(3) x\\n.py\n"));
	assert_true(view_has(v, "cfn=(2) ???\n"));
}

static void leaves_out_what_weighs_nothing(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_node(v, entry, "a.py:never:1");
	view_stack(v, entry, "a.py:main:1", 10);
	view_entry(v, "2: idle");
	callgrind(v, OUT_WALL, NULL);
	assert_false(view_has(v, "never"));
	assert_false(view_has(v, "idle"));
	assert_true(view_has(v, "summary: 10000 5000 1\n"));
}

static void adds_up_to_the_history(void **state)
{
	struct viewtest *v = *state;
	struct query query = QUERY_ALL;
	struct past past = { 0 };

	past_small(&past);
	aggregate_free(v->agg);
	assert_int_equal(query_aggregate(past.h, &query, &v->agg), 0);
	callgrind(v, OUT_WALL, NULL);
	assert_true(view_has(v, "events: Wall_us CPU_us Samples GIL_us\n"
				"summary: 8900000 3400000 870 3100000\n"));
	aggregate_free(v->agg);
	v->agg = NULL;
	past_free(&past);
}

static void passes_on_what_the_writer_says(void **state)
{
	struct viewtest *v = *state;
	struct out_options options = { .value = OUT_WALL };

	assert_int_equal(out_callgrind(v->agg, &options, view_refuse, NULL),
			 -28);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, view_setup, view_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_costs_by_line_and_calls_with_what_they_cost),
		TEST(puts_the_weight_that_was_asked_for_first),
		TEST(keeps_processes_apart_as_objects),
		TEST(counts_a_stack_once_however_a_function_recurs),
		TEST(gives_each_name_once),
		TEST(keeps_names_on_their_line_and_never_empty),
		TEST(leaves_out_what_weighs_nothing),
		TEST(adds_up_to_the_history),
		TEST(passes_on_what_the_writer_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
