/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "runtimetest.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
