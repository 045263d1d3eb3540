/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "roletest.h"

/* --- what is to be said of it */

/* A member of a Pool: forked, so with its parent's frames below. */
static void add_starved(struct fixture *f, int32_t pid, enum wait_kind wait,
			const char *leaf)
{
	uint32_t thread = add_child(f, pid, "python3 main.py", 0, 10000, 0);

	busy(f, thread, 0, 1500, PARENT ";" POOL ";main.py:work:4");
	str_clear(&f->text);
	str_printf(&f->text, "%s;%s;%s", PARENT, POOL, leaf);
	idle(f, thread, 1500, 8500, f->text.at, wait);
}

static void says_that_a_pool_waits_for_its_parent(void **state)
{
	struct fixture *f = *state;
	const struct role *role;

	add_starved(
		f, 101, WAIT_PIPE,
		"/usr/lib/python3.11/multiprocessing/connection.py:_recv:9");
	for (int i = 1; i < 4; i++)
		add_starved(f, 101 + i, WAIT_LOCK,
			    "/usr/lib/python3.11/multiprocessing/queues.py:"
			    "get:364");
	role = pool(f, 10000);
	assert_string_equal(reading(f, role),
			    "waits for its parent: 85 % of the time in a pipe "
			    "read or the lock before it");
	/* It had been ready from the start. */
	assert_int_equal(role->start_known, 4);
	assert_int_equal(role->start_mean_ns, 0);
}

static void says_what_else_it_waits_for(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, -1);

		busy(f, thread, 0, 300, "w.py:work:1");
		idle(f, thread, 300, 700,
		     "w.py:work:1;db.py:qu\x1b"
		     "ery:7",
		     WAIT_SOCKET);
	}
	assert_string_equal(reading(f, pool(f, 1000)),
			    "waits at a socket: 70 % of the time, mostly in "
			    "qu\\x1bery");
}

static void says_how_uneven_it_is(void **state)
{
	static const uint64_t ms[] = { 200, 300, 250, 620 };
	struct fixture *f = *state;

	for (int i = 0; i < 4; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, -1);

		busy(f, thread, 0, ms[i], "w.py:work:1");
		idle(f, thread, ms[i], 1000 - ms[i], "w.py:get:2", WAIT_PIPE);
	}
	assert_string_equal(reading(f, pool(f, 1000)),
			    "uneven: the busiest member has 3.1 times the CPU "
			    "of the least busy");
}

static void says_that_the_lock_of_the_interpreter_is_in_the_way(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, -1);

		busy(f, thread, 0, 600, "w.py:work:1");
		idle(f, thread, 600, 400, "w.py:work:1", WAIT_GIL);
	}
	assert_string_equal(reading(f, pool(f, 1000)),
			    "the GIL: 40 % of the time that its threads wanted "
			    "to run they waited for it");
}

static void says_that_there_are_too_few_cpus(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		struct slice slice = {
			.thread = add_child(f, 101 + i, "python3 w.py", 0, 1000,
					    -1),
			.seen = { .stack = maker_stack(&f->m, "w.py:work:1"),
				  .run = RUN_ON_CPU },
			.weight = { .wall_ns = 1000 * PAST_MS,
				    .cpu_ns = 550 * PAST_MS,
				    .samples = 100 },
		};

		maker_slice(&f->m, &slice);
	}
	assert_string_equal(reading(f, pool(f, 1000)),
			    "short of CPUs: 45 % of the time that it was ready "
			    "to run it had none");
}

static void says_that_it_is_mostly_starting_up(void **state)
{
	struct fixture *f = *state;
	const struct role *role;

	for (int i = 0; i < 2; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 100, 1100, 0);

		/* Importing takes the CPU, and so does its own work. */
		busy(f, thread, 100, 600, "w.py:<module>:1;" IMPORT);
		busy(f, thread, 700, 400, "w.py:<module>:9");
	}
	role = pool(f, 1200);
	assert_int_equal(role->start_known, 2);
	assert_int_equal(role->start_mean_ns, 600 * PAST_MS);
	assert_string_equal(reading(f, role),
			    "mostly starting up: 0.6 s of a life of 1 s pass "
			    "before work of its own begins");
}

static void says_that_it_is_mostly_forking(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++)
		busy(f,
		     add_child(f, 101 + i, "python3 w.py", 40 * i, 40 * i + 30,
			       0),
		     40 * i, 30, "w.py:work:1");
	assert_string_equal(reading(f, pool(f, 1000)),
			    "mostly forking: 20 members lived 0.03 s each, of "
			    "which 0.03 s on a CPU");
}

static void says_who_kept_the_others_waiting(void **state)
{
	struct fixture *f = *state;
	const struct role *role;

	for (int i = 0; i < 4; i++) {
		uint64_t ms = i == 2 ? 1000 : 600;
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, 0);

		busy(f, thread, 0, ms, "w.py:work:1");
		if (ms < 1000)
			idle(f, thread, ms, 1000 - ms, "w.py:get:2", WAIT_PIPE);
	}
	role = pool(f, 1000);
	assert_int_equal(role->stragglers, 1);
	assert_int_equal(role->straggle_ns, 400 * PAST_MS);
	assert_string_equal(reading(f, role),
			    "stragglers: the others waited for 1 of 4 for "
			    "0.4 s, 40 % of the time");
}

static void waits_for_none_that_has_been_replaced(void **state)
{
	static const uint64_t from[] = { 0, 0, 290 }, to[] = { 290, 290, 1000 };
	struct fixture *f = *state;
	const struct role *role;

	for (int i = 0; i < 3; i++)
		busy(f,
		     add_child(f, 101 + i, "python3 w.py", from[i], to[i], 0),
		     from[i], to[i] - from[i], "w.py:work:1");
	role = pool(f, 1000);
	/* It came when the second had gone: nobody waited for it. */
	assert_int_equal(role->stragglers, 0);
	assert_int_equal(role->straggle_ns, 0);
	assert_int_equal(role->at_once, 2);
}

static void takes_whoever_waits_for_the_lock_as_waiting_for_it(void **state)
{
	struct fixture *f = *state;
	const struct role *role;

	for (int i = 0; i < 2; i++) {
		struct slice slice = {
			.thread = add_child(f, 101 + i, "python3 w.py", 0, 1000,
					    -1),
			.seen = { .stack = maker_stack(&f->m, "w.py:work:1"),
				  .run = RUN_IDLE,
				  .gil = GIL_WAITED,
				  .wait = WAIT_LOCK },
			.weight = { .wall_ns = 1000 * PAST_MS },
		};

		maker_slice(&f->m, &slice);
	}
	role = pool(f, 1000);
	assert_int_equal(role->waits[WAIT_GIL], 2000 * PAST_MS);
	assert_int_equal(role->waits[WAIT_LOCK], 0);
	assert_int_equal(role->gil_wait_ns, 2000 * PAST_MS);
}

static void says_nothing_of_what_is_not_clear(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, -1);

		busy(f, thread, 0, 600, "w.py:work:1");
		idle(f, thread, 600, 400, "w.py:get:2", WAIT_PIPE);
	}
	assert_string_equal(reading(f, pool(f, 1000)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(says_that_a_pool_waits_for_its_parent),
		TEST(says_what_else_it_waits_for),
		TEST(says_how_uneven_it_is),
		TEST(says_that_the_lock_of_the_interpreter_is_in_the_way),
		TEST(says_that_there_are_too_few_cpus),
		TEST(says_that_it_is_mostly_starting_up),
		TEST(says_that_it_is_mostly_forking),
		TEST(says_who_kept_the_others_waiting),
		TEST(waits_for_none_that_has_been_replaced),
		TEST(takes_whoever_waits_for_the_lock_as_waiting_for_it),
		TEST(says_nothing_of_what_is_not_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
