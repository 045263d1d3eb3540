/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/strtab.h"
#include "profile/aggregate.h"
#include "profile/out.h"

struct fixture {
	struct strtab *strings;
	struct aggregate *agg;
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
	free(f);
	return 0;
}

static uint32_t add_entry(struct fixture *f)
{
	struct agg_entry entry = { .process = 0 };

	return aggregate_entry_new(f->agg, &entry);
}

/* A child of @parent, the @line-th, that weighs so much. */
static void add_node(struct fixture *f, uint32_t parent, int32_t line,
		     struct weight weight, uint64_t gil_ns)
{
	struct frame frame = { .line = line };
	uint32_t node = aggregate_child(f->agg, parent, &frame);

	assert_int_not_equal(node, AGGREGATE_NONE);
	aggregate_charge(f->agg, node, weight, gil_ns);
}

static struct weight wall(uint64_t ns)
{
	return (struct weight){ .wall_ns = ns };
}

static void takes_the_currency_that_is_asked_for(void **state)
{
	struct fixture *f = *state;
	uint64_t own[1];
	uint32_t entry = add_entry(f);

	aggregate_charge(f->agg, entry,
			 (struct weight){ .wall_ns = 7000,
					  .cpu_ns = 3000,
					  .samples = 5 },
			 2000);
	assert_int_equal(out_weights(f->agg, OUT_WALL, false, own), 0);
	assert_int_equal(own[0], 7);
	assert_int_equal(out_weights(f->agg, OUT_CPU, false, own), 0);
	assert_int_equal(own[0], 3);
	assert_int_equal(out_weights(f->agg, OUT_GIL, false, own), 0);
	assert_int_equal(own[0], 2);
	assert_int_equal(out_weights(f->agg, OUT_SAMPLES, false, own), 0);
	assert_int_equal(own[0], 5);
}

static void takes_the_base_when_that_is_asked_for(void **state)
{
	struct fixture *f = *state;
	uint64_t own[1];
	uint32_t entry = add_entry(f);

	aggregate_charge(f->agg, entry, wall(1000), 0);
	aggregate_charge_base(f->agg, entry,
			      (struct weight){ .wall_ns = 9000,
					       .cpu_ns = 8000,
					       .samples = 7 },
			      6000);
	assert_int_equal(out_weights(f->agg, OUT_WALL, true, own), 0);
	assert_int_equal(own[0], 9);
	assert_int_equal(out_weights(f->agg, OUT_CPU, true, own), 0);
	assert_int_equal(own[0], 8);
	assert_int_equal(out_weights(f->agg, OUT_GIL, true, own), 0);
	assert_int_equal(own[0], 6);
	assert_int_equal(out_weights(f->agg, OUT_SAMPLES, true, own), 0);
	assert_int_equal(own[0], 7);
}

static void gives_what_rounding_took_to_the_largest_remainders(void **state)
{
	static const uint64_t ns[] = { 2300, 400, 700, 1400, 200 };
	static const uint64_t want[] = { 0, 2, 1, 1, 1, 0 };
	struct fixture *f = *state;
	uint64_t own[6];
	uint32_t entry = add_entry(f);

	for (int32_t i = 0; i < 5; i++)
		add_node(f, entry, i + 1, wall(ns[i]), 0);
	/* 5000 ns: 2 + 0 + 0 + 1 + 0, and 2 more for .7 and the first .4. */
	assert_int_equal(out_weights(f->agg, OUT_WALL, false, own), 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(own[i], want[i]);
}

static void rounds_each_entry_to_its_own_total(void **state)
{
	struct fixture *f = *state;
	uint64_t own[4];
	uint32_t a = add_entry(f);
	uint32_t b = add_entry(f);

	aggregate_charge(f->agg, a, wall(300), 0);
	aggregate_charge(f->agg, b, wall(300), 0);
	add_node(f, a, 1, wall(100), 0);
	add_node(f, b, 1, wall(300), 0);
	assert_int_equal(out_weights(f->agg, OUT_WALL, false, own), 0);
	/* Nodes are in the order of their making: a, b, a's frame, b's. */
	assert_int_equal(own[0] + own[2], 0);
	assert_int_equal(own[1] + own[3], 1);
}

static void adds_up_to_the_total_whatever_the_parts(void **state)
{
	struct fixture *f = *state;
	uint64_t own[1001], sum = 0, gil = 0, total_ns = 0, seed = 1;
	uint32_t entry = add_entry(f);

	for (int32_t i = 0; i < 1000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		total_ns += seed >> 50;
		add_node(f, entry, i, wall(seed >> 50), seed >> 50);
	}
	assert_int_equal(out_weights(f->agg, OUT_WALL, false, own), 0);
	for (size_t i = 0; i < 1001; i++)
		sum += own[i];
	assert_int_equal(out_weights(f->agg, OUT_GIL, false, own), 0);
	for (size_t i = 0; i < 1001; i++)
		gil += own[i];
	assert_int_equal(sum, (total_ns + 500) / 1000);
	assert_int_equal(gil, sum);
}

static void is_content_with_an_empty_tree(void **state)
{
	struct fixture *f = *state;
	uint64_t own[1] = { 77 };

	assert_int_equal(out_weights(f->agg, OUT_WALL, false, own), 0);
	assert_int_equal(own[0], 77);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(takes_the_currency_that_is_asked_for),
		TEST(takes_the_base_when_that_is_asked_for),
		TEST(gives_what_rounding_took_to_the_largest_remainders),
		TEST(rounds_each_entry_to_its_own_total),
		TEST(adds_up_to_the_total_whatever_the_parts),
		TEST(is_content_with_an_empty_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
