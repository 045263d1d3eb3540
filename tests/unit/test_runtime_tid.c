/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "runtimetest.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(finds_the_tid_in_a_pthread),
		WITH_TARGET(has_no_tid_where_there_can_be_none),
		WITH_TARGET(finds_where_another_c_library_keeps_the_tid),
		WITH_TARGET(does_not_guess_where_the_tid_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
