/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "frametest.h"

static void takes_one_call_in_the_steady_state(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		bool has_chunks = minor >= 11;

		setup(&b, minor, false);
		put_stack(&b, 1234);
		(void)walk_both(&b);
		assert_int_equal(b.n, 1234);
		assert_int_equal(walk_both(&b), 1);
		put_stack(&b, 1235);
		assert_int_equal(walk_both(&b), has_chunks ? 1 : 2);
		put_stack(&b, 1233);
		assert_int_equal(walk_both(&b), 1);
		/* Ten frames more are in one piece, where pieces there are. */
		put_stack(&b, 1250);
		if (has_chunks)
			assert_int_equal(walk_both(&b), 2);
		/* As is a new chunk. */
		put_stack(&b, 1310);
		if (has_chunks)
			assert_in_range(walk_both(&b), 2, 3);
		teardown(&b);
	}
}

/* As the caller asks for it after each walk. */
static void fetches_whose_the_thread_is_with_its_stack(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		uint64_t at, value;
		unsigned calls;

		setup(&b, minor, false);
		put_stack(&b, 100);
		(void)walk_both(&b);
		(void)walk_both(&b);
		at = TSTATE + (minor < 11 ? b.layout->thread.thread_id
					  : b.layout->thread.native_id);
		calls = prefetch_calls(b.prefetch);
		assert_int_equal(
			mem_read_u64(prefetch_mem(b.prefetch), at, &value), 0);
		assert_int_equal(prefetch_calls(b.prefetch), calls);
		teardown(&b);
	}
}

static void fetches_a_stack_by_chunks_at_first_sight(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 11; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_stack(&b, 1000);
		/* The thread, its cframe, ten chunks. */
		assert_int_equal(walk_both(&b), minor <= 12 ? 12 : 11);
		teardown(&b);
	}
}

static void keeps_both_ends_of_a_stack_that_is_too_deep(void **state)
{
	/* What is left out is a part of the ring, all of it, or none. */
	static const unsigned rooms[] = { 2, 7, 150, 333, 500, 999, 1000 };
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_stack(&b, 1000);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		size_t max = rooms[i], outer = max / 2, inner = max - outer;

		assert_int_equal(walk(&b, MAX), 0);
		memcpy(want, got, sizeof(got));
		assert_int_equal(walk_batched(&b, max),
				 max < 1000 ? OUT_FULL : 0);
		assert_int_equal(b.n, max);
		assert_int_equal(b.hint.left_out, 1000 - max);
		assert_memory_equal(got, want, inner * sizeof(*got));
		assert_memory_equal(got + inner, want + 1000 - outer,
				    outer * sizeof(*got));
		if (i)
			assert_int_equal(b.calls, 1);
	}
	teardown(&b);
}

static void finds_out_a_stack_that_goes_round(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_stack(&b, 1000);
	/* The outermost one continues in one of those before. */
	put_frame(&b, CHUNK + 24, CHUNK + 24 + FRAME_APART * 50, CODE, 2);
	assert_int_equal(walk_batched(&b, 100), OUT_TORN);
	assert_int_equal(walk(&b, 100), OUT_FULL);
	teardown(&b);
}

/* A generator's frame lies elsewhere, a shim of 3.13 on the C stack. */
static void predicts_frames_outside_of_the_chunks(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 11; minor <= 15; minor++) {
		uint64_t in = CHUNK + 24;

		setup(&b, minor, false);
		put_stack(&b, 4);
		put_frame(&b, in + 3 * FRAME_APART, HEAP, CODE, 2);
		put_frame(&b, HEAP, HEAP + 512, CODE, 4);
		put_frame(&b, HEAP + 512, in + 2 * FRAME_APART, CODE, 6);
		if (b.layout->owner_skip)
			set_owner(&b, HEAP, SHIM_OWNER);
		put_frame(&b, HEAP + 1024, in + 3 * FRAME_APART, CODE, 6);
		set_leaf(&b, HEAP + 1024);
		(void)walk_both(&b);
		assert_int_equal(b.n, b.layout->owner_skip ? 6 : 7);
		assert_int_equal(walk_both(&b), 1);
		teardown(&b);
	}
}

static void survives_any_wrong_prediction(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_stack(&b, 500);
		(void)walk_both(&b);
		/* All of it is gone, and what stands there is something else. */
		fakemem_unmap(&b.fm, CHUNK, 0x10000);
		fakemem_zero(&b.fm, CHUNK + 0x10000, CHUNK_BYTES);
		put_three(&b);
		fakemem_put_u64(&b.fm,
				TSTATE + b.layout->thread.datastack_chunk,
				0xdead);
		(void)walk_both(&b);
		assert_int_equal(b.n, 3);
		assert_int_equal(walk_both(&b), 1);
		put_stack(&b, 30);
		(void)walk_both(&b);
		assert_int_equal(b.n, 30);
		assert_int_equal(b.hint.n_chunks, minor >= 11);
		teardown(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_one_call_in_the_steady_state),
		cmocka_unit_test(fetches_whose_the_thread_is_with_its_stack),
		cmocka_unit_test(fetches_a_stack_by_chunks_at_first_sight),
		cmocka_unit_test(keeps_both_ends_of_a_stack_that_is_too_deep),
		cmocka_unit_test(finds_out_a_stack_that_goes_round),
		cmocka_unit_test(predicts_frames_outside_of_the_chunks),
		cmocka_unit_test(survives_any_wrong_prediction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
