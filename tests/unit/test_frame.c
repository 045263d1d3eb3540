/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "frametest.h"

static void walks_innermost_first_in_every_version(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		for (int ft = 0; ft < (minor >= 13 ? 2 : 1); ft++) {
			struct bench b;

			setup(&b, minor, ft);
			put_three(&b);
			assert_int_equal(walk(&b, 8), 0);
			assert_int_equal(b.n, 3);
			assert_int_equal(got[0].code, CODE);
			assert_int_equal(got[0].instr, 6);
			assert_int_equal(got[1].code, CODE + 512);
			assert_int_equal(got[1].instr, 0);
			assert_int_equal(got[2].addr, HEAP + 1024);
			assert_true(got[2].instr < 0);
			assert_int_equal(
				walk_both(&b),
				b.layout->frame_kind == FRAME_CFRAME ? 5 : 4);
			assert_int_equal(walk_both(&b), 1);
			teardown(&b);
		}
	}
}

static void walks_the_frames_of_2_7(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 27, false);
	put_frame(&b, HEAP, HEAP + 512, CODE, 7);
	put_frame(&b, HEAP + 512, 0, CODE + 512, -1);
	set_leaf(&b, HEAP);
	assert_int_equal(walk(&b, 8), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(got[0].code, CODE);
	assert_int_equal(got[0].instr, 7);
	assert_int_equal(got[1].code, CODE + 512);
	assert_int_equal(got[1].instr, -1);
	assert_int_equal(walk_both(&b), 3);
	assert_int_equal(walk_both(&b), 1);
	teardown(&b);
}

static void finds_no_frame_in_a_thread_without_python(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		set_leaf(&b, 0);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		set_leaf(&b, bottom(&b));
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, 0);
		assert_int_equal(walk(&b, 8), 0);
		teardown(&b);
	}
}

static void passes_over_frames_that_are_no_python(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 12; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_three(&b);
		set_owner(&b, HEAP + 512, SHIM_OWNER);
		/* Its "code" is none. */
		fakemem_put_u64(&b.fm, HEAP + 512 + b.layout->frame.code, 1);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 2);
		assert_int_equal(got[1].addr, HEAP + 1024);
		set_owner(&b, HEAP, SHIM_OWNER);
		set_owner(&b, HEAP + 1024, SHIM_OWNER);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		teardown(&b);
	}
}

static void clears_the_tags_of_code_references(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 14, false);
	put_three(&b);
	fakemem_put_u64(&b.fm, HEAP + b.layout->frame.code, CODE | 1);
	assert_int_equal(walk(&b, 8), 0);
	assert_int_equal(got[0].code, CODE);
	teardown(&b);
}

static void says_when_the_stack_is_deeper_than_the_room(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_three(&b);
	assert_int_equal(walk(&b, 2), OUT_FULL);
	assert_int_equal(b.n, 2);
	assert_int_equal(got[1].addr, HEAP + 512);
	assert_int_equal(walk(&b, 3), 0);
	assert_int_equal(walk(&b, 0), OUT_FULL);
	assert_int_equal(b.n, 0);
	/* What is left is no Python: nothing is missing. */
	set_owner(&b, HEAP + 1024, SHIM_OWNER);
	assert_int_equal(walk(&b, 2), 0);
	teardown(&b);
}

static void leaves_the_result_alone_when_torn(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		const struct layout *l;

		setup(&b, minor, false);
		l = b.layout;
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + l->frame.previous, 0xdead0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		fakemem_put_u64(&b.fm, HEAP + l->frame.previous, HEAP + 513);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_frame(&b, HEAP + 513, bottom(&b), CODE, 0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + l->frame.code, 0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_three(&b);
		set_owner(&b, HEAP + 512, l->owner_limit);
		assert_int_equal(walk(&b, 8),
				 l->frame.owner == LAYOUT_NONE ? 0 : OUT_TORN);
		b.n = l->frame.owner == LAYOUT_NONE ? 77 : b.n;
		fakemem_unmap(&b.fm, TSTATE, 512);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		b.fm.fail = OUT_GONE;
		assert_int_equal(walk(&b, 8), OUT_GONE);
		assert_int_equal(walk_batched(&b, 8), OUT_GONE);
		assert_int_equal(b.n, 77);
		teardown(&b);
	}
}

static void ends_in_a_ring(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + 1024 + b.layout->frame.previous,
				HEAP);
		assert_int_equal(walk(&b, 50), OUT_FULL);
		for (unsigned i = 0; i < 3; i++)
			set_owner(&b, HEAP + 512 * i, SHIM_OWNER);
		if (b.layout->owner_skip) {
			b.fm.calls = 0;
			assert_int_equal(walk(&b, 50), OUT_TORN);
			assert_true(b.fm.calls <= 2 * 50 + 16 + 2);
		}
		teardown(&b);
	}
}

static void misses_the_base_frame_in_3_15(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 15, false);
	put_three(&b);
	fakemem_put_u64(&b.fm, HEAP + 1024 + b.layout->frame.previous, 0);
	assert_int_equal(walk(&b, 8), OUT_TORN);
	fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.base_frame, 0);
	assert_int_equal(walk(&b, 8), OUT_TORN);
	assert_int_equal(b.n, 77);
	teardown(&b);
}

static void counts_from_the_threads_own_bytecode(void **state)
{
	const uint64_t copies = 0x7f0000900000u, copy = 0x7f0000910000u;
	struct bench b;

	(void)state;
	for (unsigned minor = 14; minor <= 15; minor++) {
		const struct layout *l;

		setup(&b, minor, true);
		l = b.layout;
		put_three(&b);
		fakemem_put_u64(&b.fm, CODE + l->code.tlbc, copies);
		fakemem_zero(&b.fm, copies, 64);
		fakemem_put_u64(&b.fm, copies + l->tlbc.n, 3);
		fakemem_put_u64(&b.fm, copies + l->tlbc.entries + 16, copy);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, 2);
		fakemem_put_u64(&b.fm, HEAP + l->frame.instr, copy + 10);
		(void)walk_both(&b);
		assert_int_equal(got[0].instr, 10);
		assert_int_equal(walk_both(&b), 1);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, 3);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, UINT32_MAX);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		teardown(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_innermost_first_in_every_version),
		cmocka_unit_test(walks_the_frames_of_2_7),
		cmocka_unit_test(finds_no_frame_in_a_thread_without_python),
		cmocka_unit_test(passes_over_frames_that_are_no_python),
		cmocka_unit_test(clears_the_tags_of_code_references),
		cmocka_unit_test(says_when_the_stack_is_deeper_than_the_room),
		cmocka_unit_test(leaves_the_result_alone_when_torn),
		cmocka_unit_test(ends_in_a_ring),
		cmocka_unit_test(misses_the_base_frame_in_3_15),
		cmocka_unit_test(counts_from_the_threads_own_bytecode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
