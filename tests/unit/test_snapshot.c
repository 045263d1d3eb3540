/* SPDX-License-Identifier: Apache-2.0 */
#include "treetest.h"

static void finds_children_of_children_in_any_order(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = {
		{ 103, 102, 33, 2300 },
		{ 102, 101, 32, 2200 },
		{ 101, ROOT_PID, 31, 0 },
		{ ROOT_PID, 1, 7, 900 },
		{ 1, 0, 1, 1 },
		{ 51, 50, 20, 500 },
		{ 50, 51, 20, 500 },
		{ 60, 60, 21, 600 },
		{ 102, ROOT_PID, 32, 2200 },
	};

	forget_changes(t);
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 9, 3000, 3010, false), 0);
	expect(t, CHANGE_JOINED, 1, 3010);
	expect(t, CHANGE_JOINED, 2, 3010);
	expect(t, CHANGE_JOINED, 3, 3010);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->born_ns, 3010);
	assert_false(of(t, 101)->born_seen);
	assert_int_equal(of(t, 102)->start, 32);
	assert_int_equal(of(t, 102)->born_ns, 2200);
	assert_true(of(t, 102)->born_seen);
	assert_true(of(t, 102)->found_late);
	assert_int_equal(of(t, 103)->parent, of(t, 102)->serial);
	/* The same again changes nothing. */
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 9, 4000, 4010, false), 0);
	expect_nothing(t);
}

static void does_not_call_late_what_the_first_snapshot_shows(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 101, ROOT_PID, 31, 950 } };

	assert_int_equal(proctree_snapshot(t->tree, procs, 2, 3000, 3010, true),
			 0);
	assert_false(of(t, 101)->found_late);
	assert_false(of(t, 101)->born_seen);
	assert_int_equal(of(t, 101)->born_ns, 950);
}

static void lets_those_leave_that_a_snapshot_misses(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 103, 1, 40, 2900 } };

	forks(t, ROOT_PID, 101, 2000);
	forks(t, ROOT_PID, 102, 3001); /* after it was begun */
	forks(t, ROOT_PID, 103, 2900);
	forget_changes(t);
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 2, 3000, 3010, false), 0);
	expect(t, CHANGE_LEFT, 1, 3010);
	expect_nothing(t);
	assert_int_equal(of(t, 102)->state, MEMBER_ALIVE);
	/* A daemon: its parent is another now, but not in the tree. */
	assert_int_equal(of(t, 103)->parent, t->root);
	assert_int_equal(of(t, 103)->start, 40);
}

static void tells_owners_of_a_number_apart_by_their_start(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = {
		{ ROOT_PID, 1, 7, 900 },     { 101, ROOT_PID, 50, 2800 },
		{ 102, 1, 51, 2850 },        { 103, ROOT_PID, 30, 2000 },
		{ 104, ROOT_PID, 30, 2000 }, { 106, 103, 35, 2500 }
	};

	forks(t, ROOT_PID, 101, 2000);
	forks(t, ROOT_PID, 102, 2001);
	forks(t, ROOT_PID, 103, 3005); /* not the one that was read before it */
	forks(t, ROOT_PID, 104, 3006);
	proctree_identify(t->tree, 1, 40);
	proctree_identify(t->tree, 2, 41);
	proctree_identify(t->tree, 4, 60);
	forget_changes(t);
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 6, 3000, 3010, false), 0);
	expect(t, CHANGE_LEFT, 1, 2800);
	expect(t, CHANGE_LEFT, 2, 2850);
	expect(t, CHANGE_JOINED, 5, 3010);
	expect_nothing(t);
	assert_int_equal(of(t, 101)->start, 50);
	assert_int_equal(of(t, 103)->start, 0);
	assert_int_equal(of(t, 104)->start, 60);
	/* Nor is the child of that one. */
	assert_int_equal(proctree_find(t->tree, 106), PROCTREE_NONE);
	/* What the stranger 102 forks is not ours, though it left so late. */
	forks(t, 102, 105, 2900);
	assert_int_equal(proctree_find(t->tree, 105), PROCTREE_NONE);
}

static void learns_a_birth_that_a_snapshot_was_faster_than(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 101, ROOT_PID, 31, 2000 } };

	assert_int_equal(
		proctree_snapshot(t->tree, procs, 2, 3000, 3010, false), 0);
	forget_changes(t);
	/* Of the owner before it, and its own. */
	forks(t, ROOT_PID, 101, 1500);
	exits(t, 101, 4, 1600);
	forks(t, ROOT_PID, 101, 2003);
	forks(t, ROOT_PID, 101, 2003);
	assert_int_equal(proctree_count(t->tree), 2);
	assert_int_equal(of(t, 101)->born_ns, 2003);
	assert_int_equal(of(t, 101)->fork_tid, ROOT_PID + 1);
	assert_false(of(t, 101)->found_late);
	assert_int_equal(of(t, 101)->state, MEMBER_ALIVE);
	assert_false(of(t, 101)->has_status);
	/* Later than the snapshot: of the next owner. */
	forks(t, ROOT_PID, 101, 3011);
	assert_int_equal(proctree_find(t->tree, 101), 2);
}

static void knows_a_birth_from_one_of_another_time(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 101, ROOT_PID, 31, 1000000000 } };

	assert_int_equal(proctree_snapshot(t->tree, procs, 2, 2000000000,
					   2000000000, false),
			 0);
	forks(t, ROOT_PID, 101, 500000000);
	assert_int_equal(of(t, 101)->born_ns, 1000000000);
	assert_int_equal(of(t, 101)->fork_tid, 0);
	forks(t, 101, 102, 600000000);
	assert_int_equal(proctree_find(t->tree, 102), PROCTREE_NONE);
	forks(t, ROOT_PID, 101, 1000000003);
	assert_int_equal(of(t, 101)->born_ns, 1000000003);
	forks(t, 101, 102, 1000000004);
	assert_int_equal(of(t, 102)->parent, of(t, 101)->serial);
}

static void does_not_take_a_zombie_back(void **state)
{
	struct tree_test *t = *state;
	struct procstat procs[] = { { ROOT_PID, 1, 7, 900 },
				    { 101, ROOT_PID, 31, 2000 },
				    { 102, ROOT_PID, 32, 2000 } };

	forks(t, ROOT_PID, 101, 2000);
	forks(t, ROOT_PID, 102, 2001);
	proctree_identify(t->tree, 1, 31);
	proctree_gone(t->tree, 1, 2500);
	proctree_gone(t->tree, 2, 3005); /* nameless, after it was begun */
	proctree_forget(t->tree, 1);
	proctree_forget(t->tree, 2);
	for (uint64_t at = 3000; at < 5000; at += 1000) {
		forget_changes(t);
		assert_int_equal(proctree_snapshot(t->tree, procs, 3, at,
						   at + 10, false),
				 0);
		procs[2].parent = 1; /* not a child of ours any more */
		expect_nothing(t);
	}
	assert_int_equal(t->tree->tombs.n, 2);
	/* But the number may come back. */
	procs[1].start = 60;
	assert_int_equal(
		proctree_snapshot(t->tree, procs, 2, 6000, 6010, false), 0);
	expect(t, CHANGE_JOINED, 3, 6010);
	assert_int_equal(t->tree->tombs.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(finds_children_of_children_in_any_order),
		tree_test(does_not_call_late_what_the_first_snapshot_shows),
		tree_test(lets_those_leave_that_a_snapshot_misses),
		tree_test(tells_owners_of_a_number_apart_by_their_start),
		tree_test(learns_a_birth_that_a_snapshot_was_faster_than),
		tree_test(knows_a_birth_from_one_of_another_time),
		tree_test(does_not_take_a_zombie_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
