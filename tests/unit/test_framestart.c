/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "frametest.h"

#define STACK 0x7ffd00001000

/* The cframe below the newest one, and its newest frame. */
static void set_below(struct bench *b, uint64_t leaf)
{
	uint64_t below = CFRAME + 32;

	fakemem_put_u64(&b->fm, CFRAME + b->layout->cframe.previous, below);
	fakemem_put_u64(&b->fm, below + b->layout->cframe.current, leaf);
}

static void put_cframe(struct bench *b, uint64_t at, uint64_t leaf,
		       uint64_t below)
{
	fakemem_put_u64(&b->fm, at + b->layout->cframe.current, leaf);
	fakemem_put_u64(&b->fm, at + b->layout->cframe.previous, below);
}

/* The frame at @addr is the one by which an evaluation was entered. */
static void set_entry(struct bench *b, uint64_t addr)
{
	if (b->layout->frame.is_entry != LAYOUT_NONE)
		fakemem_put_u8(&b->fm, addr + b->layout->frame.is_entry, 1);
	else
		set_owner(b, addr, SHIM_OWNER);
}

/*
 * Two evaluations: inner (HEAP, entered by HEAP + 512) was called by outer
 * (HEAP + 1024, entered by HEAP + 1536).
 */
static void put_two_evaluations(struct bench *b)
{
	put_frame(b, HEAP, HEAP + 512, CODE, 6);
	put_frame(b, HEAP + 512, HEAP + 1024, CODE + 512, 0);
	set_entry(b, HEAP + 512);
	put_frame(b, HEAP + 1024, HEAP + 1536, CODE + 1024, 0);
	put_frame(b, HEAP + 1536, 0, CODE + 1536, 0);
	set_entry(b, HEAP + 1536);
	set_leaf(b, HEAP);
	set_below(b, HEAP + 1024);
}

static void walks_through_evaluations_within_evaluations(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		(void)walk_both(&b);
		/* From 3.12 on the entries are frames of their own. */
		assert_int_equal(b.n, minor == 11 ? 4 : 2);
		assert_int_equal(got[0].code, CODE);
		teardown(&b);
	}
}

/* Its cframe is the newest, and has what another evaluation left there. */
static void shows_the_caller_of_an_evaluation_that_has_not_begun(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		/* A generator that ran here before, and belongs to nobody now. */
		put_frame(&b, HEAP + 2048, HEAP + 2560, CODE + 2048, 0);
		put_frame(&b, HEAP + 2560, 0, CODE + 2560, 0);
		set_entry(&b, HEAP + 2560);
		set_leaf(&b, HEAP + 2048);
		(void)walk_both(&b);
		assert_int_equal(got[0].code, CODE + 1024);
		assert_int_equal(b.n, minor == 11 ? 2 : 1);
		teardown(&b);
	}
}

static void shows_the_caller_whatever_was_left_in_a_new_cframe(void **state)
{
	static const uint64_t left[] = { 0, 3, 0xdead0000, HEAP + 2048 };

	(void)state;
	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		struct bench b;

		setup(&b, 11, false);
		put_two_evaluations(&b);
		/* A frame without an entry below it, and without a code. */
		put_frame(&b, HEAP + 2048, 0, i % 2 ? 0 : CODE, 0);
		set_leaf(&b, left[i]);
		(void)walk_both(&b);
		assert_int_equal(b.n, 2);
		assert_int_equal(got[0].code, CODE + 1024);
		teardown(&b);
	}
}

/* The thread points to it already, and it to nothing: it lies on the C stack. */
static void drops_the_stack_while_a_cframe_is_not_filled_in(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;
		size_t n = 0;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		put_frame(&b, HEAP + 2048, 0, CODE, 0);
		set_entry(&b, HEAP + 2048);
		fakemem_zero(&b.fm, STACK, 64);
		fakemem_put_u64(&b.fm, STACK + b.layout->cframe.current,
				HEAP + 2048);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, STACK);
		assert_int_equal(
			frame_walk(&b.mem, b.layout, TSTATE, got, MAX, &n),
			OUT_TORN);
		teardown(&b);
	}
}

/* What the newest cframe names as the one below it was one once. */
static void shows_no_frame_of_a_cframe_that_is_none_any_more(void **state)
{
	/* What is there now of the one below that: its frame, and the next. */
	static const uint64_t left[][2] = {
		{ 0, 0 }, { 0, 0xdead0000 }, { HEAP + 1024, 0 }, { 3, 5 }
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(left) / sizeof(*left); i++) {
		const uint64_t *last = left[i / 2];
		uint64_t once = STACK + 256, lower = STACK + 512;
		struct bench b;
		size_t n = 0;

		setup(&b, 11 + i % 2, false);
		put_two_evaluations(&b);
		/* A generator that is not running has none below it. */
		put_frame(&b, HEAP + 2048, 0, CODE, 0);
		set_entry(&b, HEAP + 2048);
		fakemem_zero(&b.fm, STACK, 1024);
		put_cframe(&b, STACK, 0xdead0000, once);
		put_cframe(&b, once, HEAP + 2048, lower);
		put_cframe(&b, lower, last[0], last[1]);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, STACK);
		assert_int_equal(
			frame_walk(&b.mem, b.layout, TSTATE, got, MAX, &n),
			OUT_TORN);
		teardown(&b);
	}
}

/*
 * Both fields of a new cframe fit by chance: what is left of calls that have returned,
 * beyond where the data stack is in use, leads to the evaluation below.
 */
static void takes_no_call_that_has_returned_for_a_frame(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;
		uint64_t top;
		size_t n = 0;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		top = TSTATE + b.layout->thread.datastack_chunk + 8;
		put_frame(&b, HEAP + 4096, HEAP + 3584, CODE + 2048, 0);
		put_frame(&b, HEAP + 3584, HEAP + 512, CODE + 2560, 0);
		set_leaf(&b, HEAP + 4096);
		(void)walk_both(&b);
		assert_int_equal(got[0].code, CODE + 2048);
		fakemem_put_u64(&b.fm, top, HEAP + 3584);
		fakemem_put_u64(&b.fm, top + 8, HEAP + 8192);
		(void)walk_both(&b);
		assert_int_equal(got[0].code, CODE + 1024);
		/* One that has just been given back has returned, and no more. */
		set_leaf(&b, HEAP + 3584);
		assert_int_equal(
			frame_walk(&b.mem, b.layout, TSTATE, got, MAX, &n), 0);
		assert_int_equal(n, minor == 11 ? 3 : 1);
		assert_int_equal(got[0].code,
				 minor == 11 ? CODE + 512 : CODE + 1024);
		teardown(&b);
	}
}

/* A library that has stacks of its own begins each with a cframe of its own. */
static void begins_where_a_library_has_put_a_cframe(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		put_frame(&b, HEAP + 512, 0, CODE + 512, 0);
		set_entry(&b, HEAP + 512);
		fakemem_zero(&b.fm, STACK, 1024);
		put_cframe(&b, STACK, HEAP, STACK + 256);
		put_cframe(&b, STACK + 256, 0, CFRAME);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, STACK);
		(void)walk_both(&b);
		assert_int_equal(b.n, minor == 11 ? 2 : 1);
		assert_int_equal(got[0].code, CODE);
		teardown(&b);
	}
}

static void shows_nothing_before_the_first_evaluation(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 11, false);
	put_two_evaluations(&b);
	set_leaf(&b, 0xdead0000);
	set_below(&b, 0);
	(void)walk_both(&b);
	assert_int_equal(b.n, 0);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_through_evaluations_within_evaluations),
		cmocka_unit_test(
			shows_the_caller_of_an_evaluation_that_has_not_begun),
		cmocka_unit_test(
			shows_the_caller_whatever_was_left_in_a_new_cframe),
		cmocka_unit_test(
			drops_the_stack_while_a_cframe_is_not_filled_in),
		cmocka_unit_test(
			shows_no_frame_of_a_cframe_that_is_none_any_more),
		cmocka_unit_test(takes_no_call_that_has_returned_for_a_frame),
		cmocka_unit_test(begins_where_a_library_has_put_a_cframe),
		cmocka_unit_test(shows_nothing_before_the_first_evaluation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
