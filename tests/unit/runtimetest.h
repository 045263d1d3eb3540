/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RUNTIMETEST_H
#define TESTS_RUNTIMETEST_H

#include "base/outcome.h"
#include "fakemem.h"
#include "python/layout.h"
#include "python/runtime.h"

/* An interpreter with its threads. To be included after cmocka.h. */

#define RUNTIME 0x500000u
#define MAIN 0x600000u /* the main interpreter */
#define OTHER 0x640000u
#define THREAD 0x700000u /* thread states, THREAD_STEP apart */
#define STEP 0x1000u
#define GIL 0x800000u

#define MAX_THREADS 8

struct target {
	struct fakemem fm;
	struct mem mem;
	struct runtime rt;
	struct pythread threads[MAX_THREADS];
	size_t n;
	uint64_t mark;
};

static inline void put_interp(struct target *t, uint64_t addr, uint64_t id,
			      uint64_t next, uint64_t thread_head)
{
	const struct layout *layout = &t->rt.layout;

	fakemem_zero(&t->fm, addr, 8192);
	fakemem_put_u64(&t->fm, addr + layout->interp.id, id);
	fakemem_put_u64(&t->fm, addr + layout->interp.next, next);
	fakemem_put_u64(&t->fm, addr + layout->interp.thread_head, thread_head);
	fakemem_put_u64(&t->fm, addr + layout->interp.next_thread_id, 5);
}

/* Thread state @i of @interp, with pthread 0xa00 + i and tid 900 + i. */
static inline uint64_t put_thread(struct target *t, unsigned i, uint64_t interp,
				  uint64_t next)
{
	const struct layout *layout = &t->rt.layout;
	uint64_t addr = THREAD + i * STEP;

	fakemem_zero(&t->fm, addr, 400);
	fakemem_put_u64(&t->fm, addr + layout->thread.interp, interp);
	fakemem_put_u64(&t->fm, addr + layout->thread.next, next);
	fakemem_put_u64(&t->fm, addr + layout->thread.thread_id, 0xa00 + i);
	if (layout->thread.native_id != LAYOUT_NONE)
		fakemem_put_u64(&t->fm, addr + layout->thread.native_id,
				900 + i);
	return addr;
}

/* One interpreter with threads 2, 1, 0: newest first. */
static inline void put_target(struct target *t, unsigned minor)
{
	uint64_t next = 0;

	t->rt.layout = *layout_find(3, minor, false);
	t->rt.address = RUNTIME;
	t->rt.interp_hint = MAIN;
	fakemem_zero(&t->fm, RUNTIME, 2048);
	fakemem_put_u64(&t->fm, RUNTIME + t->rt.layout.runtime.interp_head,
			MAIN);
	for (unsigned i = 0; i < 3; i++)
		next = put_thread(t, i, MAIN, next);
	put_interp(t, MAIN, 0, 0, next);
}

static inline int target_setup(void **state)
{
	static struct target target;

	target = (struct target){ .n = 77, .mark = 77 };
	target.mem = fakemem_mem(&target.fm);
	put_target(&target, 12);
	*state = &target;
	return 0;
}

static inline int target_teardown(void **state)
{
	struct target *target = *state;

	fakemem_free(&target->fm);
	return 0;
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, target_setup, target_teardown)

#endif
