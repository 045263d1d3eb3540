/* SPDX-License-Identifier: Apache-2.0 */
#include "session_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "forkflame/forkflame.h"

/* What this machine offers or refuses: a line a thing, each with its own teller. */

enum mark {
	MARK_OK,   /* as good as it gets, or good enough for a command */
	MARK_NO,   /* refused: the text says what that costs, and what helps */
	MARK_NOTE, /* neither: good to know */
};

/*
 * Descriptors that a process with one thread takes (a pidfd, its schedstat, and
 * without switch records its syscall), and that we take ourselves, beside a ring
 * for each CPU.
 */
#define FILES_EACH 3
#define FILES_OURS 14
#define PROCESSES_ENOUGH 200

/* What was refused, in words, where @r is what became of a trial. */
static const char *trouble(int r)
{
	if (r < 0)
		return strerror(-r);
	return r == OUT_DENIED ? "not permitted"
	       : r == OUT_BUSY ? "it did not stop in time"
			       : "it did not work";
}

/* The kernel's version, or 0: 5.4 is 5 << 16 | 4. */
static unsigned long version_of(const char *release)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10);

	return *end == '.' ? major << 16 | strtoul(end + 1, NULL, 10) : 0;
}

static enum mark tell_kernel(const struct machine *m, const struct trials *t,
			     struct str *to)
{
	(void)t;
	str_printf(to, "Linux %s on %s", m->release, m->arch);
	if (version_of(m->release) < (5 << 16 | 4)) {
		str_puts(to, ": 5.4 or newer is needed");
		return MARK_NO;
	}
	if (!strcmp(m->arch, "x86_64"))
		return MARK_OK;
	if (!strcmp(m->arch, "aarch64")) {
		str_puts(to, ": should work, and is not tested");
		return MARK_NOTE;
	}
	str_puts(to, ": forkflame is made for x86_64");
	return MARK_NO;
}

static enum mark tell_user(const struct machine *m, const struct trials *t,
			   struct str *to)
{
	static const struct {
		enum machine_cap cap;
		const char *name;
	} caps[] = {
		{ MACHINE_SYS_PTRACE, "SYS_PTRACE" },
		{ MACHINE_PERFMON, "PERFMON" },
		{ MACHINE_SYS_ADMIN, "SYS_ADMIN" },
		{ MACHINE_NET_ADMIN, "NET_ADMIN" },
		{ MACHINE_SYS_NICE, "SYS_NICE" },
	};
	const char *between = " with ";

	(void)t;
	if (m->uid == 0)
		str_puts(to, "root");
	else
		str_printf(to, "user %u", m->uid);
	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		if (!machine_may(m, caps[i].cap))
			continue;
		str_printf(to, "%s%s", between, caps[i].name);
		between = ", ";
	}
	if (m->user_ns == MACHINE_NS_OWN)
		str_puts(to, ", within this user namespace alone");
	if (machine_may(m, MACHINE_SYS_PTRACE))
		return MARK_OK;
	str_puts(to, m->uid == 0
			     ? ", without SYS_PTRACE: other users' processes "
			       "need it (docker run --cap-add=SYS_PTRACE)"
			     : ": own processes alone; other users' with sudo");
	return MARK_NOTE;
}

static enum mark tell_events(const struct machine *m, const struct trials *t,
			     struct str *to)
{
	(void)m;
	if (t->events.code) {
		str_printf(to, "%s (%s)", t->events.text,
			   strerror(-t->events.code));
		return MARK_NO;
	}
	str_puts(to, "the proc connector tells of every birth");
	return MARK_OK;
}

/* The call that gives switch records gives these. */
static enum mark tell_tasks(const struct machine *m, const struct trials *t,
			    struct str *to)
{
	const char *role = t->events.code ? "in place of process events"
					  : "would take their place";

	(void)m;
	if (t->switches_all == 0) {
		str_printf(to, "of all processes, %s", role);
		return MARK_OK;
	}
	if (t->switches_own == 0) {
		str_printf(to,
			   "of what you profile, not of setuid programs, %s",
			   role);
		return MARK_OK;
	}
	str_puts(to, "refused, as switch records are");
	return t->events.code ? MARK_NO : MARK_NOTE;
}

static enum mark tell_children(const struct machine *m, const struct trials *t,
			       struct str *to)
{
	const char *role = t->events.code ? "in place of process events"
					  : "would take their place";

	if (m->children) {
		str_printf(to,
			   "%s, looked at every 10 ms: what lives shorter may "
			   "be missed",
			   role);
		return MARK_OK;
	}
	str_printf(to,
		   "a kernel without CONFIG_PROC_CHILDREN; all of /proc is "
		   "read %s",
		   t->events.code ? "in place of process events" : "instead");
	return t->events.code ? MARK_NO : MARK_NOTE;
}

/* "kernel.perf_event_paranoid=N", where it is known. */
static void add_paranoid(const struct machine *m, struct str *to)
{
	if (m->paranoid != MACHINE_UNSET)
		str_printf(to, "kernel.perf_event_paranoid=%d", m->paranoid);
	else
		str_puts(to, "no kernel.perf_event_paranoid");
}

static enum mark tell_switches(const struct machine *m, const struct trials *t,
			       struct str *to)
{
	if (t->switches_all == 0) {
		str_puts(to, "of all processes");
		return MARK_OK;
	}
	if (t->switches_own == 0) {
		str_puts(to, "of your own programs; with -a, run counts "
			     "take their place (");
		add_paranoid(m, to);
		str_puts(to, m->paranoid > 0
				     ? ": root, PERFMON or 'sudo sysctl "
				       "kernel.perf_event_paranoid=0' help)"
				     : ": root or PERFMON help)");
		return MARK_OK;
	}
	str_printf(to, "%s, ", trouble(t->switches_own));
	add_paranoid(m, to);
	str_puts(to, ": run counts take their place, with more stops; ");
	if (t->switches_own == -ENOENT || t->switches_own == -ENOSYS)
		str_puts(to, "the kernel was built without them");
	else if (t->switches_own == -EMFILE)
		str_puts(to, "raise the limit of open files");
	else if (m->paranoid > 2)
		str_puts(to, "run as root, or 'sudo sysctl "
			     "kernel.perf_event_paranoid=2'");
	else
		str_puts(to, "a sandbox forbids perf_event_open, or memory may "
			     "not be locked (docker run --cap-add=PERFMON, "
			     "ulimit -l)");
	return MARK_NO;
}

/* What only frames from the kernel need. */
static enum mark tell_kframes(const struct machine *m, const struct trials *t,
			      struct str *to)
{
	(void)m;
	if (t->kframes.code == 0) {
		str_puts(to, "running threads can be read without a stop "
			     "(--sampler=kernel; from 500 Hz on by itself)");
		return MARK_OK;
	}
	str_printf(to, "%s (%s): running threads are stopped", t->kframes.text,
		   strerror(-t->kframes.code));
	return MARK_NOTE;
}

static enum mark tell_runcounts(const struct machine *m, const struct trials *t,
				struct str *to)
{
	(void)m;
	if (t->runcounts == 0) {
		str_puts(to, "each thread's schedstat: proves that it did not "
			     "run");
		return MARK_OK;
	}
	if (t->runcounts == OUT_UNKNOWN)
		str_puts(to, "a kernel without CONFIG_SCHED_INFO: CPU time "
			     "cannot be told");
	else
		str_printf(to,
			   "schedstat of /proc cannot be read (%s): CPU "
			   "time cannot be told; is /proc mounted whole?",
			   t->runcounts == OUT_GONE ? "it is not there"
						    : trouble(t->runcounts));
	return MARK_NO;
}

/* Why a child of our own is kept from us, and what helps. */
static void add_refusal(const struct machine *m, int r, struct str *to)
{
	bool denied = r == OUT_DENIED || r == -EPERM || r == -EACCES;

	str_printf(to, "a child of our own: %s; ", trouble(r));
	if (r == -EMFILE || r == -EAGAIN || r == -ENOMEM)
		str_puts(to, "raise the limits (ulimit -n, ulimit -u)");
	else if (denied && m->yama > 2)
		str_printf(to,
			   "kernel.yama.ptrace_scope=%d lets nobody trace, "
			   "until the next boot",
			   m->yama);
	else if (denied && m->yama == 2 && !machine_may(m, MACHINE_SYS_PTRACE))
		str_puts(to, "kernel.yama.ptrace_scope=2 lets only root trace: "
			     "run as root, or 'sudo sysctl "
			     "kernel.yama.ptrace_scope=1'");
	else if (m->seccomp == 2)
		str_puts(to, "most likely forbidden by the seccomp filter that "
			     "is on: docker run --cap-add=SYS_PTRACE, or "
			     "--security-opt seccomp=unconfined");
	else
		str_puts(to, "a security module or a sandbox forbids it: in a "
			     "container, docker run --cap-add=SYS_PTRACE");
}

static enum mark tell_ptrace(const struct machine *m, const struct trials *t,
			     struct str *to)
{
	if (t->stop) {
		add_refusal(m, t->stop, to);
		return MARK_NO;
	}
	str_puts(to, "a thread is stopped and let go");
	if (m->yama == MACHINE_UNSET || m->yama == 0)
		str_puts(to, m->yama ? "; no Yama"
				     : "; kernel.yama.ptrace_scope=0");
	else if (machine_may(m, MACHINE_SYS_PTRACE))
		str_printf(to, "; kernel.yama.ptrace_scope=%d, not for us",
			   m->yama);
	else
		str_printf(to,
			   "; kernel.yama.ptrace_scope=%d: -p as root, or "
			   "'sudo sysctl kernel.yama.ptrace_scope=0'",
			   m->yama);
	return MARK_OK;
}

static enum mark tell_read(const struct machine *m, const struct trials *t,
			   struct str *to)
{
	if (t->read) {
		add_refusal(m, t->read, to);
		return MARK_NO;
	}
	str_puts(to, "memory is read");
	return MARK_OK;
}

/* How many processes of one thread the limit of open files has room for. */
static uint64_t room(const struct machine *m)
{
	uint64_t ours = FILES_OURS + m->cpus;

	return m->files_hard > ours ? (m->files_hard - ours) / FILES_EACH : 0;
}

static enum mark tell_files(const struct machine *m, const struct trials *t,
			    struct str *to)
{
	uint64_t most = room(m);

	(void)t;
	str_printf(to,
		   "%" PRIu64 ", raised to %" PRIu64 ": about %" PRIu64
		   " processes of one thread at a time",
		   m->files_soft, m->files_hard, most);
	if (most >= PROCESSES_ENOUGH)
		return MARK_OK;
	str_puts(to, "; for more: ulimit -Hn 65536 as root, docker run "
		     "--ulimit nofile=65536");
	return MARK_NO;
}

static enum mark tell_namespaces(const struct machine *m,
				 const struct trials *t, struct str *to)
{
	static const char *const words[] = {
		[MACHINE_NS_UNKNOWN] = "not known",
		[MACHINE_NS_INITIAL] = "initial",
		[MACHINE_NS_OWN] = "own",
	};
	enum machine_ns net = m->net_ns;

	if (net == MACHINE_NS_UNKNOWN && t->events.code == 0)
		net = MACHINE_NS_INITIAL;
	if (net == MACHINE_NS_UNKNOWN && t->events.code == -ECONNREFUSED)
		net = MACHINE_NS_OWN;
	str_printf(to, "pid: %s, user: %s, net: %s", words[m->pid_ns],
		   words[m->user_ns], words[net]);
	if (m->pid_ns == MACHINE_NS_OWN)
		str_puts(to, "; processes outside cannot be seen");
	return m->pid_ns == MACHINE_NS_INITIAL &&
			       m->user_ns == MACHINE_NS_INITIAL &&
			       net == MACHINE_NS_INITIAL
		       ? MARK_OK
		       : MARK_NOTE;
}

static enum mark tell_priority(const struct machine *m, const struct trials *t,
			       struct str *to)
{
	const char *group =
		m->autogroup > 0
			? "sched_autogroup is on, so that other sessions"
			: "programs";

	if (t->policy == SCHED_FIFO) {
		str_puts(to, "SCHED_FIFO 1: samples come in time");
		return MARK_OK;
	}
	str_printf(to,
		   "nice %d, no SCHED_FIFO: %s that are busy delay samples and "
		   "lengthen stops; root, SYS_NICE or ulimit -r 1 help",
		   t->nice, group);
	return MARK_NO;
}

bool check_able(const struct machine *m, const struct trials *t)
{
	return t->stop == 0 && t->read == 0 && room(m) > 0;
}

static enum mark tell_recording(const struct machine *m, const struct trials *t,
				struct str *to)
{
	if (check_able(m, t)) {
		str_puts(to, "a command that you start can be recorded");
		return MARK_OK;
	}
	str_printf(to, "nothing can be recorded: see %s",
		   t->stop   ? "ptrace"
		   : t->read ? "process_vm_readv"
			     : "open files");
	return MARK_NO;
}

bool check_line(const struct machine *m, const struct trials *t, size_t index,
		struct str *to)
{
	static const struct {
		const char *name;
		enum mark (*tell)(const struct machine *m,
				  const struct trials *t, struct str *to);
	} lines[] = {
		{ "kernel", tell_kernel },
		{ "user", tell_user },
		{ "process events", tell_events },
		{ "task records", tell_tasks },
		{ "children files", tell_children },
		{ "switch records", tell_switches },
		{ "kernel frames", tell_kframes },
		{ "run counts", tell_runcounts },
		{ "ptrace", tell_ptrace },
		{ "process_vm_readv", tell_read },
		{ "open files", tell_files },
		{ "namespaces", tell_namespaces },
		{ "priority", tell_priority },
		{ "recording", tell_recording },
	};
	static const char marks[][3] = { "ok", "no", "--" };
	struct str text = { 0 };
	enum mark mark;

	if (index >= sizeof(lines) / sizeof(*lines))
		return false;
	mark = lines[index].tell(m, t, &text);
	str_printf(to, "%s  %-16s  %s\n", marks[mark], lines[index].name,
		   text.at ? text.at : "");
	to->failed |= text.failed;
	str_free(&text);
	return true;
}

int forkflame_check(forkflame_write_fn write, void *ctx, bool *ret_able)
{
	struct procfs fs = { .root = -1 };
	struct str line = { 0 };
	struct machine machine;
	struct trials trials;
	int r = 0;

	fs.root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs.root < 0)
		return -errno;
	machine_read(&fs, &machine);
	trial_all(&fs, &trials);
	*ret_able = check_able(&machine, &trials);
	for (size_t i = 0; r == 0 && check_line(&machine, &trials, i, &line);
	     i++) {
		r = line.failed ? -ENOMEM : write(ctx, line.at, line.len);
		str_clear(&line);
	}
	str_free(&line);
	(void)close(fs.root);
	return r;
}
