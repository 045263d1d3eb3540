/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

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

/* The thread of this process that is not its first. */
static pid_t other_task(void)
{
	DIR *tasks = opendir("/proc/self/task");
	pid_t found = 0;
	struct dirent *entry;

	assert_non_null(tasks);
	while ((entry = readdir(tasks)) != NULL)
		if (atoi(entry->d_name) && atoi(entry->d_name) != getpid())
			found = atoi(entry->d_name);
	(void)closedir(tasks);
	return found;
}

static void *sleep_until_told(void *ctx)
{
	sem_t *sems = ctx;

	(void)sem_post(&sems[0]);
	while (sem_wait(&sems[1]) < 0)
		;
	return NULL;
}

static void sends_another_thread_wherever_its_maker_may_be(void **state)
{
	struct perch *perch;
	cpu_set_t before, set;
	pthread_t thread;
	sem_t sems[2];

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(perch_new(&perch, NULL), 0);
	(void)sem_init(&sems[0], 0, 0);
	(void)sem_init(&sems[1], 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, sleep_until_told, sems),
			 0);
	while (sem_wait(&sems[0]) < 0)
		;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int r = perch_send(perch, other_task(), cpu);

		if (!CPU_ISSET(cpu, &before)) {
			assert_int_equal(r, -EPERM);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(
			sched_getaffinity(other_task(), sizeof(set), &set), 0);
		assert_int_equal(CPU_COUNT(&set), 1);
		assert_true(CPU_ISSET(cpu, &set));
	}
	/* We are where we were. */
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_true(CPU_EQUAL(&set, &before));
	(void)sem_post(&sems[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	perch_free(perch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_where_it_is_sent),
		cmocka_unit_test(stays_within_what_it_was_given),
		cmocka_unit_test(
			sends_another_thread_wherever_its_maker_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
