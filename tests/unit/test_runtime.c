/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/layout.h"
#include "python/runtime.h"

#define RUNTIME 0x500000u
#define MAIN 0x600000u /* the main interpreter */
#define OTHER 0x640000u
#define THREAD 0x700000u /* thread states, THREAD_STEP apart */
#define STEP 0x1000u
#define GIL 0x800000u

#define MAX_THREADS 8

struct target {
	struct fakemem fm;
	struct mem mem;
	struct runtime rt;
	struct pythread threads[MAX_THREADS];
	size_t n;
	uint64_t mark;
};

static void put_interp(struct target *t, uint64_t addr, uint64_t id,
		       uint64_t next, uint64_t thread_head)
{
	const struct layout *layout = &t->rt.layout;

	fakemem_zero(&t->fm, addr, 8192);
	fakemem_put_u64(&t->fm, addr + layout->interp.id, id);
	fakemem_put_u64(&t->fm, addr + layout->interp.next, next);
	fakemem_put_u64(&t->fm, addr + layout->interp.thread_head, thread_head);
	fakemem_put_u64(&t->fm, addr + layout->interp.next_thread_id, 5);
}

/* Thread state @i of @interp, with pthread 0xa00 + i and tid 900 + i. */
static uint64_t put_thread(struct target *t, unsigned i, uint64_t interp,
			   uint64_t next)
{
	const struct layout *layout = &t->rt.layout;
	uint64_t addr = THREAD + i * STEP;

	fakemem_zero(&t->fm, addr, 400);
	fakemem_put_u64(&t->fm, addr + layout->thread.interp, interp);
	fakemem_put_u64(&t->fm, addr + layout->thread.next, next);
	fakemem_put_u64(&t->fm, addr + layout->thread.thread_id, 0xa00 + i);
	if (layout->thread.native_id != LAYOUT_NONE)
		fakemem_put_u64(&t->fm, addr + layout->thread.native_id,
				900 + i);
	return addr;
}

/* One interpreter with threads 2, 1, 0: newest first. */
static void put_target(struct target *t, unsigned minor)
{
	uint64_t next = 0;

	t->rt.layout = *layout_find(3, minor, false);
	t->rt.address = RUNTIME;
	t->rt.interp_hint = MAIN;
	fakemem_zero(&t->fm, RUNTIME, 2048);
	fakemem_put_u64(&t->fm, RUNTIME + t->rt.layout.runtime.interp_head,
			MAIN);
	for (unsigned i = 0; i < 3; i++)
		next = put_thread(t, i, MAIN, next);
	put_interp(t, MAIN, 0, 0, next);
}

static int target_setup(void **state)
{
	static struct target target;

	target = (struct target){ .n = 77, .mark = 77 };
	target.mem = fakemem_mem(&target.fm);
	put_target(&target, 12);
	*state = &target;
	return 0;
}

static int target_teardown(void **state)
{
	struct target *target = *state;

	fakemem_free(&target->fm);
	return 0;
}

static int list(struct target *t, size_t max)
{
	return runtime_threads(&t->mem, &t->rt, t->threads, max, &t->n,
			       &t->mark);
}

static void assert_left_alone(const struct target *t)
{
	assert_int_equal(t->n, 77);
	assert_int_equal(t->mark, 77);
}

/* Interpreter OTHER, id 1, in front of MAIN, with threads 4, 3. */
static void put_other(struct target *t)
{
	uint64_t next = put_thread(t, 3, OTHER, 0);

	next = put_thread(t, 4, OTHER, next);
	put_interp(t, OTHER, 1, MAIN, next);
	fakemem_put_u64(&t->fm, RUNTIME + t->rt.layout.runtime.interp_head,
			OTHER);
}

static void lists_threads_newest_first(void **state)
{
	struct target *t = *state;

	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(t->threads[i].tstate, THREAD + (2 - i) * STEP);
		assert_int_equal(t->threads[i].interp, MAIN);
		assert_int_equal(t->threads[i].interp_id, 0);
		assert_int_equal(t->threads[i].pthread, 0xa00 + 2 - i);
		assert_int_equal(t->threads[i].native, 900 + 2 - i);
	}
}

static void lists_those_of_all_interpreters(void **state)
{
	struct target *t = *state;

	put_other(t);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 5);
	assert_int_equal(t->threads[0].interp_id, 1);
	assert_int_equal(t->threads[1].interp, OTHER);
	assert_int_equal(t->threads[2].interp, MAIN);
	assert_int_equal(t->threads[4].native, 900);
}

static void has_no_native_ids_before_3_11(void **state)
{
	struct target *t = *state;

	put_target(t, 10);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 3);
	assert_int_equal(t->threads[0].pthread, 0xa02);
	assert_int_equal(t->threads[0].native, 0);
}

static void has_no_threads_without_an_interpreter(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, RUNTIME + t->rt.layout.runtime.interp_head, 0);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 0);
}

static void writes_the_first_when_there_are_more(void **state)
{
	struct target *t = *state;

	assert_int_equal(list(t, 2), OUT_FULL);
	assert_int_equal(t->n, 2);
	assert_int_equal(t->threads[1].native, 901);
	assert_int_equal(t->threads[2].tstate, 0);
	assert_int_equal(t->mark, 77);
	assert_int_equal(list(t, 3), OUT_OK);
}

static void is_torn_by_a_thread_of_another_interpreter(void **state)
{
	struct target *t = *state;

	put_thread(t, 1, OTHER, THREAD);
	assert_int_equal(list(t, MAX_THREADS), OUT_TORN);
	assert_left_alone(t);
}

static void is_torn_by_a_link_that_leads_nowhere(void **state)
{
	struct target *t = *state;

	put_thread(t, 1, MAIN, 0xdead0000);
	assert_int_equal(list(t, MAX_THREADS), OUT_TORN);
	assert_left_alone(t);
}

static void is_not_trapped_by_a_ring_of_threads(void **state)
{
	static struct pythread threads[RUNTIME_MAX_THREADS + 1];
	struct target *t = *state;

	put_thread(t, 0, MAIN, THREAD + 2 * STEP);
	assert_int_equal(runtime_threads(&t->mem, &t->rt, threads,
					 RUNTIME_MAX_THREADS + 1, &t->n,
					 &t->mark),
			 OUT_TORN);
	assert_left_alone(t);
}

static void is_not_trapped_by_a_ring_of_interpreters(void **state)
{
	struct target *t = *state;

	put_interp(t, MAIN, 0, MAIN, 0);
	assert_int_equal(list(t, MAX_THREADS), OUT_TORN);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &t->mark), OUT_TORN);
	assert_left_alone(t);
}

/* A thread is born when the third read of the walk begins. */
static void thread_is_born(struct fakemem *fm, void *arg)
{
	struct target *t = arg;

	if (fm->calls != 3)
		return;
	fakemem_put_u64(fm, MAIN + t->rt.layout.interp.thread_head,
			put_thread(t, 5, MAIN, THREAD + 2 * STEP));
}

static void is_torn_when_a_thread_is_born_meanwhile(void **state)
{
	struct target *t = *state;

	t->fm.hook = thread_is_born;
	t->fm.hook_arg = t;
	assert_int_equal(list(t, MAX_THREADS), OUT_TORN);
	assert_left_alone(t);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 4);
}

static void gives_the_mark_of_the_list_again_in_one_call(void **state)
{
	struct target *t = *state;
	uint64_t again = 0;
	unsigned calls;

	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	calls = t->fm.calls;
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &again), OUT_OK);
	assert_int_equal(t->fm.calls, calls + 1);
	assert_int_equal(again, t->mark);
}

static void gives_the_same_mark_whatever_the_hint(void **state)
{
	struct target *t = *state;
	const uint64_t hints[] = { 0, OTHER, 0xdead0000 };
	uint64_t mark;

	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	for (size_t i = 0; i < 3; i++) {
		t->rt.interp_hint = hints[i];
		assert_int_equal(runtime_mark(&t->mem, &t->rt, &mark), OUT_OK);
		assert_int_equal(mark, t->mark);
	}
}

static void
changes_the_mark_with_a_thread_born_at_a_dead_ones_place(void **state)
{
	struct target *t = *state;
	uint64_t mark;

	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	fakemem_put_u64(&t->fm, MAIN + t->rt.layout.interp.next_thread_id, 6);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &mark), OUT_OK);
	assert_int_not_equal(mark, t->mark);
}

static void changes_the_mark_with_another_interpreters_thread(void **state)
{
	struct target *t = *state;
	uint64_t mark;

	put_other(t);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	fakemem_put_u64(&t->fm, MAIN + t->rt.layout.interp.thread_head,
			THREAD + STEP);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &mark), OUT_OK);
	assert_int_not_equal(mark, t->mark);
}

static void gives_no_mark_while_a_thread_has_no_ids(void **state)
{
	struct target *t = *state;
	uint64_t newest = THREAD + 2 * STEP;

	fakemem_put_u64(&t->fm, newest + t->rt.layout.thread.thread_id, 0);
	fakemem_put_u64(&t->fm, newest + t->rt.layout.thread.native_id, 0);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->n, 3);
	assert_int_equal(t->mark, RUNTIME_NO_MARK);
}

static void gives_no_mark_while_a_thread_has_its_makers_id(void **state)
{
	struct target *t = *state;

	put_target(t, 10);
	fakemem_put_u64(&t->fm,
			THREAD + 2 * STEP + t->rt.layout.thread.thread_id,
			0xa00);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_equal(t->mark, RUNTIME_NO_MARK);
}

static void lets_a_thread_be_in_two_interpreters(void **state)
{
	struct target *t = *state;

	put_other(t);
	fakemem_put_u64(&t->fm,
			THREAD + 3 * STEP + t->rt.layout.thread.thread_id,
			0xa00);
	fakemem_put_u64(&t->fm,
			THREAD + 3 * STEP + t->rt.layout.thread.native_id, 900);
	assert_int_equal(list(t, MAX_THREADS), OUT_OK);
	assert_int_not_equal(t->mark, RUNTIME_NO_MARK);
}

static void has_a_mark_without_an_interpreter(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, RUNTIME + t->rt.layout.runtime.interp_head, 0);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &t->mark), OUT_OK);
	assert_int_not_equal(t->mark, RUNTIME_NO_MARK);
}

static void passes_on_that_the_target_is_gone(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;
	pid_t tid = 77;

	t->fm.fail = OUT_GONE;
	assert_int_equal(list(t, MAX_THREADS), OUT_GONE);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &t->mark), OUT_GONE);
	assert_int_equal(runtime_pthread_tid(&t->mem, GIL, &tid), OUT_GONE);
	t->fm.fail = OUT_DENIED;
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_DENIED);
	assert_left_alone(t);
	assert_int_equal(tstate, 77);
	assert_int_equal(tid, 77);
}

static void finds_the_tid_in_a_pthread(void **state)
{
	struct target *t = *state;
	pid_t tid = 0;

#ifdef __aarch64__
	fakemem_put_u32(&t->fm, GIL + 208, 4242);
#else
	fakemem_put_u32(&t->fm, GIL + 720, 4242);
#endif
	assert_int_equal(runtime_pthread_tid(&t->mem, GIL, &tid), OUT_OK);
	assert_int_equal(tid, 4242);
}

static void has_no_tid_where_there_can_be_none(void **state)
{
	struct target *t = *state;
	pid_t tid = 77;

	assert_int_equal(runtime_pthread_tid(&t->mem, 0, &tid), OUT_OK);
	assert_int_equal(tid, 0);
	tid = 77;
	assert_int_equal(runtime_pthread_tid(&t->mem, 0xdead0000, &tid),
			 OUT_OK);
	assert_int_equal(tid, 0);
	fakemem_zero(&t->fm, GIL, 1024);
	fakemem_put_u32(&t->fm, GIL + 720, UINT32_MAX);
	fakemem_put_u32(&t->fm, GIL + 208, UINT32_MAX);
	assert_int_equal(runtime_pthread_tid(&t->mem, GIL, &tid), OUT_OK);
	assert_int_equal(tid, 0);
}

/* As musl has it: the numbers at another place, and the same word in all. */
static void put_pthreads(struct target *t)
{
	for (unsigned i = 0; i < 3; i++) {
		fakemem_zero(&t->fm, GIL + i * STEP, 1024);
		fakemem_put_u32(&t->fm, GIL + i * STEP + 8, 30);
		fakemem_put_u32(&t->fm, GIL + i * STEP + 48, 30 + i);
	}
}

static void finds_where_another_c_library_keeps_the_tid(void **state)
{
	static const uint64_t pthreads[] = { GIL, GIL + STEP, GIL + 2 * STEP };
	static const pid_t tids[] = { 30, 31, 32, 33 };
	struct target *t = *state;
	uint16_t offset = 77;
	pid_t tid;

	put_pthreads(t);
	assert_int_equal(
		runtime_find_tid(&t->mem, pthreads, 3, tids, 4, &offset),
		OUT_OK);
	assert_int_equal(offset, 48);
	assert_int_equal(
		runtime_pthread_tid_at(&t->mem, GIL + STEP, offset, &tid),
		OUT_OK);
	assert_int_equal(tid, 31);
}

static void does_not_guess_where_the_tid_is(void **state)
{
	static const uint64_t pthreads[] = { GIL, GIL + STEP, GIL + 2 * STEP };
	static const pid_t tids[] = { 30, 31, 33 };
	struct target *t = *state;
	uint16_t offset;

	put_pthreads(t);
	assert_int_equal(
		runtime_find_tid(&t->mem, pthreads, 3, tids, 3, &offset),
		OUT_UNKNOWN);
	/* Of one thread alone two places have the number. */
	assert_int_equal(
		runtime_find_tid(&t->mem, pthreads, 1, tids, 3, &offset),
		OUT_UNKNOWN);
	assert_int_equal(
		runtime_find_tid(&t->mem, pthreads, 0, tids, 3, &offset),
		OUT_UNKNOWN);
	t->fm.fail = OUT_GONE;
	assert_int_equal(
		runtime_find_tid(&t->mem, pthreads, 3, tids, 3, &offset),
		OUT_GONE);
}

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

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, target_setup, target_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(lists_threads_newest_first),
		WITH_TARGET(lists_those_of_all_interpreters),
		WITH_TARGET(has_no_native_ids_before_3_11),
		WITH_TARGET(has_no_threads_without_an_interpreter),
		WITH_TARGET(writes_the_first_when_there_are_more),
		WITH_TARGET(is_torn_by_a_thread_of_another_interpreter),
		WITH_TARGET(is_torn_by_a_link_that_leads_nowhere),
		WITH_TARGET(is_not_trapped_by_a_ring_of_threads),
		WITH_TARGET(is_not_trapped_by_a_ring_of_interpreters),
		WITH_TARGET(is_torn_when_a_thread_is_born_meanwhile),
		WITH_TARGET(gives_the_mark_of_the_list_again_in_one_call),
		WITH_TARGET(gives_the_same_mark_whatever_the_hint),
		WITH_TARGET(
			changes_the_mark_with_a_thread_born_at_a_dead_ones_place),
		WITH_TARGET(changes_the_mark_with_another_interpreters_thread),
		WITH_TARGET(gives_no_mark_while_a_thread_has_no_ids),
		WITH_TARGET(gives_no_mark_while_a_thread_has_its_makers_id),
		WITH_TARGET(lets_a_thread_be_in_two_interpreters),
		WITH_TARGET(has_a_mark_without_an_interpreter),
		WITH_TARGET(passes_on_that_the_target_is_gone),
		WITH_TARGET(finds_the_tid_in_a_pthread),
		WITH_TARGET(has_no_tid_where_there_can_be_none),
		WITH_TARGET(finds_where_another_c_library_keeps_the_tid),
		WITH_TARGET(does_not_guess_where_the_tid_is),
		WITH_TARGET(knows_the_one_gil_up_to_3_11),
		WITH_TARGET(asks_the_interpreters_own_gil_from_3_12),
		WITH_TARGET(does_not_take_the_last_holder_for_the_holder),
		WITH_TARGET(knows_no_holder_without_a_gil),
		WITH_TARGET(tells_whose_turn_it_is_in_one_call),
		WITH_TARGET(knows_no_turn_without_a_gil_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
