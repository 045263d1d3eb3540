/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "linux/procfs.h"
#include "fakeproc.h"

static int parse_stat(const char *text, struct proc_stat *ret)
{
	return procfs_parse_stat(text, strlen(text), ret);
}

static void tells_what_a_stat_line_says(void **state)
{
	struct proc_stat stat;

	(void)state;
	assert_int_equal(
		parse_stat(FAKEPROC_STAT("42", "cat", "R", "7", "12345"),
			   &stat),
		0);
	assert_int_equal(stat.pid, 42);
	assert_int_equal(stat.parent, 7);
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.start, 12345);
	assert_int_equal(stat.cpu_ticks, 7);
	assert_int_equal(stat.waited_faults, 0);
	assert_int_equal(stat.code_start, 94);
	assert_int_equal(stat.stack_start, 140);
}

static void is_not_led_astray_by_a_name(void **state)
{
	const char *const names[] = { "a) R 1", ") S (", "", ")", "a b\nc" };
	char text[512];
	struct proc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       FAKEPROC_STAT("42", "%s", "S", "7", "12345"),
			       names[i]);
		assert_int_equal(parse_stat(text, &stat), 0);
		assert_int_equal(stat.parent, 7);
		assert_int_equal(stat.start, 12345);
	}
}

static void takes_no_stat_line_that_was_cut(void **state)
{
	const char *line = FAKEPROC_STAT("42", "cat", "R", "7", "12345");
	struct proc_stat stat = { .pid = 77 };
	size_t needed = (size_t)(strstr(line, " 140") - line) + 2;

	(void)state;
	for (size_t len = 0; len < needed; len++) {
		char *copy = malloc(len ? len : 1);

		assert_non_null(copy);
		memcpy(copy, line, len);
		assert_int_equal(procfs_parse_stat(copy, len, &stat), OUT_TORN);
		assert_int_equal(stat.pid, 77);
		free(copy);
	}
}

static void takes_no_stat_line_with_numbers_that_are_none(void **state)
{
	struct proc_stat stat;

	(void)state;
	assert_int_equal(
		parse_stat(FAKEPROC_STAT("0", "x", "R", "7", "1"), &stat),
		OUT_TORN);
	assert_int_equal(
		parse_stat(FAKEPROC_STAT("-1", "x", "R", "7", "1"), &stat),
		OUT_TORN);
	assert_int_equal(
		parse_stat(FAKEPROC_STAT("42", "x", "R", "4294967296", "1"),
			   &stat),
		OUT_TORN);
	assert_int_equal(parse_stat(FAKEPROC_STAT("42", "x", "R", "7",
						  "18446744073709551616"),
				    &stat),
			 OUT_TORN);
	assert_int_equal(
		parse_stat(FAKEPROC_STAT("42", "x", "R", "7", "x"), &stat),
		OUT_TORN);
}

static void says_gone_of_one_who_is_not_there(void **state)
{
	const struct fakeproc *fake = *state;
	struct error err = ERROR_NONE;
	struct proc_tids tids = { 0 };
	struct proc_maps maps = { 0 };
	struct proc_stat stat;
	struct str text = { 0 };
	uint64_t device;
	uint64_t inode;

	assert_int_equal(procfs_stat(&fake->fs, 42, &stat, &err), OUT_GONE);
	assert_int_equal(procfs_tids(&fake->fs, 42, &tids, &err), OUT_GONE);
	assert_int_equal(procfs_children(&fake->fs, 42, 42, &tids, &err),
			 OUT_GONE);
	assert_int_equal(procfs_maps(&fake->fs, 42, &maps, &err), OUT_GONE);
	assert_int_equal(procfs_command(&fake->fs, 42, &text, &err), OUT_GONE);
	assert_int_equal(procfs_exe(&fake->fs, 42, NULL, &device, &inode, &err),
			 OUT_GONE);
	assert_int_equal(err.code, 0);
	vec_free(&tids);
	proc_maps_free(&maps);
	str_free(&text);
}

static void tells_whether_addresses_are_random(void **state)
{
	const struct fakeproc *fake = *state;

	fakeproc_text(fake, "42/personality", "00000000\n");
	assert_false(procfs_has_random_addresses(&fake->fs, 42));
	fakeproc_text(fake, "sys/kernel/randomize_va_space", "2\n");
	assert_true(procfs_has_random_addresses(&fake->fs, 42));
	fakeproc_text(fake, "42/personality", "00040000\n");
	assert_false(procfs_has_random_addresses(&fake->fs, 42));
	assert_false(procfs_has_random_addresses(&fake->fs, 43));
	fakeproc_text(fake, "42/personality", "00000000\n");
	fakeproc_text(fake, "sys/kernel/randomize_va_space", "0\n");
	assert_false(procfs_has_random_addresses(&fake->fs, 42));
}

/* Above any pid_max. */
#define NOBODY 2147483000

static void looks_up_nothing_of_a_task_that_the_kernel_has_not(void **state)
{
	const struct fakeproc *fake = *state;
	struct procfs fs = fake->fs;
	struct proc_stat stat;

	fakeproc_text(fake, "2147483000/stat",
		      FAKEPROC_STAT("2147483000", "x", "S", "7", "12345"));
	assert_int_equal(procfs_stat(&fs, NOBODY, &stat, NULL), 0);
	fs.live = true;
	assert_int_equal(procfs_stat(&fs, NOBODY, &stat, NULL), OUT_GONE);
}

static void names_the_file_that_it_does_not_understand(void **state)
{
	const struct fakeproc *fake = *state;
	struct error err = ERROR_NONE;
	struct proc_stat stat;

	fakeproc_text(fake, "42/stat", "nonsense");
	assert_int_equal(procfs_stat(&fake->fs, 42, &stat, &err), -EBADMSG);
	assert_int_equal(err.code, -EBADMSG);
	assert_non_null(strstr(err.text, "/proc/42/stat"));
}

static void lists_processes_and_leaves_out_what_vanished(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_stats stats = { 0 };
	pid_t sum = 0;

	fakeproc_text(fake, "1/stat",
		      FAKEPROC_STAT("1", "init", "S", "0", "1"));
	fakeproc_text(fake, "42/stat",
		      FAKEPROC_STAT("42", "cat", "S", "1", "5"));
	fakeproc_text(fake, "43/cmdline", "its stat is gone already");
	fakeproc_text(fake, "uptime", "1 1");
	fakeproc_text(fake, "44x/stat",
		      FAKEPROC_STAT("44", "no process", "S", "1", "5"));
	assert_int_equal(procfs_snapshot(&fake->fs, &stats, NULL), 0);
	assert_int_equal(stats.n, 2);
	for (size_t i = 0; i < stats.n; i++)
		sum += stats.at[i].pid;
	assert_int_equal(sum, 43);
	/* Again: it does not add to what it has. */
	assert_int_equal(procfs_snapshot(&fake->fs, &stats, NULL), 0);
	assert_int_equal(stats.n, 2);
	vec_free(&stats);
}

static void reads_only_new_numbers_to_bring_a_snapshot_up_to_date(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_stats stats = { 0 };

	fakeproc_text(fake, "42/stat",
		      FAKEPROC_STAT("42", "cat", "R", "7", "100"));
	assert_int_equal(procfs_snapshot(&fake->fs, &stats, NULL), 0);
	assert_int_equal(stats.n, 1);
	fakeproc_text(fake, "42/stat", "unreadable");
	assert_int_equal(procfs_update(&fake->fs, &stats, NULL), 0);
	assert_int_equal(stats.n, 1);
	assert_int_equal(stats.at[0].start, 100);
	/* One has come that is not known, one was known that has gone. */
	stats.at[0].pid = 41;
	fakeproc_text(fake, "42/stat",
		      FAKEPROC_STAT("42", "cat", "R", "7", "200"));
	assert_int_equal(procfs_update(&fake->fs, &stats, NULL), 0);
	assert_int_equal(stats.n, 1);
	assert_int_equal(stats.at[0].pid, 42);
	assert_int_equal(stats.at[0].start, 200);
	vec_free(&stats);
}

static void tells_how_a_zombie_ended(void **state)
{
	struct proc_stat stat;
	char text[512];

	(void)state;
	(void)snprintf(text, sizeof(text),
		       FAKEPROC_STAT("42", "cat", "Z", "7", "1"));
	assert_int_equal(parse_stat(text, &stat), 0);
	assert_int_equal(stat.status, 0);
	(void)strcpy(text, "42 (cat) Z 7");
	for (int field = 5; field <= 51; field++)
		(void)strcat(text, " -1");
	(void)strcat(text, " 768\n");
	assert_int_equal(parse_stat(text, &stat), 0);
	assert_int_equal(stat.status, 768);
}

static void lists_the_children_of_a_thread(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_tids tids = { 0 };

	fakeproc_text(fake, "42/task/43/children", "7 4194303 12 ");
	fakeproc_text(fake, "42/task/44/children", "");
	fakeproc_text(fake, "42/task/45/children", "7 99999999999 ");
	fakeproc_text(fake, "42/task/46/stat", "");
	assert_int_equal(procfs_children(&fake->fs, 42, 43, &tids, NULL), 0);
	assert_int_equal(tids.n, 3);
	assert_int_equal(tids.at[1], 4194303);
	assert_int_equal(procfs_children(&fake->fs, 42, 44, &tids, NULL), 0);
	assert_int_equal(tids.n, 0);
	assert_int_equal(procfs_children(&fake->fs, 42, 45, &tids, NULL),
			 -EBADMSG);
	/* The thread is there, the file is not: another kernel. */
	assert_int_equal(procfs_children(&fake->fs, 42, 46, &tids, NULL),
			 -ENOENT);
	assert_int_equal(procfs_tids(&fake->fs, 42, &tids, NULL), 0);
	assert_int_equal(tids.n, 4);
	vec_free(&tids);
}

static void reads_more_children_than_one_read_gives(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_tids tids = { 0 };
	struct str text = { 0 };

	for (int pid = 1; pid <= 10000; pid++)
		str_printf(&text, "%d ", pid);
	fakeproc_put(fake, "42/task/42/children", text.at, text.len);
	assert_int_equal(procfs_children(&fake->fs, 42, 42, &tids, NULL), 0);
	assert_int_equal(tids.n, 10000);
	assert_int_equal(tids.at[9999], 10000);
	str_free(&text);
	vec_free(&tids);
}

static void joins_the_arguments_of_a_command_by_blanks(void **state)
{
	const struct fakeproc *fake = *state;
	struct str text = { 0 };

	fakeproc_put(fake, "42/cmdline", "python3\0-c\0\0x", 14);
	assert_int_equal(procfs_command(&fake->fs, 42, &text, NULL), 0);
	assert_string_equal(text.at, "python3 -c  x");
	str_clear(&text);
	/* As a program leaves it that wrote a title over its arguments. */
	fakeproc_put(fake, "42/cmdline", "worker 1\0\0\0\0\0", 13);
	assert_int_equal(procfs_command(&fake->fs, 42, &text, NULL), 0);
	assert_string_equal(text.at, "worker 1");
	str_free(&text);
}

static void shows_at_most_4096_bytes_of_a_command(void **state)
{
	const struct fakeproc *fake = *state;
	struct str text = { 0 };
	char args[5000];

	memset(args, 'x', sizeof(args));
	fakeproc_put(fake, "42/cmdline", args, sizeof(args));
	assert_int_equal(procfs_command(&fake->fs, 42, &text, NULL), 0);
	assert_int_equal(text.len, 4096);
	str_free(&text);
}

static void names_in_brackets_who_has_no_command(void **state)
{
	const struct fakeproc *fake = *state;
	struct str text = { 0 };

	fakeproc_text(fake, "42/cmdline", "");
	fakeproc_text(fake, "42/comm", "kworker/0:1 x\n");
	assert_int_equal(procfs_command(&fake->fs, 42, &text, NULL), 0);
	assert_string_equal(text.at, "[kworker/0:1 x]");
	str_free(&text);
}

static void tells_the_tracer_and_the_user(void **state)
{
	const struct fakeproc *fake = *state;
	pid_t tracer;
	uid_t uid;

	fakeproc_text(fake, "42/status",
		      "Name:\tTracerPid: 9\\nUid: 8\nPid:\t42\nPPid:\t1\n"
		      "TracerPid:\t77\nUid:\t1000\t0\t0\t0\n");
	assert_int_equal(procfs_tracer(&fake->fs, 42, &tracer, &uid, NULL), 0);
	assert_int_equal(tracer, 77);
	assert_int_equal(uid, 1000);
	fakeproc_text(fake, "42/status", "Name:\tx\nTracerPid:\t0\n");
	assert_int_equal(procfs_tracer(&fake->fs, 42, &tracer, &uid, NULL),
			 -EBADMSG);
}

static void tells_the_number_in_the_innermost_namespace(void **state)
{
	const struct fakeproc *fake = *state;
	bool nested;
	pid_t inner;

	fakeproc_text(fake, "42/task/43/status",
		      "Name:\tx\nTgid:\t42\nNSpid:\t43\t9\t2\nVmPeak:\t1 kB\n");
	assert_int_equal(
		procfs_inner_tid(&fake->fs, 42, 43, &inner, &nested, NULL), 0);
	assert_int_equal(inner, 2);
	assert_true(nested);
	fakeproc_text(fake, "42/task/43/status", "Name:\tx\nNSpid:\t43\n");
	assert_int_equal(
		procfs_inner_tid(&fake->fs, 42, 43, &inner, &nested, NULL), 0);
	assert_int_equal(inner, 43);
	assert_false(nested);
}

static void takes_our_number_where_the_kernel_tells_no_other(void **state)
{
	const struct fakeproc *fake = *state;
	bool nested = true;
	pid_t inner;

	fakeproc_text(fake, "42/task/43/status", "Name:\tNSpid: 7\n");
	assert_int_equal(
		procfs_inner_tid(&fake->fs, 42, 43, &inner, &nested, NULL), 0);
	assert_int_equal(inner, 43);
	assert_false(nested);
	fakeproc_text(fake, "42/task/43/status", "NSpid:\tx\n");
	assert_int_equal(
		procfs_inner_tid(&fake->fs, 42, 43, &inner, &nested, NULL),
		-EBADMSG);
	assert_int_equal(
		procfs_inner_tid(&fake->fs, 42, 44, &inner, &nested, NULL),
		OUT_GONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_a_stat_line_says),
		cmocka_unit_test(is_not_led_astray_by_a_name),
		cmocka_unit_test(takes_no_stat_line_that_was_cut),
		cmocka_unit_test(takes_no_stat_line_with_numbers_that_are_none),
		WITH_FAKE(says_gone_of_one_who_is_not_there),
		WITH_FAKE(tells_whether_addresses_are_random),
		WITH_FAKE(looks_up_nothing_of_a_task_that_the_kernel_has_not),
		WITH_FAKE(names_the_file_that_it_does_not_understand),
		WITH_FAKE(lists_processes_and_leaves_out_what_vanished),
		WITH_FAKE(
			reads_only_new_numbers_to_bring_a_snapshot_up_to_date),
		cmocka_unit_test(tells_how_a_zombie_ended),
		WITH_FAKE(lists_the_children_of_a_thread),
		WITH_FAKE(reads_more_children_than_one_read_gives),
		WITH_FAKE(joins_the_arguments_of_a_command_by_blanks),
		WITH_FAKE(shows_at_most_4096_bytes_of_a_command),
		WITH_FAKE(names_in_brackets_who_has_no_command),
		WITH_FAKE(tells_the_tracer_and_the_user),
		WITH_FAKE(tells_the_number_in_the_innermost_namespace),
		WITH_FAKE(takes_our_number_where_the_kernel_tells_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
