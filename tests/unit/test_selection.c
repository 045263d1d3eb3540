/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "pasttest.h"
#include "profile/query.h"

#define MS PAST_MS

/* What the slices that fit add up to. */
struct sums {
	struct weight total;
	uint64_t n, gil_ns, first_ns;
};

static int add_up(void *ctx, const struct slice *slice)
{
	struct sums *sums = ctx;

	sums->total.wall_ns += slice->weight.wall_ns;
	sums->total.cpu_ns += slice->weight.cpu_ns;
	sums->total.samples += slice->weight.samples;
	if (slice->seen.gil == GIL_HELD)
		sums->gil_ns += slice->weight.wall_ns;
	if (!sums->n++ || slice->start_ns < sums->first_ns)
		sums->first_ns = slice->start_ns;
	return 0;
}

static struct sums sums_of(const struct past *p, const struct query *query)
{
	struct selection selection;
	struct sums sums = { 0 };

	assert_int_equal(selection_make(&selection, p->h, query), 0);
	assert_int_equal(selection_slices(&selection, add_up, &sums), 0);
	selection_free(&selection);
	return sums;
}

static uint64_t wall_of(const struct past *p, const struct query *query)
{
	return sums_of(p, query).total.wall_ns / MS;
}

static void chooses_processes_by_number_and_tree(void **state)
{
	static const int32_t one[] = { 101 }, tree[] = { 103 }, none[] = { 1 };
	static const int32_t two[] = { 104, 102 };
	struct past *p = *state;
	struct query query = QUERY_ALL;

	query.pids = one;
	query.n_pids = 1;
	assert_int_equal(wall_of(p, &query), 1600);
	query.pids = two;
	query.n_pids = 2;
	assert_int_equal(wall_of(p, &query), 1600);
	query.pids = none;
	query.n_pids = 1;
	assert_int_equal(wall_of(p, &query), 0);
	query.n_pids = 0;
	query.trees = tree;
	query.n_trees = 1;
	assert_int_equal(wall_of(p, &query), 2600);
	/* Of each kind that is given, one must fit. */
	query.pids = one;
	query.n_pids = 1;
	assert_int_equal(wall_of(p, &query), 800);
	query.n_pids = query.n_trees = 0;
	query.process = 2;
	assert_int_equal(wall_of(p, &query), 1400);
}

static void chooses_threads_by_number_and_part_of_the_name(void **state)
{
	static const char *const number[] = { "110" }, *const part[] = {
		"feed"
	};
	static const char *const both[] = { "102", "eede" };
	static const char *const digit[] = { "1" };
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct selection selection;

	query.n_threads = 1;
	query.threads = number;
	assert_int_equal(wall_of(p, &query), 1900);
	query.threads = digit;
	assert_int_equal(wall_of(p, &query), 0);
	query.threads = part;
	assert_int_equal(wall_of(p, &query), 1900);
	query.threads = both;
	query.n_threads = 2;
	assert_int_equal(wall_of(p, &query), 3300);
	assert_int_equal(selection_make(&selection, p->h, &query), 0);
	assert_true(selection.processes[0]);
	assert_true(selection.processes[2]);
	assert_false(selection.processes[1]);
	assert_true(selection.threads[1]);
	assert_false(selection.threads[0]);
	selection_free(&selection);
}

static void does_not_take_a_number_for_a_part_of_a_name(void **state)
{
	static const char *const number[] = { "7" }, *const name[] = { "d-7" };
	struct query query = QUERY_ALL;
	struct past p;

	(void)state;
	past_reborn(&p);
	query.n_threads = 1;
	query.threads = number;
	assert_int_equal(wall_of(&p, &query), 0);
	query.threads = name;
	assert_int_equal(wall_of(&p, &query), 2000);
	past_free(&p);
}

static void chooses_processes_that_lived_at_the_time(void **state)
{
	static const bool want[] = { true, false, true, true, true, false };
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct selection selection;

	query.since_ns = 901 * MS;
	query.until_ns = 1000 * MS;
	assert_int_equal(selection_make(&selection, p->h, &query), 0);
	assert_memory_equal(selection.processes, want, sizeof(want));
	selection_free(&selection);
}

static void chooses_by_state(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;

	query.idle = false;
	assert_int_equal(wall_of(p, &query), 3500);
	query.gil = true;
	assert_int_equal(wall_of(p, &query), 3100);
	query.idle = true;
	assert_int_equal(wall_of(p, &query), 3100);
}

static void cuts_weights_at_the_times_that_are_asked_for(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct sums sums;

	/* 0, 1, 3 and 4 lived then. 4 weighs for 600 from 900 on: it has its 100
	 * in it like the others. Of 3 it is the end of the 1000, with 900 CPU. */
	query.since_ns = 1000 * MS;
	query.until_ns = 1100 * MS;
	sums = sums_of(p, &query);
	assert_int_equal(sums.n, 5);
	assert_int_equal(sums.total.wall_ns, 500 * MS);
	assert_int_equal(sums.total.cpu_ns, (90 + 100 + 100) * MS);
	assert_int_equal(sums.gil_ns, 200 * MS);
	assert_int_equal(sums.first_ns, 1000 * MS);
	query.since_ns = 1900 * MS;
	query.until_ns = UINT64_MAX;
	assert_int_equal(wall_of(p, &query), 300);
	query.since_ns = 5000 * MS;
	assert_int_equal(wall_of(p, &query), 0);
}

static void cuts_no_weight_from_beyond_a_life(void **state)
{
	struct query query = QUERY_ALL;
	struct past p;

	(void)state;
	past_reborn(&p);
	query.until_ns = 2000 * MS;
	assert_int_equal(wall_of(&p, &query), 2000);
	query.until_ns = 1750 * MS;
	assert_int_equal(wall_of(&p, &query), 1500);
	past_free(&p);
}

static void cuts_so_that_the_parts_add_up(void **state)
{
	static const uint64_t steps_ns[] = { 7 * MS + 13, 333333333,
					     1999 * MS };
	struct past *p = *state;

	for (size_t i = 0; i < 3; i++) {
		struct sums all = { 0 };

		for (uint64_t at = 0; at < p->h->end_ns; at += steps_ns[i]) {
			struct query query = QUERY_ALL;
			struct sums sums;

			query.since_ns = at;
			query.until_ns = at + steps_ns[i];
			sums = sums_of(p, &query);
			all.total.wall_ns += sums.total.wall_ns;
			all.total.cpu_ns += sums.total.cpu_ns;
			all.total.samples += sums.total.samples;
			all.gil_ns += sums.gil_ns;
		}
		assert_int_equal(all.total.wall_ns, 8900 * MS);
		assert_int_equal(all.total.cpu_ns, 3400 * MS);
		assert_int_equal(all.total.samples, 870);
		assert_int_equal(all.gil_ns, 3100 * MS);
	}
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(chooses_processes_by_number_and_tree),
		TEST(chooses_threads_by_number_and_part_of_the_name),
		cmocka_unit_test(does_not_take_a_number_for_a_part_of_a_name),
		TEST(chooses_processes_that_lived_at_the_time),
		TEST(chooses_by_state),
		TEST(cuts_weights_at_the_times_that_are_asked_for),
		cmocka_unit_test(cuts_no_weight_from_beyond_a_life),
		TEST(cuts_so_that_the_parts_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
