/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "linux/following.h"

static uint64_t now;

static bool forks(struct following *f, pid_t parent, pid_t pid)
{
	struct event event = { .kind = EVENT_FORK,
			       .pid = pid,
			       .parent = parent,
			       .time_ns = ++now };

	return following_wants(f, &event);
}

static bool execs(struct following *f, pid_t pid)
{
	struct event event = { .kind = EVENT_EXEC,
			       .pid = pid,
			       .time_ns = ++now };

	return following_wants(f, &event);
}

static int begin(void **state)
{
	now = 100;
	*state = following_new();
	return *state ? 0 : -1;
}

static int end(void **state)
{
	following_free(*state);
	return 0;
}

static void wants_nothing_of_strangers(void **state)
{
	struct following *f = *state;

	following_add(f, 10);
	assert_false(forks(f, 1, 11));
	assert_false(execs(f, 11));
	assert_false(forks(f, 11, 12));
	assert_int_equal(following_strangers(f), 3);
	assert_true(execs(f, 10));
}

static void follows_children_and_theirs_from_their_births(void **state)
{
	struct following *f = *state;

	following_add(f, 10);
	assert_true(forks(f, 10, 11));
	assert_true(forks(f, 11, 12));
	assert_true(execs(f, 12));
	assert_int_equal(following_count(f), 3);
}

static void wants_to_know_of_losses(void **state)
{
	struct event lost = { .kind = EVENT_LOST };

	assert_true(following_wants(*state, &lost));
}

static void
wants_the_birth_of_a_stranger_with_a_number_that_is_followed(void **state)
{
	struct following *f = *state;

	following_add(f, 10);
	assert_true(forks(f, 1, 10));
}

/* 20 is found in a snapshot; it has forked since, and its child has. */
static void follows_whom_they_forked_while_they_were_looked_for(void **state)
{
	struct following *f = *state;

	following_open(f);
	assert_true(forks(f, 20, 21));
	assert_true(forks(f, 21, 22));
	assert_true(forks(f, 1, 31));
	following_add(f, 20);
	following_close(f);
	assert_true(execs(f, 21));
	assert_true(forks(f, 22, 23));
	assert_false(execs(f, 31));
}

static void a_number_that_was_given_anew_is_not_dropped(void **state)
{
	struct following *f = *state;
	uint64_t left_ns;

	following_add(f, 10);
	assert_true(forks(f, 10, 11));
	left_ns = ++now;
	assert_true(forks(f, 10, 11)); /* another one */
	following_drop(f, 11, left_ns);
	assert_true(execs(f, 11));
	following_drop(f, 11, now);
	assert_false(execs(f, 11));
}

static void wants_everything_when_too_many_births_were_kept(void **state)
{
	struct following *f = *state;

	following_open(f);
	for (pid_t pid = 100; pid < 100 + 70000; pid++)
		assert_true(forks(f, 1, pid));
	following_close(f);
	assert_true(execs(f, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wants_nothing_of_strangers,
						begin, end),
		cmocka_unit_test_setup_teardown(
			follows_children_and_theirs_from_their_births, begin,
			end),
		cmocka_unit_test_setup_teardown(wants_to_know_of_losses, begin,
						end),
		cmocka_unit_test_setup_teardown(
			wants_the_birth_of_a_stranger_with_a_number_that_is_followed,
			begin, end),
		cmocka_unit_test_setup_teardown(
			follows_whom_they_forked_while_they_were_looked_for,
			begin, end),
		cmocka_unit_test_setup_teardown(
			a_number_that_was_given_anew_is_not_dropped, begin,
			end),
		cmocka_unit_test_setup_teardown(
			wants_everything_when_too_many_births_were_kept, begin,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
