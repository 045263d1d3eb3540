/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "linux/procfs_read.h"

/* Of the initial namespaces: since Linux 3.8, that of the network since 6.18. */
#define PID_NS_INIT 4026531836u
#define USER_NS_INIT 4026531837u
#define NET_NS_INIT 4026531833u

/* A small number, perhaps a negative one, or MACHINE_UNSET. */
static int scan_setting(struct scan *s, unsigned base)
{
	bool negative;
	uint64_t value;

	scan_blanks(s);
	negative = scan_char(s, '-');
	if (!scan_number(s, base, &value) || value > INT_MAX)
		return MACHINE_UNSET;
	return negative ? -(int)value : (int)value;
}

static int read_setting(const struct procfs *fs, const char *path)
{
	char text[32];
	struct scan s;
	size_t len;

	if (procfs_read(fs, path, text, sizeof(text), &len, NULL))
		return MACHINE_UNSET;
	s = (struct scan){ text, text + len };
	return scan_setting(&s, 10);
}

/* The scan behind "KEY:" at the beginning of a line; empty when there is none. */
static struct scan find_field(const char *text, size_t len, const char *key)
{
	size_t n = strlen(key);
	const char *end = text + len;

	for (const char *at = text; at && at < end;) {
		if ((size_t)(end - at) > n && !memcmp(at, key, n) &&
		    at[n] == ':')
			return (struct scan){ at + n + 1, end };
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return (struct scan){ end, end };
}

static void read_status(const struct procfs *fs, struct machine *ret)
{
	char text[8192];
	struct scan s;
	size_t len;

	ret->seccomp = MACHINE_UNSET;
	if (procfs_read(fs, "self/status", text, sizeof(text), &len, NULL))
		return;
	s = find_field(text, len, "CapEff");
	scan_blanks(&s);
	if (!scan_number(&s, 16, &ret->caps))
		ret->caps = 0;
	s = find_field(text, len, "Seccomp");
	ret->seccomp = scan_setting(&s, 10);
}

/* Is "self/ns/NAME", a link to "NAME:[NUMBER]", the one with number @initial? */
static enum machine_ns read_ns(const struct procfs *fs, const char *name,
			       uint64_t initial)
{
	char path[32], text[64];
	uint64_t number;
	struct scan s;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "self/ns/%s", name);
	len = readlinkat(fs->root, path, text, sizeof(text));
	if (len <= (ssize_t)strlen(name))
		return MACHINE_NS_UNKNOWN;
	s = (struct scan){ text + strlen(name), text + len };
	if (!scan_char(&s, ':') || !scan_char(&s, '[') ||
	    !scan_number(&s, 10, &number))
		return MACHINE_NS_UNKNOWN;
	return number == initial ? MACHINE_NS_INITIAL : MACHINE_NS_OWN;
}

void machine_read(const struct procfs *fs, struct machine *ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit files = { 0 };
	struct utsname name;

	*ret = (struct machine){ .uid = geteuid() };
	if (uname(&name) == 0) {
		(void)snprintf(ret->release, sizeof(ret->release), "%s",
			       name.release);
		(void)snprintf(ret->arch, sizeof(ret->arch), "%s",
			       name.machine);
	}
	read_status(fs, ret);
	ret->paranoid = read_setting(fs, "sys/kernel/perf_event_paranoid");
	ret->yama = read_setting(fs, "sys/kernel/yama/ptrace_scope");
	ret->autogroup = read_setting(fs, "sys/kernel/sched_autogroup_enabled");
	ret->children = faccessat(fs->root, "thread-self/children", F_OK, 0) ==
			0;
	ret->pid_ns = read_ns(fs, "pid", PID_NS_INIT);
	ret->user_ns = read_ns(fs, "user", USER_NS_INIT);
	ret->net_ns = read_ns(fs, "net", NET_NS_INIT);
	if (ret->net_ns == MACHINE_NS_OWN)
		ret->net_ns = MACHINE_NS_UNKNOWN;
	(void)getrlimit(RLIMIT_NOFILE, &files);
	ret->files_soft = files.rlim_cur;
	ret->files_hard = files.rlim_max;
	ret->cpus = cpus > 0 ? (unsigned)cpus : 1;
}
