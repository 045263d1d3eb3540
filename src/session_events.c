/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "session_internal.h"

/* From events and snapshots to what happens to processes. */

static int on_change(struct forkflame *ff, const struct change *change)
{
	const struct member *m = proctree_member(ff->tree, change->serial);
	struct process *p = process_at(ff, change->serial);

	switch (change->kind) {
	case CHANGE_JOINED:
		return m ? process_join(ff, m) : 0;
	case CHANGE_EXEC:
		return p ? process_exec(ff, p, change->time_ns) : 0;
	case CHANGE_ENDING:
		if (p && m && (p->gone || p->pidfd < 0 || task_ended(p->pidfd)))
			proctree_gone(ff->tree, p->serial, change->time_ns);
		return 0;
	case CHANGE_LEFT:
		if (p && m)
			process_leave(ff, p, m);
		return 0;
	case CHANGE_RESCAN:
		ff->counts.events_lost++;
		ff->counts.rescans++;
		return session_rescan(ff, false);
	}
	return 0;
}

static int follow_changes(struct forkflame *ff)
{
	struct change change;
	int r = 0;

	while (r == 0 && proctree_next(ff->tree, &change))
		r = on_change(ff, &change);
	return r;
}

int session_take_events(struct forkflame *ff)
{
	struct event event;
	int r = follow_changes(ff);

	while (r == 0 && ff->listener && listener_next(ff->listener, &event)) {
		(void)proctree_event(ff->tree, &event);
		r = follow_changes(ff);
	}
	for (size_t i = 0; r == 0 && i < ff->looked.n; i++) {
		(void)proctree_event(ff->tree, &ff->looked.at[i]);
		r = follow_changes(ff);
	}
	ff->looked.n = 0;
	return r;
}

int session_rescan(struct forkflame *ff, bool first)
{
	struct VEC(struct procstat) procs = { 0 };
	struct proc_stats stats = { 0 };
	uint64_t tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), taken_ns = clock_now();
	int r;

	/* Start times count from the boot, sleep included; ours do not. */
	boot_ns -= taken_ns < boot_ns ? taken_ns : boot_ns;
	r = procfs_snapshot(&ff->fs, &stats, &ff->err);
	for (size_t i = 0; r == 0 && i < stats.n; i++) {
		struct procstat proc = {
			.pid = stats.at[i].pid,
			.parent = stats.at[i].parent,
			.start = stats.at[i].start,
			.born_ns = nsec_since(stats.at[i].start * tick_ns,
					      boot_ns),
		};

		if (first)
			proc.born_ns = taken_ns;
		if (!vec_push(&procs, proc))
			r = -ENOMEM;
	}
	/* Born before the snapshot, heard of after it: they are queued by now. */
	if (r == 0 && ff->listener)
		(void)listener_drain(ff->listener, NSEC_PER_SEC);
	if (r == 0)
		r = proctree_snapshot(ff->tree, procs.at, procs.n, taken_ns,
				      clock_now(), first);
	vec_free(&procs);
	vec_free(&stats);
	return r < 0 ? r : 0;
}

/* The entry of @pid in a snapshot; NULL without. */
static const struct proc_stat *in_snapshot(const struct proc_stats *stats,
					   pid_t pid)
{
	for (size_t i = 0; i < stats->n; i++)
		if (stats->at[i].pid == pid)
			return &stats->at[i];
	return NULL;
}

/* Has @root an ancestor among the other roots? Then it comes with that one. */
static bool is_below_a_root(const struct forkflame *ff,
			    const struct proc_stats *stats,
			    const struct proc_stat *root)
{
	pid_t pid = root->parent;

	/* A snapshot is no moment: a chain of it might even close a ring. */
	for (size_t steps = 0; pid > 0 && steps < stats->n; steps++) {
		const struct proc_stat *above = in_snapshot(stats, pid);

		for (size_t i = 0; i < ff->roots.n; i++)
			if (ff->roots.at[i].pid == pid && pid != root->pid)
				return true;
		pid = above ? above->parent : 0;
	}
	return false;
}

int session_scan_roots(struct forkflame *ff)
{
	struct proc_stats stats = { 0 };
	int r = procfs_snapshot(&ff->fs, &stats, &ff->err);

	for (size_t i = 0; r == 0 && i < ff->roots.n; i++) {
		const struct proc_stat *root = &ff->roots.at[i];

		if (!is_below_a_root(ff, &stats, root) &&
		    proctree_add(ff->tree, root->pid, root->start, clock_now(),
				 false) == PROCTREE_NONE)
			r = -ENOMEM;
	}
	vec_free(&stats);
	return r == 0 ? session_rescan(ff, true) : r;
}
