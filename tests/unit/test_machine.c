/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeproc.h"

#include <sched.h>

#include "base/outcome.h"
#include "linux/machine.h"
#include "session_check.h"

/* Of Linux 6.18; the capabilities are those of docker's root. */
#define STATUS                        \
	"Name:\tforkflame\n"          \
	"CapInh:\t0000000000000000\n" \
	"CapPrm:\t000001ffffffffff\n" \
	"CapEff:\t00000000a80425fb\n" \
	"NoNewPrivs:\t0\n"            \
	"Seccomp:\t2\n"               \
	"Seccomp_filters:\t1\n"

static struct machine read_machine(const struct fakeproc *fake)
{
	struct machine machine;

	machine_read(&fake->fs, &machine);
	return machine;
}

static void tells_capabilities_and_filters_of_a_status(void **state)
{
	struct machine m;

	fakeproc_text(*state, "self/status", STATUS);
	m = read_machine(*state);
	assert_int_equal(m.caps, 0xa80425fb);
	assert_false(machine_may(&m, MACHINE_SYS_PTRACE));
	assert_int_equal(m.seccomp, 2);
	fakeproc_text(*state, "self/status",
		      "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	m = read_machine(*state);
	assert_true(machine_may(&m, MACHINE_PERFMON));
	assert_int_equal(m.seccomp, 0);
	fakeproc_text(*state, "self/status", "XCapEff:\tff\nCapEff");
	m = read_machine(*state);
	assert_int_equal(m.caps, 0);
	assert_int_equal(m.seccomp, MACHINE_UNSET);
}

static void tells_settings_also_below_zero(void **state)
{
	struct machine m;

	fakeproc_text(*state, "sys/kernel/perf_event_paranoid", "-1\n");
	fakeproc_text(*state, "sys/kernel/yama/ptrace_scope", "3\n");
	m = read_machine(*state);
	assert_int_equal(m.paranoid, -1);
	assert_int_equal(m.yama, 3);
	assert_int_equal(m.autogroup, MACHINE_UNSET);
	assert_false(m.children);
	fakeproc_text(*state, "sys/kernel/yama/ptrace_scope", "x\n");
	fakeproc_text(*state, "thread-self/children", "");
	m = read_machine(*state);
	assert_int_equal(m.yama, MACHINE_UNSET);
	assert_true(m.children);
}

static void tells_namespaces_by_their_numbers(void **state)
{
	const struct fakeproc *fake = *state;
	int root = fake->fs.root;
	struct machine m;

	fakeproc_text(fake, "self/ns/x", "");
	assert_int_equal(symlinkat("pid:[4026531836]", root, "self/ns/pid"), 0);
	assert_int_equal(symlinkat("user:[4026532200]", root, "self/ns/user"),
			 0);
	assert_int_equal(symlinkat("net:[4026531992]", root, "self/ns/net"), 0);
	m = read_machine(fake);
	assert_int_equal(m.pid_ns, MACHINE_NS_INITIAL);
	assert_int_equal(m.user_ns, MACHINE_NS_OWN);
	assert_int_equal(m.net_ns, MACHINE_NS_UNKNOWN);
}

/* A machine on which everything works, for an ordinary user. */
static const struct machine good = {
	.release = "6.1.0-18-amd64",
	.arch = "x86_64",
	.uid = 1000,
	.paranoid = 2,
	.yama = 1,
	.autogroup = 1,
	.children = true,
	.pid_ns = MACHINE_NS_INITIAL,
	.user_ns = MACHINE_NS_INITIAL,
	.files_soft = 1024,
	.files_hard = 4096,
	.cpus = 2,
};
static const struct trials fine = {
	.switches_all = -EACCES,
	.policy = SCHED_FIFO,
};

/* Is there a line that begins with @begin, and does it say @word? */
static void assert_says(const struct machine *m, const struct trials *t,
			const char *begin, const char *word)
{
	struct str line = { 0 };
	bool said = false;

	for (size_t i = 0; check_line(m, t, i, &line); i++) {
		assert_false(line.failed);
		assert_int_equal(line.at[line.len - 1], '\n');
		assert_ptr_equal(strchr(line.at, '\n'), line.at + line.len - 1);
		if (!strncmp(line.at, begin, strlen(begin)))
			said = said || strstr(line.at, word);
		str_clear(&line);
	}
	str_free(&line);
	if (!said)
		fail_msg("no line '%s' with '%s'", begin, word);
}

static void knows_the_kernels_that_it_is_made_for(void **state)
{
	struct machine m = good;

	(void)state;
	assert_says(&m, &fine, "ok  kernel", "6.1.0-18-amd64 on x86_64");
	strcpy(m.arch, "aarch64");
	assert_says(&m, &fine, "--  kernel", "not tested");
	strcpy(m.arch, "riscv64");
	assert_says(&m, &fine, "no  kernel", "x86_64");
	m = good;
	strcpy(m.release, "5.3.18-generic");
	assert_says(&m, &fine, "no  kernel", "5.4 or newer");
	strcpy(m.release, "5.15.0");
	assert_says(&m, &fine, "ok  kernel", "5.15.0");
}

static void names_the_fix_of_refused_switch_records(void **state)
{
	struct machine m = good;
	struct trials t = fine;

	(void)state;
	assert_says(&m, &t, "ok  switch records",
		    "kernel.perf_event_paranoid=2: root, PERFMON");
	t.switches_all = 0;
	assert_says(&m, &t, "ok  switch records", "of all processes");
	t.switches_all = t.switches_own = -EACCES;
	m.paranoid = 3;
	assert_says(&m, &t, "no  switch records",
		    "'sudo sysctl kernel.perf_event_paranoid=2'");
	m.paranoid = 2;
	assert_says(&m, &t, "no  switch records", "--cap-add=PERFMON");
}

static void names_the_fix_of_refused_traces(void **state)
{
	struct machine m = good;
	struct trials t = fine;

	(void)state;
	assert_says(&m, &t, "ok  ptrace",
		    "'sudo sysctl kernel.yama.ptrace_scope=0'");
	assert_true(check_able(&m, &t));
	assert_says(&m, &t, "ok  recording", "");
	t.stop = OUT_DENIED;
	m.seccomp = 2;
	assert_says(&m, &t, "no  ptrace", "seccomp filter");
	assert_says(&m, &t, "no  recording", "see ptrace");
	assert_false(check_able(&m, &t));
	m.yama = 2;
	assert_says(&m, &t, "no  ptrace",
		    "'sudo sysctl kernel.yama.ptrace_scope=1'");
	t.stop = 0;
	t.read = -ENOSYS;
	m = good;
	assert_says(&m, &t, "no  process_vm_readv", "--cap-add=SYS_PTRACE");
	assert_says(&m, &t, "no  process_vm_readv", strerror(ENOSYS));
	assert_false(check_able(&m, &t));
}

static void tells_what_takes_the_place_of_process_events(void **state)
{
	struct machine m = good;
	struct trials t = fine;

	(void)state;
	assert_says(&m, &t, "ok  process events", "");
	assert_says(&m, &t, "ok  children files", "would take their place");
	m.children = false;
	assert_says(&m, &t, "--  children files", "CONFIG_PROC_CHILDREN");
	(void)error_set(&t.events, -ECONNREFUSED, "why and what helps");
	assert_says(&m, &t, "no  process events", "why and what helps");
	assert_says(&m, &t, "no  children files", "CONFIG_PROC_CHILDREN");
	assert_says(&m, &t, "--  namespaces", "net: own");
}

static void tells_how_many_processes_the_limit_of_files_allows(void **state)
{
	struct machine m = good;

	(void)state;
	assert_says(&m, &fine, "ok  open files",
		    "1024, raised to 4096: about 1360 processes");
	m.files_soft = m.files_hard = 64;
	assert_says(&m, &fine, "no  open files", "about 16 processes");
	assert_true(check_able(&m, &fine));
	m.files_hard = 12;
	assert_says(&m, &fine, "no  open files", "about 0 processes");
	assert_says(&m, &fine, "no  recording", "see open files");
	assert_false(check_able(&m, &fine));
}

static void tells_what_no_priority_means(void **state)
{
	struct machine m = good;
	struct trials t = fine;

	(void)state;
	t.policy = SCHED_OTHER;
	assert_says(&m, &t, "no  priority", "sched_autogroup is on");
	m.autogroup = 0;
	assert_says(&m, &t, "no  priority", ": programs that are busy");
}

static void tells_why_running_threads_are_stopped(void **state)
{
	struct machine m = good;
	struct trials t = fine;

	(void)state;
	assert_says(&m, &t, "ok  kernel frames", "--sampler=kernel");
	(void)error_set(&t.kframes, -EPERM, "load the program");
	assert_says(&m, &t, "--  kernel frames",
		    "load the program (Operation not permitted): running "
		    "threads are stopped");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FAKE(tells_capabilities_and_filters_of_a_status),
		WITH_FAKE(tells_settings_also_below_zero),
		WITH_FAKE(tells_namespaces_by_their_numbers),
		cmocka_unit_test(knows_the_kernels_that_it_is_made_for),
		cmocka_unit_test(names_the_fix_of_refused_switch_records),
		cmocka_unit_test(names_the_fix_of_refused_traces),
		cmocka_unit_test(tells_why_running_threads_are_stopped),
		cmocka_unit_test(tells_what_takes_the_place_of_process_events),
		cmocka_unit_test(
			tells_how_many_processes_the_limit_of_files_allows),
		cmocka_unit_test(tells_what_no_priority_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
