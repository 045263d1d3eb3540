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

/* --- a reader of marshal, into the text that Python's repr would give */

struct reader {
	const struct str *from;
	size_t at;
	struct str to;
};

static uint64_t little(struct reader *r, size_t n)
{
	uint64_t value = 0;

	assert_true(n <= r->from->len - r->at);
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)(unsigned char)r->from->at[r->at++] << 8 * i;
	return value;
}

static void read_long(struct reader *r)
{
	uint64_t digits = little(r, 4);
	uint64_t value = 0;

	for (uint64_t i = 0; i < digits; i++)
		value |= little(r, 2) << 15 * i;
	str_printf(&r->to, "%" PRIu64, value);
}

static void read_text(struct reader *r)
{
	uint64_t len = little(r, 4);

	assert_true(len <= r->from->len - r->at);
	str_puts(&r->to, "'");
	str_add(&r->to, r->from->at + r->at, len);
	str_puts(&r->to, "'");
	r->at += len;
}

static void read_float(struct reader *r)
{
	uint64_t bits = little(r, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	str_printf(&r->to, "%g", value);
}

static bool read_value(struct reader *r);

static void read_tuple(struct reader *r)
{
	uint64_t n = little(r, 4);

	str_puts(&r->to, "(");
	for (uint64_t i = 0; i < n; i++) {
		str_puts(&r->to, i ? ", " : "");
		assert_true(read_value(r));
	}
	str_puts(&r->to, ")");
}

static void read_dict(struct reader *r)
{
	str_puts(&r->to, "{");
	while (read_value(r)) {
		str_puts(&r->to, ": ");
		assert_true(read_value(r));
		str_puts(&r->to, ",\n");
	}
	str_puts(&r->to, "}");
}

/* False at the mark that ends a dictionary. */
static bool read_value(struct reader *r)
{
	switch (little(r, 1)) {
	case '{':
		read_dict(r);
		return true;
	case '(':
		read_tuple(r);
		return true;
	case 'i':
		str_printf(&r->to, "%" PRId32, (int32_t)little(r, 4));
		return true;
	case 'l':
		read_long(r);
		return true;
	case 'g':
		read_float(r);
		return true;
	case 'u':
		read_text(r);
		return true;
	case '0':
		return false;
	default:
		fail_msg("a letter that marshal does not have, or we not");
		return false;
	}
}

/* What is written, read again, in v->text. */
static void pstats(struct viewtest *v, enum out_value value)
{
	struct out_options options = { .value = value };
	struct str bytes = { 0 };
	struct reader r = { .from = &bytes };

	assert_int_equal(out_pstats(v->agg, &options, view_write, &bytes), 0);
	assert_true(read_value(&r));
	assert_int_equal(r.at, bytes.len);
	str_free(&bytes);
	str_free(&v->text);
	v->text = r.to;
}

static void tells_functions_with_their_callers(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:3", 1000);
	view_stack(v, entry, "a.py:main:5;b.py:work:7", 2000);
	view_stack(v, entry, "a.py:main:5;b.py:work:8", 500);
	pstats(v, OUT_WALL);
	assert_string_equal(
		v->text.at,
		"{('~', 0, '1: p'): (350, 350, 0, 3.5, {}),\n"
		"('a.py', 0, 'main'): (350, 350, 1, 3.5, "
		"{('~', 0, '1: p'): (350, 350, 1, 3.5),\n}),\n"
		"('b.py', 0, 'work'): (250, 250, 2.5, 2.5, "
		"{('a.py', 0, 'main'): (250, 250, 2.5, 2.5),\n}),\n}");
}

static void tells_the_weight_that_was_asked_for(void **state)
{
	struct viewtest *v = *state;

	view_stack(v, view_entry(v, "1: p"), "a.py:main:3", 1000);
	pstats(v, OUT_CPU);
	assert_true(view_has(v, "'main'): (100, 100, 0.5, 0.5, "));
	pstats(v, OUT_SAMPLES);
	assert_true(view_has(v, "'main'): (100, 100, 100, 100, "));
	pstats(v, OUT_GIL);
	assert_true(view_has(v, "'main'): (100, 100, 0, 0, "));
}

static void counts_a_stack_once_however_a_function_recurs(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:f:1;a.py:g:9;a.py:f:2;a.py:g:9", 1000);
	pstats(v, OUT_WALL);
	assert_string_equal(v->text.at,
			    "{('~', 0, '1: p'): (100, 100, 0, 1, {}),\n"
			    "('a.py', 0, 'f'): (100, 100, 0, 1, "
			    "{('~', 0, '1: p'): (100, 100, 0, 1),\n"
			    "('a.py', 0, 'g'): (100, 100, 0, 1),\n}),\n"
			    "('a.py', 0, 'g'): (100, 100, 1, 1, "
			    "{('a.py', 0, 'f'): (100, 100, 1, 1),\n}),\n}");
}

static void makes_one_of_what_has_one_key(void **state)
{
	struct viewtest *v = *state;

	/* Two images of a process, and a frame without a file of that name. */
	view_stack(v, view_entry(v, "p"), "a.py:main:1", 1000);
	view_stack(v, view_entry(v, "p"), "a.py:main:1", 3000);
	view_stack(v, view_entry(v, "q"), ":p:0", 1000);
	pstats(v, OUT_WALL);
	assert_int_equal(view_count(v, "\n('~', 0, 'p'): "), 0);
	assert_true(view_has(v, "{('~', 0, 'p'): (500, 500, 1, 5, "
				"{('~', 0, 'q'): (100, 100, 1, 1),\n}),\n"));
	assert_int_equal(view_count(v, "\n('a.py', 0, 'main'): "
				       "(400, 400, 4, 4, "),
			 1);
}

static void makes_names_safe_to_print(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: \x1b[31m");

	view_stack(v, entry, "~:\xff\n:1", 1000);
	pstats(v, OUT_WALL);
	assert_true(view_has(v, "('~', 0, '1: \\x1b[31m')"));
	assert_true(view_has(v, "('\\x7e', 0, '\\xff\\n')"));
}

static void writes_numbers_of_any_size(void **state)
{
	struct viewtest *v = *state;
	struct weight weight = { .samples = 0x7fffffff };
	uint32_t node = view_node(v, view_entry(v, "1: p"), "a.py:main:1");

	aggregate_charge(v->agg, node, weight, 0);
	pstats(v, OUT_WALL);
	assert_true(view_has(v, "'main'): (2147483647, 2147483647, 0, 0, "));
	weight.samples = 1;
	aggregate_charge(v->agg, node, weight, 0);
	pstats(v, OUT_WALL);
	assert_true(view_has(v, "'main'): (2147483648, 2147483648, 0, 0, "));
	weight.samples = 0x123456789;
	aggregate_charge(v->agg, node, weight, 0);
	pstats(v, OUT_WALL);
	assert_true(view_has(v, "'main'): (7034201993, 7034201993, 0, 0, "));
}

static void has_no_functions_when_there_is_nothing(void **state)
{
	struct viewtest *v = *state;

	view_node(v, view_entry(v, "1: p"), "a.py:never:1");
	pstats(v, OUT_WALL);
	assert_string_equal(v->text.at, "{}");
}

static void adds_up_to_the_history(void **state)
{
	struct viewtest *v = *state;
	struct query query = QUERY_ALL;
	struct past past = { 0 };

	query.group = GROUP_ALL;
	past_small(&past);
	aggregate_free(v->agg);
	assert_int_equal(query_aggregate(past.h, &query, &v->agg), 0);
	pstats(v, OUT_WALL);
	assert_true(view_has(v, "('~', 0, 'all'): (870, 870, 0.2, 8.9, {})"));
	assert_true(view_has(v, "('app.py', 0, 'work'): (270, 270, 2.9, 2.9,"));
	aggregate_free(v->agg);
	v->agg = NULL;
	past_free(&past);
}

static void passes_on_what_the_writer_says(void **state)
{
	struct viewtest *v = *state;
	struct out_options options = { .value = OUT_WALL };

	assert_int_equal(out_pstats(v->agg, &options, view_refuse, NULL), -28);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, view_setup, view_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_functions_with_their_callers),
		TEST(tells_the_weight_that_was_asked_for),
		TEST(counts_a_stack_once_however_a_function_recurs),
		TEST(makes_one_of_what_has_one_key),
		TEST(makes_names_safe_to_print),
		TEST(writes_numbers_of_any_size),
		TEST(has_no_functions_when_there_is_nothing),
		TEST(adds_up_to_the_history),
		TEST(passes_on_what_the_writer_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
