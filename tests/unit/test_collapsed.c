/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/strtab.h"
#include "profile/aggregate.h"
#include "profile/history.h"
#include "profile/out.h"

struct fixture {
	struct strtab *strings;
	struct aggregate *agg;
	struct str text;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->strings = strtab_new();
	f->agg = f->strings ? aggregate_new(f->strings) : NULL;
	return f->agg ? 0 : -1;
}

static int end(void **state)
{
	struct fixture *f = *state;

	aggregate_free(f->agg);
	strtab_free(f->strings);
	str_free(&f->text);
	free(f);
	return 0;
}

static uint32_t text_id(struct fixture *f, const char *text)
{
	return strtab_id(f->strings, text, strlen(text));
}

static uint32_t add_entry(struct fixture *f, const char *label)
{
	struct agg_entry entry = { .label = text_id(f, label),
				   .process = HISTORY_NONE };

	return aggregate_entry_new(f->agg, &entry);
}

static struct frame frame_of(struct fixture *f, const char *function,
			     const char *file, int32_t line)
{
	return (struct frame){ .function = text_id(f, function),
			       .file = text_id(f, file),
			       .line = line };
}

static void charge(struct fixture *f, uint32_t node, uint64_t wall_ns,
		   uint64_t cpu_ns, uint64_t samples)
{
	aggregate_charge(f->agg, node,
			 (struct weight){ .wall_ns = wall_ns,
					  .cpu_ns = cpu_ns,
					  .samples = samples },
			 0);
}

static int collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

static const char *collapsed(struct fixture *f, enum out_value value, bool diff)
{
	struct out_options options = { .value = value, .diff = diff };

	str_clear(&f->text);
	str_puts(&f->text, "");
	assert_int_equal(out_collapsed(f->agg, &options, collect, &f->text), 0);
	return f->text.at;
}

/* An entry with one stack of one frame that weighs a microsecond. */
static void add_one(struct fixture *f, struct frame frame)
{
	uint32_t entry = add_entry(f, "p");

	charge(f, aggregate_stack(f->agg, entry, &frame, 1), 1000, 0, 1);
}

static void writes_each_stack_from_its_entry_to_its_leaf(void **state)
{
	struct fixture *f = *state;
	struct frame stack[] = { frame_of(f, "inner", "b.py", 20),
				 frame_of(f, "<module>", "/a b/a.py", 3) };
	uint32_t entry = add_entry(f, "42: python3 a.py -x 1");

	charge(f, aggregate_stack(f->agg, entry, stack, 2), 7000, 2000, 3);
	charge(f, aggregate_stack(f->agg, entry, stack + 1, 1), 5000, 0, 2);
	charge(f, entry, 4000, 0, 1);
	assert_string_equal(
		collapsed(f, OUT_WALL, false),
		"42: python3 a.py -x 1 4\n"
		"42: python3 a.py -x 1;/a b/a.py:<module>:3 5\n"
		"42: python3 a.py -x 1;/a b/a.py:<module>:3;b.py:inner:20 7\n");
	assert_string_equal(
		collapsed(f, OUT_CPU, false),
		"42: python3 a.py -x 1;/a b/a.py:<module>:3;b.py:inner:20 2\n");
	assert_string_equal(
		collapsed(f, OUT_SAMPLES, false),
		"42: python3 a.py -x 1 1\n"
		"42: python3 a.py -x 1;/a b/a.py:<module>:3 2\n"
		"42: python3 a.py -x 1;/a b/a.py:<module>:3;b.py:inner:20 3\n");
}

static void escapes_separators_in_names(void **state)
{
	struct fixture *f = *state;
	struct frame frame = frame_of(f, "a;b:c d", "x;y:z w.py", 1);
	uint32_t entry = add_entry(f, "5: sh -c a;b:c");

	charge(f, aggregate_stack(f->agg, entry, &frame, 1), 1000, 0, 1);
	assert_string_equal(collapsed(f, OUT_WALL, false),
			    "5: sh -c a\\x3bb:c;"
			    "x\\x3by:z w.py:a\\x3bb\\x3ac d:1 1\n");
}

static void keeps_a_name_with_newlines_on_one_line(void **state)
{
	struct fixture *f = *state;
	struct frame frame = frame_of(f, "two\nlines\r", "t\tab\\.py", 1);
	uint32_t entry = add_entry(f, "5: python3 -c a\nb");

	charge(f, aggregate_stack(f->agg, entry, &frame, 1), 1000, 0, 1);
	assert_string_equal(collapsed(f, OUT_WALL, false),
			    "5: python3 -c a\\nb;"
			    "t\\tab\\\\.py:two\\nlines\\x0d:1 1\n");
}

static void keeps_utf8_and_escapes_what_is_none(void **state)
{
	struct fixture *f = *state;

	add_one(f, frame_of(f, "\xc3\xa9t\xc3\xa9\xff", "\xe6\xbc\xa2.py", 1));
	assert_string_equal(collapsed(f, OUT_WALL, false),
			    "p;\xe6\xbc\xa2.py:\xc3\xa9t\xc3\xa9\\xff:1 1\n");
}

static void writes_a_function_without_a_file_alone(void **state)
{
	struct fixture *f = *state;

	add_one(f, frame_of(f, "<string>", "", 0));
	assert_string_equal(collapsed(f, OUT_WALL, false), "p;<string> 1\n");
}

static void leaves_out_the_line_of_code_where_there_is_none(void **state)
{
	struct fixture *f = *state;

	add_one(f, frame_of(f, "f", "f.py", 0));
	assert_string_equal(collapsed(f, OUT_WALL, false), "p;f.py:f 1\n");
}

static void writes_a_file_alone_in_a_view_by_files(void **state)
{
	struct fixture *f = *state;

	add_one(f, frame_of(f, "", "dir/f:g.py", 0));
	assert_string_equal(collapsed(f, OUT_WALL, false), "p;dir/f:g.py 1\n");
}

static void escapes_no_colon_in_a_function_without_a_file(void **state)
{
	struct fixture *f = *state;

	add_one(f, frame_of(f, "thread 7 a:b;c", "", 0));
	assert_string_equal(collapsed(f, OUT_WALL, false),
			    "p;thread 7 a:b\\x3bc 1\n");
}

static void writes_the_base_before_what_is_compared_with_it(void **state)
{
	struct fixture *f = *state;
	struct frame stack[] = { frame_of(f, "new", "f.py", 1),
				 frame_of(f, "old", "f.py", 2),
				 frame_of(f, "none", "f.py", 3) };
	uint32_t entry = add_entry(f, "p");

	charge(f, aggregate_stack(f->agg, entry, stack, 1), 5000, 0, 1);
	aggregate_charge_base(f->agg,
			      aggregate_stack(f->agg, entry, stack + 1, 1),
			      (struct weight){ .wall_ns = 3000 }, 0);
	charge(f, aggregate_stack(f->agg, entry, stack + 2, 1), 0, 0, 0);
	assert_string_equal(collapsed(f, OUT_WALL, true),
			    "p;f.py:new:1 0 5\np;f.py:old:2 3 0\n");
	/* Without the question it is as if there were no base. */
	assert_string_equal(collapsed(f, OUT_WALL, false), "p;f.py:new:1 5\n");
}

static void writes_a_name_of_3000_characters_whole(void **state)
{
	struct fixture *f = *state;
	char name[3001], want[3100];

	memset(name, 'n', 3000);
	name[3000] = '\0';
	add_one(f, frame_of(f, name, "f.py", 9));
	(void)snprintf(want, sizeof(want), "p;f.py:%s:9 1\n", name);
	assert_string_equal(collapsed(f, OUT_WALL, false), want);
}

static void writes_nothing_for_an_empty_profile(void **state)
{
	assert_string_equal(collapsed(*state, OUT_WALL, false), "");
}

/* Five stacks of 0.4 us are 2 us: neither 0 nor 5. */
static void gives_rounded_time_to_the_largest_remainders(void **state)
{
	struct fixture *f = *state;
	static const uint64_t ns[] = { 2300, 400, 700, 1400, 200 };
	char name[2] = "a";
	uint32_t entry = add_entry(f, "p");

	for (size_t i = 0; i < 5; i++, name[0]++) {
		struct frame frame = frame_of(f, name, "f", 1);

		charge(f, aggregate_stack(f->agg, entry, &frame, 1), ns[i], 0,
		       1);
	}
	/* 5000 ns: 2 + 0 + 0 + 1 + 0, and 2 more for .7 and the first .4. */
	assert_string_equal(collapsed(f, OUT_WALL, false),
			    "p;f:a:1 2\np;f:b:1 1\n"
			    "p;f:c:1 1\np;f:d:1 1\n");
}

/* Refuses what comes after @left calls. */
static int refuse(void *ctx, const char *bytes, size_t len)
{
	int *left = ctx;

	(void)bytes;
	(void)len;
	return (*left)-- ? 0 : -ENOSPC;
}

static void passes_up_what_the_writer_could_not_do(void **state)
{
	struct fixture *f = *state;
	struct out_options options = { .value = OUT_WALL };
	uint32_t entry = add_entry(f, "1: a command of some length");
	int left = 1;

	for (int32_t i = 0; i < 5000; i++) {
		struct frame frame = frame_of(f, "f", "f", i);

		charge(f, aggregate_stack(f->agg, entry, &frame, 1), 1000, 0,
		       1);
	}
	assert_int_equal(out_collapsed(f->agg, &options, refuse, &left),
			 -ENOSPC);
	assert_int_equal(left, -1);
}

static void writes_long_output_without_losing_a_line(void **state)
{
	struct fixture *f = *state;
	uint32_t entry = add_entry(f, "1: a command of some length");
	const char *at;
	size_t lines = 0;

	for (int32_t i = 0; i < 9000; i++) {
		struct frame frame = frame_of(f, "f", "f", i);

		charge(f, aggregate_stack(f->agg, entry, &frame, 1), 1000, 0,
		       1);
	}
	for (at = collapsed(f, OUT_WALL, false); *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 9000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_each_stack_from_its_entry_to_its_leaf),
		TEST(escapes_separators_in_names),
		TEST(keeps_a_name_with_newlines_on_one_line),
		TEST(keeps_utf8_and_escapes_what_is_none),
		TEST(writes_a_function_without_a_file_alone),
		TEST(leaves_out_the_line_of_code_where_there_is_none),
		TEST(writes_a_file_alone_in_a_view_by_files),
		TEST(escapes_no_colon_in_a_function_without_a_file),
		TEST(writes_the_base_before_what_is_compared_with_it),
		TEST(writes_a_name_of_3000_characters_whole),
		TEST(writes_nothing_for_an_empty_profile),
		TEST(gives_rounded_time_to_the_largest_remainders),
		TEST(passes_up_what_the_writer_could_not_do),
		TEST(writes_long_output_without_losing_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
