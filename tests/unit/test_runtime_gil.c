/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "runtimetest.h"

static void knows_the_one_gil_up_to_3_11(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;

	put_target(t, 11);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_OK);
	assert_int_equal(tstate, 0);
	fakemem_put_u64(&t->fm, RUNTIME + 576, THREAD);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_OK);
	assert_int_equal(tstate, THREAD);
}

static void asks_the_interpreters_own_gil_from_3_12(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;

	fakemem_zero(&t->fm, GIL, 64);
	fakemem_put_u64(&t->fm, MAIN + 384, GIL);
	fakemem_put_u64(&t->fm, GIL + 8, THREAD + STEP);
	fakemem_put_u32(&t->fm, GIL + 16, 1);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_OK);
	assert_int_equal(tstate, THREAD + STEP);
}

static void does_not_take_the_last_holder_for_the_holder(void **state)
{
	struct target *t = *state;
	const uint32_t not_locked[] = { 0, UINT32_MAX };
	uint64_t tstate;

	fakemem_zero(&t->fm, GIL, 64);
	fakemem_put_u64(&t->fm, MAIN + 384, GIL);
	fakemem_put_u64(&t->fm, GIL + 8, THREAD + STEP);
	for (size_t i = 0; i < 2; i++) {
		tstate = 77;
		fakemem_put_u32(&t->fm, GIL + 16, not_locked[i]);
		assert_int_equal(
			runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			OUT_OK);
		assert_int_equal(tstate, 0);
	}
}

static void knows_no_holder_without_a_gil(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;

	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_OK);
	assert_int_equal(tstate, 0);
	tstate = 77;
	t->rt.layout = *layout_find(3, 13, true);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_UNKNOWN);
	assert_int_equal(tstate, 77);
}

static void tells_whose_turn_it_is_in_one_call(void **state)
{
	struct target *t = *state;
	struct gilturn turn = { 0 };
	unsigned calls;

	fakemem_zero(&t->fm, GIL, 64);
	fakemem_put_u64(&t->fm, MAIN + 384, GIL);
	fakemem_put_u64(&t->fm, GIL + 8, THREAD + STEP);
	fakemem_put_u64(&t->fm, GIL + 24, 41);
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_OK);
	assert_int_equal(turn.holder, THREAD + STEP);
	assert_int_equal(turn.number, 41);
	fakemem_put_u64(&t->fm, GIL + 24, 42);
	calls = t->fm.calls;
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_OK);
	assert_int_equal(turn.number, 42);
	assert_int_equal(t->fm.calls - calls, 1);
	/* The GIL of another interpreter from now on. */
	fakemem_zero(&t->fm, GIL + 256, 64);
	fakemem_put_u64(&t->fm, GIL + 256 + 24, 7);
	fakemem_put_u64(&t->fm, MAIN + 384, GIL + 256);
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_OK);
	assert_int_equal(turn.number, 7);
}

static void knows_no_turn_without_a_gil_of_its_own(void **state)
{
	struct target *t = *state;
	struct gilturn turn = { 0 };

	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_UNKNOWN);
	turn.gil = 1; /* points nowhere */
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_UNKNOWN);
	t->rt.layout = *layout_find(3, 13, true);
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_UNKNOWN);
	put_target(t, 11);
	assert_int_equal(runtime_gil_turn(&t->mem, &t->rt, MAIN, &turn),
			 OUT_UNKNOWN);
}

static void knows_where_the_lock_is_waited_for(void **state)
{
	struct target *t = *state;
	uint64_t start = 77, stop = 77;

	fakemem_put_u64(&t->fm, MAIN + 384, GIL);
	assert_int_equal(
		runtime_gil_futexes(&t->mem, &t->rt, MAIN, &start, &stop),
		OUT_OK);
	assert_int_equal(start, GIL);
	assert_in_range(stop, GIL + 64, GIL + 4096);
	/* Where nothing can be: the end would come before the start. */
	fakemem_put_u64(&t->fm, MAIN + 384, UINT64_MAX - 15);
	assert_int_equal(
		runtime_gil_futexes(&t->mem, &t->rt, MAIN, &start, &stop),
		OUT_OK);
	assert_int_equal(start, 0);
	assert_int_equal(stop, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(knows_the_one_gil_up_to_3_11),
		WITH_TARGET(asks_the_interpreters_own_gil_from_3_12),
		WITH_TARGET(does_not_take_the_last_holder_for_the_holder),
		WITH_TARGET(knows_no_holder_without_a_gil),
		WITH_TARGET(tells_whose_turn_it_is_in_one_call),
		WITH_TARGET(knows_no_turn_without_a_gil_of_its_own),
		WITH_TARGET(knows_where_the_lock_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
