/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "linux/clock.h"
#include "linux/cnproc.h"
#include "linux/taskevents.h"
#include "session_internal.h"

/*
 * Where news of births, execs and ends come from. The best that may be had, in
 * this order, each for a reason that is told (events_reason):
 *
 *	connector   all of the machine, nothing is missed
 *	perf        all of the machine, or of the command that is started: only
 *	            then is its number known, so this is settled in two steps
 *	children    looking every 10 ms at the children files of all threads
 *	scan        looking at all of /proc
 */

/* How often the last two look, at most; and the share of a CPU that it may cost. */
#define LOOK_NS (10 * NSEC_PER_MSEC)
#define LOOK_MAX_NS NSEC_PER_SEC
#define LOOK_SHARE 20

const char *source_name(const struct forkflame *ff)
{
	static const char *const names[] = {
		[FORKFLAME_EVENTS_CONNECTOR] = "connector",
		[FORKFLAME_EVENTS_CHILDREN] = "children",
		[FORKFLAME_EVENTS_PERF] = "perf",
		[FORKFLAME_EVENTS_SCAN] = "scan",
	};
	const char *name = names[ff->source];

	return name ? name : "none";
}

static bool wanted(const struct forkflame *ff, enum forkflame_events source)
{
	return ff->options.events == source ||
	       ff->options.events == FORKFLAME_EVENTS_AUTO;
}

static void add_reason(struct forkflame *ff, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_reason(struct forkflame *ff, const char *format, ...)
{
	size_t len = strlen(ff->events_reason);
	size_t room = sizeof(ff->events_reason);
	va_list args;

	if (len && len + 3 < room) {
		memcpy(ff->events_reason + len, "; ", 3);
		len += 2;
	}
	va_start(args, format);
	(void)vsnprintf(ff->events_reason + len, room - len, format, args);
	va_end(args);
}

/* What it was refused with is a reason, or, where nothing else will do, the end. */
static int refused(struct forkflame *ff, enum forkflame_events source, int r,
		   const struct error *why)
{
	if (ff->options.events == source)
		return error_set(&ff->err, r, "%s", why->text);
	add_reason(ff, "%s", why->text);
	return 0;
}

static int try_connector(struct forkflame *ff)
{
	struct error why = ERROR_NONE;
	struct evsource source;
	struct cnproc *cn = NULL;
	int r = cnproc_open(&cn, ff->options.event_buffer, &why);

	if (r == 0) {
		source = cnproc_source(cn);
		r = listener_start(&ff->listener, &source, &why);
	}
	if (r < 0)
		return refused(ff, FORKFLAME_EVENTS_CONNECTOR, r, &why);
	ff->source = FORKFLAME_EVENTS_CONNECTOR;
	return 0;
}

/* All threads of @pid. OUT_GONE when it has gone. */
static int watch(struct forkflame *ff, struct taskevents *t, pid_t pid)
{
	struct proc_tids tids = { 0 };
	int r = procfs_tids(&ff->fs, pid, &tids, NULL);

	for (size_t i = 0; r == 0 && i < tids.n; i++) {
		r = taskevents_watch(t, tids.at[i]);
		if (r == -ESRCH)
			r = 0;
	}
	vec_free(&tids);
	return r;
}

/*
 * Those that were asked for; whom they have forked is watched when it is found. One
 * that is refused may not be read either, and does not stand in the others' way.
 */
static int watch_roots(struct forkflame *ff, struct taskevents *t,
		       struct error *why)
{
	size_t watched = 0;
	int refusal = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ff->roots.n; i++) {
		r = watch(ff, t, ff->roots.at[i].pid);
		watched += r >= 0;
		if (r == -EACCES || r == -EPERM) {
			refusal = r;
			r = 0;
		}
	}
	if (r == 0 && !watched)
		r = refusal;
	if (r < 0)
		return error_set(why, r,
				 "perf task records: of a process that "
				 "runs already");
	return 0;
}

/* Of the machine, for -1; of @pid; of the roots, for 0. */
static int open_perf(struct forkflame *ff, pid_t pid, struct error *why)
{
	struct taskevents *t = NULL;
	struct evsource source;
	int r = taskevents_open(&t, pid, ff->options.event_buffer, why);

	if (r < 0)
		return r;
	source = taskevents_source(t);
	if (pid == 0)
		r = watch_roots(ff, t, why);
	if (r < 0) {
		source.close(source.self);
		return r;
	}
	r = listener_start(&ff->listener, &source, why);
	if (r == 0 && pid == 0)
		ff->tasks = t;
	return r;
}

/* With @last, a refusal is one for good. */
static int try_perf(struct forkflame *ff, pid_t pid, bool last)
{
	struct error why = ERROR_NONE;
	int r = open_perf(ff, pid, &why);

	if (r < 0)
		return last ? refused(ff, FORKFLAME_EVENTS_PERF, r, &why) : 0;
	ff->source = FORKFLAME_EVENTS_PERF;
	ff->events_of = pid;
	return 0;
}

int source_open(struct forkflame *ff)
{
	int r = 0;

	if (wanted(ff, FORKFLAME_EVENTS_CONNECTOR))
		r = try_connector(ff);
	if (r == 0 && !ff->listener && wanted(ff, FORKFLAME_EVENTS_PERF))
		r = try_perf(ff, -1, false);
	return r;
}

static int look_instead(struct forkflame *ff)
{
	bool scan = ff->options.events == FORKFLAME_EVENTS_SCAN ||
		    !children_has_files(&ff->fs);

	if (scan && ff->options.events == FORKFLAME_EVENTS_CHILDREN)
		return error_set(&ff->err, -EOPNOTSUPP,
				 "no children files: a kernel without "
				 "CONFIG_PROC_CHILDREN");
	if (scan && ff->options.events == FORKFLAME_EVENTS_AUTO)
		add_reason(ff, "no children files (CONFIG_PROC_CHILDREN)");
	ff->children = children_new(&ff->fs, scan);
	if (!ff->children)
		return error_set(&ff->err, -ENOMEM, "begin");
	ff->source = scan ? FORKFLAME_EVENTS_SCAN : FORKFLAME_EVENTS_CHILDREN;
	return 0;
}

/* Of one look, it does not matter. */
static void tell_source(struct forkflame *ff)
{
	if (ff->dumping)
		return;
	if (ff->source == FORKFLAME_EVENTS_PERF)
		session_notice(
			ff,
			"process events are perf's task records%s (%s): of a "
			"program that runs with another's rights (setuid) they "
			"may tell nothing, and before Linux 6.15 nothing of how "
			"a process ended",
			ff->events_of < 0 ? ""
			: ff->events_of > 0
				? " of the command"
				: " of the processes and their descendants",
			ff->events_reason[0] ? ff->events_reason : "asked for");
	if (ff->children)
		session_notice(
			ff,
			"no process events from the kernel (%s): %s every "
			"%u ms instead, and those that live shorter may be "
			"missed, with the children that they leave behind; it "
			"is told when some were",
			ff->events_reason[0] ? ff->events_reason : "asked for",
			ff->source == FORKFLAME_EVENTS_SCAN
				? "all of /proc is searched for children"
				: "children are looked for",
			(unsigned)(LOOK_NS / NSEC_PER_MSEC));
}

int source_settle(struct forkflame *ff, pid_t command)
{
	int r = 0;

	if (!ff->listener && !ff->children && wanted(ff, FORKFLAME_EVENTS_PERF))
		r = try_perf(ff, command, true);
	if (r == 0 && !ff->listener && !ff->children)
		r = look_instead(ff);
	if (r == 0)
		tell_source(ff);
	if (!ff->events_reason[0] && ff->options.events)
		add_reason(ff, "asked for");
	/* What the command makes with CLONE_PARENT is a child of ours, and all of ours
	 * are taken for that. */
	if (r == 0 && command && ff->listener) {
		listener_settle(ff->listener);
		listener_follow(ff->listener, getpid());
	}
	if (r == 0 && command && ff->children)
		r = children_watch(ff->children, getpid());
	return r < 0 ? r : 0;
}

int source_look(struct forkflame *ff, uint64_t now_ns)
{
	uint64_t used_ns, step_ns;
	int r;

	if (!ff->children || now_ns < ff->look_ns)
		return 0;
	used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = children_look(ff->children, now_ns, &ff->looked);
	used_ns = nsec_since(clock_ns(CLOCK_THREAD_CPUTIME_ID), used_ns);
	step_ns = LOOK_SHARE * used_ns;
	if (step_ns < LOOK_NS)
		step_ns = LOOK_NS;
	if (step_ns > LOOK_MAX_NS)
		step_ns = LOOK_MAX_NS;
	ff->look_ns = now_ns + step_ns;
	return r;
}

uint64_t source_look_ns(const struct forkflame *ff)
{
	return ff->children ? ff->look_ns : UINT64_MAX;
}

void source_follow(struct forkflame *ff, const struct process *p, bool told)
{
	if (ff->tasks && !told)
		(void)watch(ff, ff->tasks, p->pid);
	if (ff->children)
		(void)children_watch(ff->children, p->pid);
	if (ff->listener)
		listener_follow(ff->listener, p->pid);
}

void source_forget(struct forkflame *ff, const struct process *p)
{
	/* The number may have a new owner in the tree by now. */
	if (ff->listener && proctree_find(ff->tree, p->pid) == PROCTREE_NONE)
		listener_unfollow(ff->listener, p->pid, p->left_ns);
}

void source_close(struct forkflame *ff)
{
	if (ff->children)
		ff->counts.missed = children_missed(ff->children);
	if (!ff->listener)
		return;
	ff->listened = (struct summary_listener){
		.cpu_ns = listener_cpu_ns(ff->listener),
		.received = listener_received(ff->listener),
		.dropped = listener_dropped(ff->listener),
		.strangers = listener_strangers(ff->listener),
		.wakes = listener_wakes(ff->listener),
	};
	ff->tasks = NULL;
	listener_stop(ff->listener);
	ff->listener = NULL;
}
