/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ROLETEST_H
#define TESTS_ROLETEST_H

#include <stdlib.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/roles.h"
#include "profile/summary.h"

/* A parent and its children, told as a test likes, and the roles in it. To be
 * included after cmocka.h. */

#define POOL "/usr/lib/python3.11/multiprocessing/pool.py:worker:114"
#define BORN "/usr/lib/python3.11/multiprocessing/process.py:_bootstrap:314"
#define PARENT "main.py:<module>:9;" BORN
#define IMPORT "<frozen importlib._bootstrap>:_load:690;np.py:<module>:3"

/* A history that is told, and its roles. */
struct fixture {
	struct maker m;
	struct past p;
	struct roles roles;
	struct str text;
	uint32_t parent; /* process 0 */
};

static inline int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	maker_begin(&f->m, "host", PAST_UNIX_NS);
	f->parent = maker_process(&f->m, RECORD_NONE, 100, 0);
	maker_image(&f->m, f->parent, 0, "python3 main.py", "3.11.2");
	return 0;
}

static inline int end(void **state)
{
	struct fixture *f = *state;

	roles_free(&f->roles);
	past_free(&f->p);
	str_free(&f->text);
	maker_free(&f->m);
	free(f);
	return 0;
}

/* A child of process 0 with one thread, which is returned. */
static inline uint32_t add_child(struct fixture *f, int32_t pid,
				 const char *command, uint64_t from_ms,
				 uint64_t to_ms, int status)
{
	uint32_t process = maker_process(&f->m, f->parent, pid, from_ms);
	uint32_t image =
		maker_image(&f->m, process, from_ms, command, "3.11.2");
	uint32_t thread =
		maker_thread(&f->m, process, image, pid, from_ms, NULL);

	maker_process_end(&f->m, process, to_ms, VERDICT_SAMPLED, status);
	return thread;
}

static inline void busy(struct fixture *f, uint32_t thread, uint64_t from_ms,
			uint64_t wall_ms, const char *stack)
{
	maker_busy(&f->m, thread, from_ms, wall_ms, maker_stack(&f->m, stack));
}

static inline void idle(struct fixture *f, uint32_t thread, uint64_t from_ms,
			uint64_t wall_ms, const char *stack,
			enum wait_kind wait)
{
	maker_idle(&f->m, thread, from_ms, wall_ms, maker_stack(&f->m, stack),
		   wait);
}

/* The recording ends at @end_ms; make roles of what @query asks for. */
static inline void make(struct fixture *f, uint64_t end_ms,
			const struct query *query)
{
	maker_process_end(&f->m, f->parent, end_ms, VERDICT_SAMPLED, -1);
	maker_flush(&f->m, end_ms);
	past_take(&f->p, &f->m);
	assert_int_equal(roles_make(&f->roles, f->p.h, query), 0);
}

/* The one role with several members. */
static inline const struct role *pool(struct fixture *f, uint64_t end_ms)
{
	size_t found = 0, pools = 0;

	make(f, end_ms, &QUERY_ALL);
	for (size_t i = 0; i < f->roles.at.n; i++) {
		if (f->roles.at.at[i].images.n < 2)
			continue;
		pools++;
		found = i;
	}
	assert_int_equal(pools, 1);
	return &f->roles.at.at[found];
}

static inline const char *reading(struct fixture *f, const struct role *role)
{
	str_clear(&f->text);
	str_puts(&f->text, "");
	role_reading(role, f->p.h, &f->text);
	return f->text.at;
}

static inline void assert_near(double is, double want)
{
	assert_true(is > want - 1e-6 && is < want + 1e-6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
