/* SPDX-License-Identifier: Apache-2.0 */
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

#define START 0x7f0000000000u /* of the file's first mapping */
#define VALUE 0x5000u         /* of _PyRuntime in the file */
#define RUNTIME (START + VALUE)
#define VERSION 0x3000u /* of Py_Version in the file */
#define INTERP 0x600000u
#define TSTATE 0x700000u

struct target {
	struct fakemem fm;
	struct mem mem;
	struct elf_facts facts;
	struct mapped_file file;
	struct runtime rt; /* what was located */
};

/* A libpython3.11 with one interpreter and one thread, all up. */
static int target_setup(void **state)
{
	static struct target target;
	const struct layout *py311 = layout_find(3, 11, false);

	target = (struct target){
		.facts = { .is_elf64 = true,
			   .runtime = VALUE,
			   .version = VERSION,
			   .soname = "libpython3.11.so.1.0" },
		.file = { .start = START,
			  .end = START + 0x1000,
			  .path = "/usr/lib/libpython3.11.so.1.0" },
		.rt = { .version = "before" },
	};
	target.mem = fakemem_mem(&target.fm);
	fakemem_zero(&target.fm, RUNTIME, 4096);
	fakemem_zero(&target.fm, INTERP, 8192);
	fakemem_zero(&target.fm, TSTATE, 512);
	fakemem_put_u64(&target.fm, START + VERSION, 0x030b07f0);
	fakemem_put_u64(&target.fm, RUNTIME + py311->runtime.interp_head,
			INTERP);
	fakemem_put_u64(&target.fm, INTERP + py311->interp.thread_head, TSTATE);
	fakemem_put_u64(&target.fm, TSTATE + py311->thread.interp, INTERP);
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
	t->facts.version = 0;
}

/* Link the heads as a version without `Py_Version` has them. */
static void link_heads(struct target *t, const struct layout *layout)
{
	fakemem_zero(&t->fm, RUNTIME, 4096);
	fakemem_zero(&t->fm, INTERP, 8192);
	fakemem_zero(&t->fm, TSTATE, 512);
	fakemem_put_u64(&t->fm, RUNTIME + layout->runtime.interp_head, INTERP);
	fakemem_put_u64(&t->fm, INTERP + layout->interp.thread_head, TSTATE);
	fakemem_put_u64(&t->fm, TSTATE + layout->thread.interp, INTERP);
}

static unsigned rank(const char *path)
{
	struct mapped_file file = { .path = path };

	return probe_rank(&file);
}

static void ranks_the_executable_whatever_its_name(void **state)
{
	struct mapped_file file = { .is_exe = true, .path = "/opt/uwsgi" };

	(void)state;
	assert_true(probe_rank(&file) > rank("/lib/libpython3.11.so.1.0"));
	file.path = NULL;
	assert_true(probe_rank(&file) > 0);
}

static void ranks_libraries_by_their_last_name(void **state)
{
	unsigned lib = rank("/lib/libpython3.11.so.1.0");

	(void)state;
	assert_true(lib > rank("/usr/lib/uwsgi/plugins/python3_plugin.so"));
	assert_true(rank("/usr/lib/uwsgi/plugins/python3_plugin.so") > 0);
	assert_true(rank("/lib/libpypy3.9-c.so") > 0);
	assert_int_equal(rank("/usr/lib/python3.11/lib/libc.so.6"), 0);
	assert_int_equal(rank("/lib/libc.so.6"), 0);
}

static void passes_over_extension_modules(void **state)
{
	(void)state;
	assert_int_equal(rank("/l/_ssl.cpython-311-x86_64-linux-gnu.so"), 0);
	assert_int_equal(rank("/l/_pythonthing.abi3.so"), 0);
}

static void passes_over_what_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(rank(NULL), 0);
	assert_int_equal(rank(""), 0);
	assert_int_equal(rank("[anon:python]"), 0);
}

static void tells_the_version_by_py_version(void **state)
{
	struct target *t = *state;

	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.11.7");
	assert_int_equal(t->rt.version_hex, 0x030b07f0);
	assert_int_equal(t->rt.layout.minor, 11);
	assert_int_equal(t->rt.address, RUNTIME);
	assert_int_equal(t->rt.interp_hint, INTERP);
}

static void takes_the_symbol_for_more_than_the_name(void **state)
{
	struct target *t = *state;

	(void)snprintf(t->facts.soname, sizeof(t->facts.soname),
		       "libpython3.9.so.1.0");
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.11.7");
}

static void tells_older_versions_by_the_soname(void **state)
{
	struct target *t = *state;

	call_it(t, "libpython3.9.so.1.0", "/tmp/renamed");
	link_heads(t, layout_find(3, 9, false));
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.9");
	assert_int_equal(t->rt.version_hex, 0);
	assert_int_equal(t->rt.layout.minor, 9);
}

static void tells_static_ones_by_the_files_name(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/usr/bin/python3.8");
	t->facts.load_vaddr = 0x400000;
	t->facts.runtime = VALUE + 0x400000;
	link_heads(t, layout_find(3, 8, false));
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.8");
	assert_int_equal(t->rt.address, RUNTIME);
}

static void tells_renamed_ones_by_their_texts(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/opt/python3.9");
	t->facts.tag_major = 3;
	t->facts.tag_minor = 8;
	link_heads(t, layout_find(3, 8, false));
	assert_int_equal(locate(t), OUT_OK);
	assert_string_equal(t->rt.version, "3.8");
}

/* A program that hides all but its texts; the list's head is in its data. */
static void hide_it(struct target *t)
{
	call_it(t, "", "/opt/app/server");
	t->facts.runtime = 0;
	t->facts.tag_major = 3;
	t->facts.tag_minor = 8;
	t->facts.data_vaddr = VALUE;
	t->facts.data_size = 4096;
	link_heads(t, layout_find(3, 8, false));
	fakemem_put_u64(&t->fm, RUNTIME + 40, INTERP);
	fakemem_put_u64(&t->fm, TSTATE + 176, TSTATE + 256);
	fakemem_put_u64(&t->fm, TSTATE + 256, TSTATE + 256);
}

static void searches_a_program_that_has_no_symbols(void **state)
{
	struct target *t = *state;

	hide_it(t);
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, RUNTIME);
	assert_string_equal(t->rt.version, "3.8");
}

static void takes_texts_alone_for_no_python(void **state)
{
	struct target *t = *state;

	hide_it(t);
	fakemem_zero(&t->fm, RUNTIME, 4096);
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
	hide_it(t);
	t->facts.needs_libpython = true;
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
}

static void falls_back_to_the_section_without_the_symbol(void **state)
{
	struct target *t = *state;

	t->facts.runtime = 0;
	t->facts.runtime_section = VALUE;
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, RUNTIME);
}

static void counts_from_the_files_start_when_that_is_not_mapped(void **state)
{
	struct target *t = *state;

	t->file.start = START + 0x2000;
	t->file.offset = 0x2000;
	assert_int_equal(locate(t), OUT_OK);
	assert_int_equal(t->rt.address, RUNTIME);
}

static void does_not_guess_a_version(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/opt/app/server");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "unknown");
	assert_int_equal(t->rt.address, 0);
}

static void waits_for_the_first_interpreter(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, RUNTIME + 40, 0);
	assert_int_equal(locate(t), OUT_NOT_YET);
	assert_string_equal(t->rt.version, "before");
}

static void waits_for_the_first_thread(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, INTERP + 16, 0);
	assert_int_equal(locate(t), OUT_NOT_YET);
}

static void believes_no_thread_of_another_interpreter(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, TSTATE + 16, INTERP + 8);
	assert_int_equal(locate(t), OUT_TORN);
	assert_string_equal(t->rt.version, "before");
}

static void waits_for_the_cookie_from_3_13(void **state)
{
	struct target *t = *state;

	link_heads(t, layout_find(3, 13, false));
	fakemem_put_u64(&t->fm, START + VERSION, 0x030d00f0);
	assert_int_equal(locate(t), OUT_NOT_YET);
}

static void names_versions_without_a_row(void **state)
{
	struct target *t = *state;

	call_it(t, "libpython3.5m.so.1.0", "/lib/libpython3.5m.so.1.0");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.5");

	call_it(t, "libpython2.7.so.1.0", "/lib/libpython2.7.so.1.0");
	t->facts.runtime = 0;
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "2.7");

	call_it(t, "", "/usr/bin/python2.7");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "2.7");
}

static void names_a_version_to_come_by_its_own_table(void **state)
{
	struct target *t = *state;

	fakemem_put(&t->fm, RUNTIME, "xdebugpy", 8);
	fakemem_put_u64(&t->fm, RUNTIME + 8, 0x031000f0);
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.16.0");
}

static void refuses_pre_releases_by_their_full_name(void **state)
{
	struct target *t = *state;

	fakemem_put_u64(&t->fm, START + VERSION, 0x030c00b4);
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.12.0b4");

	fakemem_put(&t->fm, RUNTIME, "xdebugpy", 8);
	fakemem_put_u64(&t->fm, RUNTIME + 8, 0x030e00c2);
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.14.0rc2");
}

static void has_no_layout_for_a_free_threaded_build_before_3_13(void **state)
{
	struct target *t = *state;

	call_it(t, "libpython3.12t.so.1.0", "/x");
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "3.12t");
}

static void leaves_launchers_to_the_library_they_need(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/usr/bin/python2.7");
	t->facts.runtime = 0;
	t->facts.needs_libpython = true;
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
}

static void is_not_taken_in_by_a_name(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/usr/bin/python3.11");
	t->facts.runtime = 0;
	assert_int_equal(locate(t), OUT_NOT_PYTHON);

	call_it(t, "libpython3.so", "/lib/libpython3.so");
	assert_int_equal(locate(t), OUT_NOT_PYTHON);

	call_it(t, "", "/lib/python2.7x");
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
}

static void passes_over_files_that_are_no_programs(void **state)
{
	struct target *t = *state;

	t->facts = (struct elf_facts){ 0 };
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
	assert_int_equal(t->fm.calls, 0);
}

static void refuses_pypy_by_its_name(void **state)
{
	struct target *t = *state;

	t->facts.is_pypy = true;
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "PyPy");
}

static void refuses_other_kinds_by_their_names(void **state)
{
	struct target *t = *state;

	call_it(t, "", "/usr/bin/micropython");
	t->facts.runtime = 0;
	assert_int_equal(locate(t),
			 OUT_NOT_PYTHON); /* a library of that name */
	t->file.is_exe = true;
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "MicroPython");
	/* A CPython that somebody has called so is one. */
	t->facts.runtime = VALUE;
	t->facts.version = VERSION;
	assert_int_equal(locate(t), OUT_OK);
}

static void refuses_other_machines_only_where_they_run_python(void **state)
{
	struct target *t = *state;

	t->facts = (struct elf_facts){ .other_machine = true };
	t->file.path = "/usr/bin/python3.11";
	assert_int_equal(locate(t), OUT_UNKNOWN);
	assert_string_equal(t->rt.version, "32-bit");

	t->file.path = "/usr/bin/pythonista";
	assert_int_equal(locate(t), OUT_NOT_PYTHON);
}

static void passes_on_that_the_process_is_gone(void **state)
{
	struct target *t = *state;

	t->fm.fail = OUT_GONE;
	assert_int_equal(locate(t), OUT_GONE);
	t->fm.fail = OUT_DENIED;
	assert_int_equal(locate(t), OUT_DENIED);
	assert_string_equal(t->rt.version, "before");
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, target_setup, target_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_the_executable_whatever_its_name),
		cmocka_unit_test(ranks_libraries_by_their_last_name),
		cmocka_unit_test(passes_over_extension_modules),
		cmocka_unit_test(passes_over_what_is_no_file),
		WITH_TARGET(tells_the_version_by_py_version),
		WITH_TARGET(takes_the_symbol_for_more_than_the_name),
		WITH_TARGET(tells_older_versions_by_the_soname),
		WITH_TARGET(tells_static_ones_by_the_files_name),
		WITH_TARGET(tells_renamed_ones_by_their_texts),
		WITH_TARGET(searches_a_program_that_has_no_symbols),
		WITH_TARGET(takes_texts_alone_for_no_python),
		WITH_TARGET(falls_back_to_the_section_without_the_symbol),
		WITH_TARGET(
			counts_from_the_files_start_when_that_is_not_mapped),
		WITH_TARGET(does_not_guess_a_version),
		WITH_TARGET(waits_for_the_first_interpreter),
		WITH_TARGET(waits_for_the_first_thread),
		WITH_TARGET(believes_no_thread_of_another_interpreter),
		WITH_TARGET(waits_for_the_cookie_from_3_13),
		WITH_TARGET(names_versions_without_a_row),
		WITH_TARGET(names_a_version_to_come_by_its_own_table),
		WITH_TARGET(refuses_pre_releases_by_their_full_name),
		WITH_TARGET(
			has_no_layout_for_a_free_threaded_build_before_3_13),
		WITH_TARGET(leaves_launchers_to_the_library_they_need),
		WITH_TARGET(is_not_taken_in_by_a_name),
		WITH_TARGET(passes_over_files_that_are_no_programs),
		WITH_TARGET(refuses_pypy_by_its_name),
		WITH_TARGET(refuses_other_kinds_by_their_names),
		WITH_TARGET(refuses_other_machines_only_where_they_run_python),
		WITH_TARGET(passes_on_that_the_process_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
