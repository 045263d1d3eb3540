/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>

#include "linux/perch.h"

static void goes_where_it_is_sent(void **state)
{
	struct perch *perch;
	cpu_set_t before, set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(perch_new(&perch, NULL), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &before))
			continue;
		assert_int_equal(perch_move(perch, cpu), 0);
		assert_int_equal(perch_cpu(), cpu);
		assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
		assert_int_equal(CPU_COUNT(&set), 1);
	}
	perch_free(perch);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void stays_within_what_it_was_given(void **state)
{
	struct perch *perch;
	cpu_set_t before, one;
	int first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(first, &before))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(perch_new(&perch, NULL), 0);
	for (int cpu = -1; cpu < CPU_SETSIZE; cpu++)
		if (cpu != first)
			assert_int_equal(perch_move(perch, cpu), -EPERM);
	assert_int_equal(perch_move(perch, 1 << 20), -EPERM);
	assert_int_equal(perch_move(perch, first), 0);
	perch_free(perch);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_where_it_is_sent),
		cmocka_unit_test(stays_within_what_it_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
