/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_TREETEST_H
#define UNIT_TREETEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "tree/roster.h"

/*
 * A tree with one root, and how the lives of processes are told to it: each
 * line of a test is one event.
 */

#define ROOT_PID 100

struct tree_test {
	struct proctree *tree;
	uint32_t root;
};

static inline int set_up(void **state)
{
	struct tree_test *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->tree = proctree_new();
	assert_non_null(t->tree);
	t->root = proctree_add(t->tree, ROOT_PID, 7, 1000, false);
	*state = t;
	return 0;
}

static inline int tear_down(void **state)
{
	struct tree_test *t = *state;

	proctree_free(t->tree);
	free(t);
	return 0;
}

static inline void forks(struct tree_test *t, pid_t parent, pid_t pid,
			 uint64_t at)
{
	struct event e = { .kind = EVENT_FORK,
			   .parent = parent,
			   .parent_tid = parent + 1,
			   .pid = pid,
			   .time_ns = at };

	assert_int_equal(proctree_event(t->tree, &e), 0);
}

static inline void execs(struct tree_test *t, pid_t pid, uint64_t at)
{
	struct event e = { .kind = EVENT_EXEC, .pid = pid, .time_ns = at };

	assert_int_equal(proctree_event(t->tree, &e), 0);
}

static inline void exits(struct tree_test *t, pid_t pid, uint32_t status,
			 uint64_t at)
{
	struct event e = {
		.kind = EVENT_EXIT, .pid = pid, .status = status, .time_ns = at
	};

	assert_int_equal(proctree_event(t->tree, &e), 0);
}

static inline void loses(struct tree_test *t, uint64_t at)
{
	struct event e = { .kind = EVENT_LOST, .time_ns = at };

	assert_int_equal(proctree_event(t->tree, &e), 0);
}

static inline const struct member *of(struct tree_test *t, pid_t pid)
{
	return proctree_member(t->tree, proctree_find(t->tree, pid));
}

static inline void expect(struct tree_test *t, enum change_kind kind,
			  uint32_t serial, uint64_t at)
{
	struct change c;

	assert_true(proctree_next(t->tree, &c));
	assert_int_equal(c.kind, kind);
	assert_int_equal(c.serial, serial);
	assert_int_equal(c.time_ns, at);
}

static inline void expect_nothing(struct tree_test *t)
{
	struct change c;

	assert_false(proctree_next(t->tree, &c));
}

static inline void forget_changes(struct tree_test *t)
{
	struct change c;

	while (proctree_next(t->tree, &c))
		;
}

#define tree_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
