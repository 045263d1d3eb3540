/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "profile/packed.h"

#define LANES 3u

static struct slice slice_at(uint64_t start_ns, uint64_t wall_ns,
			     uint32_t stack)
{
	return (struct slice){ .start_ns = start_ns,
			       .seen = { .stack = stack },
			       .weight = { .wall_ns = wall_ns, .samples = 1 } };
}

static void assert_slice(const struct slice *a, const struct slice *b)
{
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->seen.stack, b->seen.stack);
	assert_int_equal(a->seen.run, b->seen.run);
	assert_int_equal(a->seen.gil, b->seen.gil);
	assert_int_equal(a->seen.wait, b->seen.wait);
	assert_int_equal(a->weight.wall_ns, b->weight.wall_ns);
	assert_int_equal(a->weight.cpu_ns, b->weight.cpu_ns);
	assert_int_equal(a->weight.samples, b->weight.samples);
}

static void gives_back_what_was_put_in(void **state)
{
	struct slice slices[] = {
		slice_at(5, 10, 3),         slice_at(15, 10, 3),
		slice_at(20, 10, 2),        slice_at(10, 0, UINT32_MAX - 1),
		slice_at(UINT64_MAX, 7, 0), slice_at(0, UINT64_MAX, 9),
	};
	const size_t n = sizeof(slices) / sizeof(*slices);
	struct packed_reader reader;
	struct packed packed;
	struct slice got;

	(void)state;
	slices[1].seen.run = RUN_ON_CPU;
	slices[2].seen.gil = GIL_WAITED;
	slices[3].seen.wait = WAIT_OTHER;
	slices[0].weight.cpu_ns = 10;
	slices[1].weight.cpu_ns = 3;
	slices[2].weight.cpu_ns = UINT64_MAX;
	slices[3].weight.samples = 0;
	slices[4].weight.samples = UINT64_MAX;
	assert_int_equal(packed_init(&packed, LANES, 100), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(packed_add(&packed, 1, &slices[i]), 0);
	assert_int_equal(packed.lanes[1].n, n);
	assert_int_equal(packed.lanes[0].n, 0);
	packed_read(&reader, &packed, 1, 42);
	for (size_t i = 0; i < n; i++) {
		assert_true(packed_next(&reader, &got));
		assert_int_equal(got.thread, 42);
		assert_slice(&got, &slices[i]);
	}
	assert_false(packed_next(&reader, &got));
	packed_rewind(&reader);
	assert_true(packed_next(&reader, &got));
	assert_slice(&got, &slices[0]);
	packed_free(&packed);
}

/* Slices that differ in all, so that a chunk is soon full. */
static void fill(struct packed *packed, size_t lane, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct slice slice =
			slice_at(i * i, i * 1000000, (uint32_t)(i * lane));

		assert_int_equal(packed_add(packed, lane, &slice), 0);
	}
}

static void assert_filled(const struct packed *packed, size_t lane, size_t n)
{
	struct packed_reader reader;
	struct slice got;

	assert_int_equal(packed->lanes[lane].n, n);
	packed_read(&reader, packed, lane, 0);
	for (size_t i = 0; i < n; i++) {
		struct slice slice =
			slice_at(i * i, i * 1000000, (uint32_t)(i * lane));

		assert_true(packed_next(&reader, &got));
		assert_slice(&got, &slice);
	}
	assert_false(packed_next(&reader, &got));
}

static void keeps_lanes_apart_over_many_chunks(void **state)
{
	struct packed packed;

	(void)state;
	assert_int_equal(packed_init(&packed, LANES, 1000), 0);
	for (size_t lane = 0; lane < LANES; lane++)
		fill(&packed, lane, 1000);
	assert_int_equal(packed.until, LANES);
	for (size_t lane = 0; lane < LANES; lane++)
		assert_filled(&packed, lane, 1000);
	packed_free(&packed);
}

static void drops_the_last_lanes_when_there_is_no_room(void **state)
{
	struct packed packed;

	(void)state;
	assert_int_equal(packed_init(&packed, LANES, 25), 0);
	fill(&packed, 2, 500);
	fill(&packed, 0, 500);
	fill(&packed, 1, 1000);
	/* Lane 2 had to go for lane 1, and that for itself: it needs too much. */
	assert_int_equal(packed.until, 1);
	assert_filled(&packed, 0, 500);
	assert_true(packed.chunks.n <= 25);

	packed_begin(&packed, 1);
	assert_int_equal(packed.until, LANES);
	fill(&packed, 0, 500); /* of no account */
	fill(&packed, 2, 500);
	assert_int_equal(packed.lanes[0].n, 0);
	assert_filled(&packed, 2, 500);
	packed_free(&packed);
}

static void takes_the_first_lane_whole_however_long_it_is(void **state)
{
	struct packed packed;

	(void)state;
	assert_int_equal(packed_init(&packed, LANES, 1), 0);
	packed_begin(&packed, 1);
	fill(&packed, 2, 10);
	fill(&packed, 1, 1000);
	assert_int_equal(packed.until, 2);
	assert_filled(&packed, 1, 1000);
	packed_free(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_back_what_was_put_in),
		cmocka_unit_test(keeps_lanes_apart_over_many_chunks),
		cmocka_unit_test(drops_the_last_lanes_when_there_is_no_room),
		cmocka_unit_test(takes_the_first_lane_whole_however_long_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
