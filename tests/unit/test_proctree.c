/* SPDX-License-Identifier: Apache-2.0 */
#include "treetest.h"

static void takes_in_a_root_once(void **state)
{
	struct tree_test *t = *state;

	assert_int_equal(t->root, 0);
	assert_int_equal(proctree_add(t->tree, ROOT_PID, 7, 2000, true), 0);
	assert_int_equal(proctree_alive(t->tree), 1);
	assert_int_equal(of(t, ROOT_PID)->parent, PROCTREE_NONE);
	assert_false(of(t, ROOT_PID)->born_seen);
	expect(t, CHANGE_JOINED, 0, 1000);
	expect_nothing(t);
}

static void takes_in_a_root_anew_that_started_at_another_time(void **state)
{
	struct tree_test *t = *state;

	assert_int_equal(proctree_add(t->tree, ROOT_PID, 8, 2000, true), 1);
	assert_int_equal(proctree_alive(t->tree), 1);
	assert_int_equal(proctree_member(t->tree, 0)->state, MEMBER_LEFT);
}

static void joins_whom_a_member_forks(void **state)
{
	struct tree_test *t = *state;
	const struct member *m;

	forks(t, ROOT_PID, 101, 2000);
	forks(t, 101, 102, 2001);
	m = of(t, 102);
	assert_non_null(m);
	assert_int_equal(m->serial, 2);
	assert_int_equal(m->parent, 1);
	assert_int_equal(m->fork_tid, 102);
	assert_int_equal(m->born_ns, 2001);
	assert_true(m->born_seen);
	assert_false(m->found_late);
	assert_int_equal(m->start, 0);
	proctree_identify(t->tree, 2, 55);
	assert_int_equal(of(t, 102)->start, 55);
	expect(t, CHANGE_JOINED, 0, 1000);
	expect(t, CHANGE_JOINED, 1, 2000);
	expect(t, CHANGE_JOINED, 2, 2001);
	expect_nothing(t);
}

static void forgets_the_events_of_strangers(void **state)
{
	struct tree_test *t = *state;

	forget_changes(t);
	forks(t, 1, 50, 2000);
	execs(t, 50, 2001);
	exits(t, 50, 0, 2002);
	forks(t, ROOT_PID, 0, 2003);
	forks(t, ROOT_PID, -4, 2003);
	assert_int_equal(proctree_count(t->tree), 1);
	expect_nothing(t);
}

static void takes_exit_for_a_hint(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forget_changes(t);
	exits(t, 101, 0x300, 2100);
	exits(t, 101, 0x300, 2100);
	expect(t, CHANGE_ENDING, 1, 2100);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->state, MEMBER_ENDING);
	assert_int_equal(of(t, 101)->status, 0x300);
	assert_int_equal(proctree_alive(t->tree), 2);
	/* A thread of it that lives on may fork. */
	forks(t, 101, 102, 2200);
	expect(t, CHANGE_JOINED, 2, 2200);
	proctree_gone(t->tree, 1, 2300);
	proctree_gone(t->tree, 1, 2400);
	proctree_gone(t->tree, 99, 2400);
	expect(t, CHANGE_LEFT, 1, 2300);
	expect_nothing(t);
	assert_int_equal(proctree_find(t->tree, 101), PROCTREE_NONE);
	assert_int_equal(proctree_member(t->tree, 1)->left_ns, 2300);
	assert_int_equal(proctree_member(t->tree, 1)->ending_ns, 2100);
	assert_int_equal(proctree_alive(t->tree), 2);
}

static void revives_one_whose_other_thread_execs(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forget_changes(t);
	exits(t, 101, 0, 2100);
	execs(t, 101, 2101);
	/* Both once more: no news. */
	exits(t, 101, 0, 2100);
	execs(t, 101, 2101);
	expect(t, CHANGE_ENDING, 1, 2100);
	expect(t, CHANGE_EXEC, 1, 2101);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->state, MEMBER_ALIVE);
	assert_false(of(t, 101)->has_status);
	assert_int_equal(of(t, 101)->ending_ns, 0);
	assert_int_equal(of(t, 101)->execs, 1);
	execs(t, 101, 2102);
	assert_int_equal(of(t, 101)->execs, 2);
}

static void believes_the_last_exit(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forget_changes(t);
	exits(t, 101, 0, 2100);
	exits(t, 101, 11, 2200);
	exits(t, 101, 5, 2150);
	expect(t, CHANGE_ENDING, 1, 2100);
	expect(t, CHANGE_ENDING, 1, 2200);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->status, 11);
	assert_int_equal(of(t, 101)->ending_ns, 2200);
}

static void lets_the_owner_of_a_number_leave_before_the_next(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forget_changes(t);
	forks(t, ROOT_PID, 101, 3000);
	expect(t, CHANGE_LEFT, 1, 3000);
	expect(t, CHANGE_JOINED, 2, 3000);
	exits(t, 101, 9, 3100);
	expect(t, CHANGE_ENDING, 2, 3100);
	/* A stranger has it now; the end is known better than by its birth. */
	forks(t, 1, 101, 4000);
	expect(t, CHANGE_LEFT, 2, 3100);
	expect_nothing(t);
	assert_int_equal(proctree_find(t->tree, 101), PROCTREE_NONE);
	/* What the stranger does is not ours, nor what the two before did. */
	forks(t, 101, 102, 4100);
	exits(t, 101, 1, 4200);
	assert_int_equal(proctree_count(t->tree), 3);
	assert_int_equal(proctree_member(t->tree, 2)->status, 9);
	expect_nothing(t);
}

static void forgets_a_fork_told_twice(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forget_changes(t);
	forks(t, ROOT_PID, 101, 2000);
	assert_int_equal(proctree_count(t->tree), 2);
	proctree_gone(t->tree, 1, 2500);
	forks(t, ROOT_PID, 101, 2000);
	assert_int_equal(proctree_count(t->tree), 2);
	expect(t, CHANGE_LEFT, 1, 2500);
	expect_nothing(t);
	/* Of another parent at the same time it is another. */
	forks(t, ROOT_PID, 110, 3000);
	forks(t, ROOT_PID, 120, 3000);
	forks(t, 110, 120, 3000);
	assert_int_equal(proctree_count(t->tree), 5);
	assert_int_equal(of(t, 120)->parent, 2);
}

static void does_not_end_the_next_owner_with_an_old_exit(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forks(t, ROOT_PID, 101, 3000);
	forget_changes(t);
	exits(t, 101, 7, 2999);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->state, MEMBER_ALIVE);
	assert_true(proctree_member(t->tree, 1)->has_status);
	assert_int_equal(proctree_member(t->tree, 1)->status, 7);
	assert_int_equal(proctree_member(t->tree, 1)->left_ns, 3000);
}

static void does_not_end_a_root_with_an_exit_from_before_it(void **state)
{
	struct tree_test *t = *state;

	forget_changes(t);
	exits(t, ROOT_PID, 0, 999);
	expect_nothing(t);
	assert_int_equal(of(t, ROOT_PID)->state, MEMBER_ALIVE);
}

static void tells_the_status_of_one_that_was_gone_before_its_exit(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	proctree_gone(t->tree, 1, 2500);
	forget_changes(t);
	exits(t, 101, 0x200, 2499);
	expect_nothing(t);
	assert_true(proctree_member(t->tree, 1)->has_status);
	assert_int_equal(proctree_member(t->tree, 1)->status, 0x200);
	assert_int_equal(proctree_member(t->tree, 1)->left_ns, 2500);
}

static void joins_a_daemon_whose_parent_was_gone_first(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	proctree_gone(t->tree, 1, 2500);
	forks(t, 101, 102, 2400);
	forks(t, 101, 103, 2600);
	assert_int_equal(of(t, 102)->parent, 1);
	assert_int_equal(proctree_find(t->tree, 103), PROCTREE_NONE);
}

static void does_not_let_a_child_be_older_than_its_parent(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	forks(t, 101, 102, 1999);
	assert_int_equal(proctree_find(t->tree, 102), PROCTREE_NONE);
}

static void knows_a_root_by_the_fork_that_comes_after_it(void **state)
{
	struct tree_test *t = *state;

	forget_changes(t);
	/* We forked it, and read the clock afterwards. */
	assert_int_equal(proctree_add(t->tree, 200, 0, 5000, true), 1);
	forks(t, 9, 200, 4000);
	assert_int_equal(proctree_find(t->tree, 200), 1);
	assert_int_equal(of(t, 200)->born_ns, 4000);
	exits(t, 200, 3, 4500);
	assert_int_equal(of(t, 200)->status, 3);
	/* Its birth was read from stat: up to a tick too early. */
	assert_int_equal(proctree_add(t->tree, 300, 0, 10000000, false), 2);
	forks(t, 9, 300, 19999999);
	assert_int_equal(proctree_find(t->tree, 300), 2);
	assert_int_equal(of(t, 300)->born_ns, 19999999);
	assert_true(of(t, 300)->born_seen);
	/* The second one is that of another. */
	forks(t, 9, 300, 20000000);
	assert_int_equal(proctree_find(t->tree, 300), PROCTREE_NONE);
	/* So is a member's. */
	assert_int_equal(proctree_add(t->tree, 400, 0, 30000000, false), 3);
	forks(t, ROOT_PID, 400, 30000001);
	assert_int_equal(proctree_find(t->tree, 400), 4);
}

static void owes_one_rescan_in_its_place(void **state)
{
	struct tree_test *t = *state;

	loses(t, 2000);
	loses(t, 2001);
	forks(t, ROOT_PID, 101, 2002);
	expect(t, CHANGE_JOINED, 0, 1000);
	expect(t, CHANGE_RESCAN, PROCTREE_NONE, 2000);
	expect(t, CHANGE_JOINED, 1, 2002);
	expect_nothing(t);
	loses(t, 2003);
	expect(t, CHANGE_RESCAN, PROCTREE_NONE, 2003);
	expect_nothing(t);
}

static void owes_a_rescan_when_it_could_not_join(void **state)
{
	struct tree_test *t = *state;
	struct event e = { .kind = EVENT_FORK,
			   .parent = ROOT_PID,
			   .pid = 101,
			   .time_ns = 2000 };
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 101, ROOT_PID, 9, 2000 } };

	forget_changes(t);
	t->tree->count = PROCTREE_NONE; /* no serials left */
	assert_int_equal(proctree_event(t->tree, &e), -ENOMEM);
	expect(t, CHANGE_RESCAN, PROCTREE_NONE, 2000);
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 2, 3000, 3001, false),
		-ENOMEM);
	expect(t, CHANGE_RESCAN, PROCTREE_NONE, 3001);
	expect_nothing(t);
	assert_int_equal(proctree_alive(t->tree), 1);
}

static void keeps_a_record_until_told_to_forget_it(void **state)
{
	struct tree_test *t = *state;

	forks(t, ROOT_PID, 101, 2000);
	proctree_forget(t->tree, 1);
	assert_non_null(proctree_member(t->tree, 1));
	proctree_gone(t->tree, 1, 2500);
	assert_int_equal(proctree_member(t->tree, 1)->pid, 101);
	proctree_forget(t->tree, 1);
	proctree_forget(t->tree, 1);
	proctree_forget(t->tree, 77);
	assert_null(proctree_member(t->tree, 1));
	/* Its place is used again; its serial is not. */
	forks(t, ROOT_PID, 101, 2600);
	assert_int_equal(proctree_find(t->tree, 101), 2);
	assert_null(proctree_member(t->tree, 1));
	assert_int_equal(proctree_count(t->tree), 3);
	/* An older record of a number that is in use. */
	proctree_gone(t->tree, 2, 2700);
	forks(t, ROOT_PID, 101, 2800);
	proctree_forget(t->tree, 2);
	assert_int_equal(proctree_find(t->tree, 101), 3);
}

static void stays_small_over_a_million_events(void **state)
{
	struct tree_test *t = *state;
	struct change c;

	for (uint64_t i = 0; i < 333334; i++) {
		uint64_t at = 10000 + i * 10;
		pid_t pid = (pid_t)(1000 + i % 30000);

		forks(t, ROOT_PID, pid, at);
		proctree_identify(t->tree, proctree_find(t->tree, pid), at);
		execs(t, pid, at + 1);
		exits(t, pid, 0, at + 2);
		while (proctree_next(t->tree, &c)) {
			if (c.kind == CHANGE_ENDING)
				proctree_gone(t->tree, c.serial, at + 3);
			if (c.kind == CHANGE_LEFT)
				proctree_forget(t->tree, c.serial);
		}
	}
	assert_int_equal(proctree_count(t->tree), 333335);
	assert_int_equal(proctree_alive(t->tree), 1);
	assert_true(t->tree->nodes.room <= 8);
	assert_true(t->tree->changes.room <= 16);
	assert_true(t->tree->by_serial.room <= 16);
	assert_true(t->tree->by_pid.room <= 16);
	assert_true(t->tree->tombs.room <= 131072);
}

static void always_has_room_for_the_ends_of_the_living(void **state)
{
	struct tree_test *t = *state;

	for (pid_t pid = 101; pid < 200; pid++) {
		forks(t, ROOT_PID, pid, 2000);
		execs(t, pid, 2001);
		assert_true(t->tree->changes.room - t->tree->changes.n >=
			    t->tree->alive);
	}
	for (uint32_t serial = 0; serial < 100; serial++)
		proctree_gone(t->tree, serial, 3000);
	assert_int_equal(t->tree->changes.n, 299);
}

static void keeps_the_queue_small_though_it_is_never_empty(void **state)
{
	struct tree_test *t = *state;
	struct change c;

	for (uint64_t i = 0; i < 10000; i++) {
		execs(t, ROOT_PID, 2000 + i);
		assert_true(proctree_next(t->tree, &c));
		assert_int_equal(c.time_ns, i ? 1999 + i : 1000);
	}
	assert_true(t->tree->changes.room <= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(takes_in_a_root_once),
		tree_test(takes_in_a_root_anew_that_started_at_another_time),
		tree_test(joins_whom_a_member_forks),
		tree_test(forgets_the_events_of_strangers),
		tree_test(takes_exit_for_a_hint),
		tree_test(revives_one_whose_other_thread_execs),
		tree_test(believes_the_last_exit),
		tree_test(lets_the_owner_of_a_number_leave_before_the_next),
		tree_test(forgets_a_fork_told_twice),
		tree_test(does_not_end_a_root_with_an_exit_from_before_it),
		tree_test(does_not_end_the_next_owner_with_an_old_exit),
		tree_test(
			tells_the_status_of_one_that_was_gone_before_its_exit),
		tree_test(joins_a_daemon_whose_parent_was_gone_first),
		tree_test(does_not_let_a_child_be_older_than_its_parent),
		tree_test(knows_a_root_by_the_fork_that_comes_after_it),
		tree_test(owes_one_rescan_in_its_place),
		tree_test(owes_a_rescan_when_it_could_not_join),
		tree_test(keeps_a_record_until_told_to_forget_it),
		tree_test(stays_small_over_a_million_events),
		tree_test(always_has_room_for_the_ends_of_the_living),
		tree_test(keeps_the_queue_small_though_it_is_never_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
