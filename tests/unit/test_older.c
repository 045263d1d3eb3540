/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreters before _PyRuntime, 2.7 and 3.6: found, and their threads listed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/layout.h"
#include "python/probe.h"
#include "python/runtime.h"

#define START 0x7f0000000000u /* of the file's first mapping */
#define FUNCTION 0x5000u      /* of PyInterpreterState_Head in the file */
#define HEAD 0x6000u          /* of interp_head */
#define CURRENT 0x7000u       /* of _PyThreadState_Current */
#define MAIN 0x600000u        /* the main interpreter */
#define OTHER 0x640000u
#define THREAD 0x700000u  /* thread states, STEP apart */
#define PTHREAD 0x900000u /* their pthread structures */
#define STEP 0x1000u
#define MAX_THREADS 8

struct target {
	struct fakemem fm;
	struct mem mem;
	struct elf_facts facts;
	struct mapped_file file;
	struct runtime rt;
	struct pythread threads[MAX_THREADS];
	size_t n;
	uint64_t mark;
};

/* The kernel's tid of thread @i, where glibc keeps it on either machine. */
static void put_tid(struct target *t, unsigned i, uint32_t tid)
{
	fakemem_put_u32(&t->fm, PTHREAD + i * STEP + 720, tid);
	fakemem_put_u32(&t->fm, PTHREAD + i * STEP + 208, tid);
}

static uint64_t put_thread(struct target *t, unsigned i, uint64_t interp,
			   uint64_t next)
{
	const struct layout *layout = &t->rt.layout;
	uint64_t addr = THREAD + i * STEP;

	fakemem_zero(&t->fm, addr, 512);
	fakemem_put_u64(&t->fm, addr + layout->thread.interp, interp);
	fakemem_put_u64(&t->fm, addr + layout->thread.next, next);
	fakemem_put_u64(&t->fm, addr + layout->thread.thread_id,
			PTHREAD + i * STEP);
	put_tid(t, i, 900 + i);
	return addr;
}

static void put_interp(struct target *t, uint64_t addr, uint64_t next,
		       uint64_t thread_head)
{
	const struct layout *layout = &t->rt.layout;

	fakemem_zero(&t->fm, addr, 128);
	fakemem_put_u64(&t->fm, addr + layout->interp.next, next);
	fakemem_put_u64(&t->fm, addr + layout->interp.thread_head, thread_head);
	fakemem_put_u64(&t->fm, START + HEAD, addr);
}

/* One interpreter with threads 2, 1, 0, newest first; none has the GIL. */
static void put_version(struct target *t, unsigned version)
{
	uint64_t next = 0;

	t->rt = (struct runtime){ .layout = *fakemem_row(version, false),
				  .address = START + HEAD,
				  .interp_hint = MAIN };
	for (unsigned i = 0; i < 3; i++)
		next = put_thread(t, i, MAIN, next);
	put_interp(t, MAIN, 0, next);
	fakemem_put_u64(&t->fm, START + CURRENT, 0);
}

/* Interpreter OTHER in front of MAIN, with threads 4, 3. */
static void put_other(struct target *t)
{
	uint64_t next = put_thread(t, 3, OTHER, 0);

	put_interp(t, OTHER, MAIN, put_thread(t, 4, OTHER, next));
}

static int target_setup(void **state)
{
	static struct target target;

	target = (struct target){
		.facts = { .is_elf64 = true,
			   .interp_head = HEAD,
			   .tstate_current = CURRENT },
		.file = { .start = START,
			  .end = START + 0x1000,
			  .path = "/usr/bin/python2.7" },
		.n = 77,
		.mark = 77,
	};
	target.mem = fakemem_mem(&target.fm);
	put_version(&target, 27);
	*state = &target;
	return 0;
}

static int target_teardown(void **state)
{
	struct target *target = *state;

	fakemem_free(&target->fm);
	return 0;
}

static int locate(struct target *t)
{
	return probe_locate(&t->facts, &t->file, &t->mem, &t->rt);
}

static void call_it(struct target *t, const char *soname, const char *path)
{
	(void)snprintf(t->facts.soname, sizeof(t->facts.soname), "%s", soname);
	t->file.path = path;
}

static int list(struct target *t)
{
	return runtime_threads(&t->mem, &t->rt, t->threads, MAX_THREADS, &t->n,
			       &t->mark);
}

static void starts_at_interp_head(void **state)
{
	struct target *t = *state;

	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "2.7");
	assert_int_equal(t->rt.version_hex, 0);
	assert_int_equal(t->rt.layout.major, 2);
	assert_int_equal(t->rt.address, START + HEAD);
	assert_int_equal(t->rt.interp_only, 0);
	assert_int_equal(t->rt.interp_hint, MAIN);
	assert_int_equal(t->rt.tstate_current, START + CURRENT);

	put_version(t, 6);
	call_it(t, "libpython3.6m.so.1.0", "/tmp/renamed");
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.6");
	assert_int_equal(t->rt.layout.minor, 6);

	fakemem_put_u64(&t->fm, START + HEAD, 0);
	assert_int_equal(locate(t), OUT_NOT_YET);
}

static void finds_a_stripped_head_by_the_code_that_loads_it(void **state)
{
	/* endbr64; mov 0xff5(%rip), %rax; ret: from 0x500b to 0x6000 */
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b,
					0x05, 0xf5, 0x0f, 0,    0,    0xc3 };
	struct target *t = *state;

	t->facts.interp_head = 0;
	t->facts.interp_head_function = FUNCTION;
	fakemem_put(&t->fm, START + FUNCTION, code, sizeof(code));
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, START + HEAD);
	assert_int_equal(t->rt.interp_only, 0);

	/* Without endbr64, and backwards: from 0x8007 to 0x6000. */
	t->facts.interp_head_function = 0x8000;
	fakemem_put(&t->fm, START + 0x8000, code + 4, 8);
	fakemem_put_u32(&t->fm, START + 0x8003, (uint32_t)-0x2007);
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, START + HEAD);
}

static void does_not_take_other_code_for_that(void **state)
{
	static const uint8_t no_ret[] = { 0x48, 0x8b, 0x05, 0xf9,
					  0x0f, 0,    0,    0x90 };
	struct target *t = *state;

	t->facts.interp_head = 0;
	t->facts.interp_head_function = FUNCTION;
	fakemem_put(&t->fm, START + FUNCTION, no_ret, sizeof(no_ret));
	assert_int_equal(locate(t), OUT_NOT_YET);
	fakemem_put_u8(&t->fm, START + FUNCTION + 7, 0xc3);
	assert_int_equal(locate(t), OUT_OK);
	t->facts.interp_head_function = 0x900000;
	assert_int_equal(locate(t), OUT_NOT_YET);
}

static void waits_for_a_running_thread_without_a_head(void **state)
{
	struct target *t = *state;

	t->facts.interp_head = 0;
	assert_int_equal(locate(t), OUT_NOT_YET);
	fakemem_put_u64(&t->fm, START + CURRENT, THREAD);
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, 0);
	assert_int_equal(t->rt.interp_only, MAIN);
	fakemem_put_u64(&t->fm, MAIN + 8, THREAD + 64);
	assert_int_equal(locate(t), OUT_TORN);
}

static void has_no_layout_for_debug_builds_up_to_3_7(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/usr/bin/python2.7-dbg");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "2.7d");

	t->facts.runtime = HEAD - 24;
	fakemem_zero(&t->fm, START + HEAD - 24, 24);
	call_it(t, "libpython3.7dm.so.1.0", "/x");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.7d");
	put_version(t, 7);
	call_it(t, "libpython3.7m.so.1.0", "/x");
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.7");
}

static void believes_a_name_only_with_the_symbols_of_its_time(void **state)
{
	struct target *t = *state;

	call_it(t, "libpython3.7m.so.1.0", "/x");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	call_it(t, "", "/opt/app/server");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "unknown");

	t->facts.runtime = HEAD;
	fakemem_zero(&t->fm, START + HEAD, 64);
	call_it(t, "libpython3.6m.so.1.0", "/x");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.6");
}

static void leaves_launchers_to_the_library_they_need(void **state)
{
	struct target *t = *state;

	t->facts.needs_libpython = true;
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
}

static void lists_threads_of_all_interpreters(void **state)
{
	const unsigned versions[] = { 27, 6 };
	struct target *t = *state;

	for (size_t i = 0; i < 2; i++) {
		put_version(t, versions[i]);
		put_other(t);
		assert_int_equal(list(t), OUT_OK);
		assert_int_equal(t->n, 5);
		assert_int_equal(t->threads[0].interp, OTHER);
		assert_int_equal(t->threads[0].interp_id, 0);
		assert_int_equal(t->threads[4].tstate, THREAD);
		assert_int_equal(t->threads[4].pthread, PTHREAD);
		assert_int_equal(t->threads[4].native, 0);
	}
}

static void begins_at_the_one_interpreter_that_is_known(void **state)
{
	struct target *t = *state;

	put_other(t);
	t->rt.address = 0;
	t->rt.interp_only = MAIN;
	fakemem_unmap(&t->fm, START + HEAD, 8);
	assert_int_equal(list(t), OUT_OK);
	assert_int_equal(t->n, 3);
	assert_int_equal(t->threads[0].interp, MAIN);
}

static void sees_a_thread_born_at_a_dead_ones_place_by_its_tid(void **state)
{
	struct target *t = *state;
	uint64_t mark;

	assert_int_equal(list(t), OUT_OK);
	assert_int_not_equal(t->mark, RUNTIME_NO_MARK);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &mark), OUT_OK);
	assert_int_equal(mark, t->mark);
	/* Its pthread is used again as well. */
	put_tid(t, 2, 950);
	assert_int_equal(runtime_mark(&t->mem, &t->rt, &mark), OUT_OK);
	assert_int_not_equal(mark, t->mark);
}

static void knows_the_gil_by_the_thread_that_runs(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;

	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_UNKNOWN);
	assert_int_equal(tstate, 77);
	t->rt.tstate_current = START + CURRENT;
	fakemem_put_u64(&t->fm, START + CURRENT, THREAD + STEP);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_OK);
	assert_int_equal(tstate, THREAD + STEP);
}

static void does_not_know_the_gil_of_3_7(void **state)
{
	struct target *t = *state;
	uint64_t tstate = 77;

	t->rt.layout = *layout_find(3, 7, false);
	assert_int_equal(runtime_gil_holder(&t->mem, &t->rt, MAIN, &tstate),
			 OUT_UNKNOWN);
	assert_int_equal(tstate, 77);
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, target_setup, target_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(starts_at_interp_head),
		WITH_TARGET(finds_a_stripped_head_by_the_code_that_loads_it),
		WITH_TARGET(does_not_take_other_code_for_that),
		WITH_TARGET(waits_for_a_running_thread_without_a_head),
		WITH_TARGET(has_no_layout_for_debug_builds_up_to_3_7),
		WITH_TARGET(believes_a_name_only_with_the_symbols_of_its_time),
		WITH_TARGET(leaves_launchers_to_the_library_they_need),
		WITH_TARGET(lists_threads_of_all_interpreters),
		WITH_TARGET(begins_at_the_one_interpreter_that_is_known),
		WITH_TARGET(sees_a_thread_born_at_a_dead_ones_place_by_its_tid),
		WITH_TARGET(knows_the_gil_by_the_thread_that_runs),
		WITH_TARGET(does_not_know_the_gil_of_3_7),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
