/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "session_internal.h"

/* From events and snapshots to what happens to processes. */

/*
 * News may be lost without a word. So the tree is compared with /proc all the time,
 * about once a second, at no more than half a percent of a core. What was known of a
 * number is mostly taken for true, and read anew once in RECONCILE_WHOLE times only.
 */
#define RESCAN_SHARE 10
#define RECONCILE_NS NSEC_PER_SEC
#define RECONCILE_MAX_NS (60 * NSEC_PER_SEC)
#define RECONCILE_SHARE 200
#define RECONCILE_WHOLE 16

/*
 * A process shows in /proc a moment before its FORK is queued, which may be long
 * when its parent loses its CPU just there. One that is younger than this has
 * not been missed yet.
 */
#define YOUNG_NS (200 * NSEC_PER_MSEC)

/* A time that was made of a start time is off by no more than this. */
#define TICK_NS (20 * NSEC_PER_MSEC)

static void note_loss(struct forkflame *ff)
{
	uint64_t dropped = ff->listener   ? listener_dropped(ff->listener)
			   : ff->children ? children_missed(ff->children)
					  : 0;

	ff->counts.events_lost++;
	record_note(ff, NOTE_LOST, nsec_since(dropped, ff->dropped));
	ff->dropped = dropped;
}

static void note_late(struct forkflame *ff)
{
	if (ff->counts.found_late == ff->late)
		return;
	record_note(ff, NOTE_LATE, ff->counts.found_late - ff->late);
	ff->late = ff->counts.found_late;
}

/* Where losses do not end, no more than a tenth of a CPU goes into looking. */
static int rescan_if_due(struct forkflame *ff, uint64_t now_ns)
{
	int r;

	if (!ff->rescan || now_ns < ff->rescan_ns)
		return 0;
	ff->rescan = false;
	ff->counts.rescans++;
	r = session_rescan(ff);
	ff->rescan_ns = now_ns + RESCAN_SHARE * nsec_since(clock_now(), now_ns);
	return r;
}

/*
 * Its leader has ended, at @time_ns, and others live on, or are still on their way out.
 * If that takes until the next tick, what is left is no time of the leader's stack.
 */
static void lose_head(struct forkflame *ff, struct process *p, uint64_t time_ns)
{
	struct thread *leader = thread_of(ff, p->pid);

	p->head_ns = time_ns;
	if (leader && leader->process == p)
		thread_make_due(ff, leader);
}

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
		else if (p)
			lose_head(ff, p, change->time_ns);
		return 0;
	case CHANGE_LEFT:
		if (p && m)
			process_leave(ff, p, m);
		return 0;
	case CHANGE_RESCAN:
		note_loss(ff);
		watch_lost(ff);
		ff->rescan = true;
		return rescan_if_due(ff, clock_now());
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

static void tell_event(struct forkflame *ff, const struct event *event)
{
	struct event own = *event;

	/* Who looks at everybody's children finds us as well. */
	if (ff->everybody && own.pid == getpid())
		return;
	kin_event(ff, &own);
	(void)proctree_event(ff->tree, &own);
}

static int take_event(struct forkflame *ff, const struct event *event)
{
	int r;

	tell_event(ff, event);
	r = follow_changes(ff);
	/* No member of ours forked it: the listener did not know better. */
	if (ff->listener && event->kind == EVENT_FORK &&
	    proctree_find(ff->tree, event->pid) == PROCTREE_NONE)
		listener_unfollow(ff->listener, event->pid, event->time_ns);
	return r;
}

int session_take_events(struct forkflame *ff)
{
	struct event event;
	int r = follow_changes(ff);

	while (r == 0 && ff->listener && listener_next(ff->listener, &event))
		r = take_event(ff, &event);
	for (size_t i = 0; r == 0 && i < ff->looked.n; i++)
		r = take_event(ff, &ff->looked.at[i]);
	ff->looked.n = 0;
	/* All whom the snapshot showed are followed by now. */
	if (ff->listener && ff->opened)
		listener_close(ff->listener);
	ff->opened = false;
	note_late(ff);
	return r;
}

/*
 * What is heard while a snapshot is taken: all of it is queued by now. The tree
 * gets it before the snapshot, in which those born meanwhile would else seem
 * found late, and once more after it (repetitions are no news), which may have
 * shown it parents that it did not know.
 */
static int gather_events(struct forkflame *ff, struct events *to)
{
	struct event event;

	if (ff->children)
		return children_look(ff->children, clock_now(), to);
	if (!ff->listener)
		return 0;
	(void)listener_drain(ff->listener, NSEC_PER_SEC);
	while (listener_next(ff->listener, &event))
		if (!vec_push(to, event))
			return -ENOMEM;
	return 0;
}

static void tell_tree(struct forkflame *ff, const struct events *events,
		      bool again)
{
	for (size_t i = 0; i < events->n; i++)
		if (!again || events->at[i].kind != EVENT_LOST)
			tell_event(ff, &events->at[i]);
}

/* A snapshot as the tree wants it. */
struct snapshot {
	struct VEC(struct procstat) procs;
	uint64_t taken_ns;
	uint64_t tick_ns, boot_ns; /* a tick of start times, and their zero */
	uint64_t young_ns; /* of those that are younger, no parents are told */
	uint64_t started_ns; /* the first: whose members begin with the run */
	bool first;
};

static struct snapshot snapshot_begin(const struct forkflame *ff, bool first)
{
	uint64_t taken_ns = clock_now();

	/* Start times count from the boot, sleep included; ours do not. */
	return (struct snapshot){
		.taken_ns = taken_ns,
		.tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK),
		.boot_ns = nsec_since(clock_ns(CLOCK_BOOTTIME), taken_ns),
		.started_ns = ff->start_ns,
		.first = first,
	};
}

static bool snapshot_add(struct snapshot *s, const struct proc_stat *stat,
			 pid_t parent)
{
	struct procstat proc = {
		.pid = stat->pid,
		.parent = parent,
		.start = stat->start,
		.born_ns = nsec_since(stat->start * s->tick_ns, s->boot_ns),
	};

	if (s->young_ns && proc.born_ns + s->young_ns > s->taken_ns)
		proc.parent = 0;
	if (s->first)
		proc.born_ns = s->started_ns;
	return vec_push(&s->procs, proc);
}

static int snapshot_tell(struct forkflame *ff, struct snapshot *s)
{
	struct events events = { 0 };
	int r = gather_events(ff, &events);

	tell_tree(ff, &events, false);
	if (r == 0)
		r = select_strangers(ff, s->procs.at, s->procs.n,
				     nsec_since(s->taken_ns, s->young_ns),
				     s->first);
	/* By who looks, births are told too early, by a clock tick. */
	if (r == 0)
		r = proctree_snapshot(
			ff->tree, s->procs.at, s->procs.n,
			nsec_since(s->taken_ns, ff->children ? TICK_NS : 0),
			clock_now(), s->first);
	tell_tree(ff, &events, true);
	vec_free(&events);
	return r < 0 ? r : 0;
}

/* Until the changes that follow have been, everybody's births are kept. */
static void hear_all(struct forkflame *ff)
{
	if (ff->listener && !ff->opened)
		listener_open(ff->listener);
	ff->opened = true;
}

/*
 * Has @p another image than the one that is known, and has no event told so? It is
 * looked at once more: the snapshot may be older than what is known.
 */
static bool has_exec_been_missed(struct forkflame *ff, const struct process *p,
				 const struct proc_stat *stat)
{
	const struct member *m = proctree_member(ff->tree, p->serial);
	struct proc_stat now;

	/* One that the tree knows of is about to be followed. */
	if (!m || m->execs != p->execs)
		return false;
	if (p->left || p->exec_ns || !p->code_start || stat->code_start <= 1 ||
	    (stat->code_start == p->code_start &&
	     stat->stack_start == p->stack_start))
		return false;
	return procfs_stat(&ff->fs, p->pid, &now, NULL) == 0 &&
	       now.code_start > 1 &&
	       (now.code_start != p->code_start ||
		now.stack_start != p->stack_start);
}

/* An event of it that comes all the same is older, and no news to the tree. */
static void find_missed_execs(struct forkflame *ff,
			      const struct proc_stats *stats)
{
	for (size_t i = 0; i < stats->n; i++) {
		const struct proc_stat *stat = &stats->at[i];
		const struct process *p =
			process_at(ff, proctree_find(ff->tree, stat->pid));
		struct event exec = { .kind = EVENT_EXEC, .pid = stat->pid };

		if (!p || !has_exec_been_missed(ff, p, stat))
			continue;
		exec.time_ns = clock_now();
		(void)proctree_event(ff->tree, &exec);
	}
}

static int snapshot_add_all(struct forkflame *ff, struct snapshot *s,
			    const struct proc_stats *stats)
{
	struct kin kin = { 0 };
	int r = kin_gather(ff, stats, &kin);

	for (size_t i = 0; r == 0 && i < stats->n; i++)
		if (select_sees(ff, &stats->at[i]) &&
		    !snapshot_add(s, &stats->at[i],
				  kin_parent(ff, &kin, &stats->at[i])))
			r = -ENOMEM;
	kin_free(&kin);
	return r;
}

int session_rescan(struct forkflame *ff)
{
	struct proc_stats stats = { 0 };
	struct snapshot s;
	int r;

	hear_all(ff);
	s = snapshot_begin(ff, false);
	/* Who looks has not missed those who came since. */
	if (ff->children)
		s.young_ns = YOUNG_NS;
	r = procfs_snapshot(&ff->fs, &stats, &ff->err);
	if (r == 0)
		r = snapshot_add_all(ff, &s, &stats);
	if (r == 0)
		r = snapshot_tell(ff, &s);
	if (r == 0)
		find_missed_execs(ff, &stats);
	vec_free(&s.procs);
	vec_free(&stats);
	return r;
}

/*
 * What is remembered of a number may be of an earlier owner. Of a member it has to
 * be right: it would be told to have left.
 */
static int refresh(struct forkflame *ff, struct proc_stat *stat)
{
	const struct member *m =
		proctree_member(ff->tree, proctree_find(ff->tree, stat->pid));

	if (!m || (m->start && m->start == stat->start))
		return 0;
	return procfs_stat(&ff->fs, stat->pid, stat, NULL);
}

static int reconcile(struct forkflame *ff)
{
	bool whole = ff->reconciled++ % RECONCILE_WHOLE == 0;
	struct kin kin = { 0 };
	struct snapshot s;
	int r;

	hear_all(ff);
	s = snapshot_begin(ff, false);
	s.young_ns = YOUNG_NS;
	r = !whole ? procfs_update(&ff->fs, &ff->procs, &ff->err)
		   : procfs_snapshot(&ff->fs, &ff->procs, &ff->err);
	if (r == 0)
		r = kin_gather(ff, &ff->procs, &kin);
	for (size_t i = 0; r == 0 && i < ff->procs.n; i++) {
		if (!select_sees(ff, &ff->procs.at[i]) ||
		    refresh(ff, &ff->procs.at[i]) != 0)
			continue; /* gone since, or not to be had */
		if (!snapshot_add(&s, &ff->procs.at[i],
				  kin_parent(ff, &kin, &ff->procs.at[i])))
			r = -ENOMEM;
	}
	if (r == 0)
		r = snapshot_tell(ff, &s);
	if (r == 0 && whole)
		find_missed_execs(ff, &ff->procs);
	kin_free(&kin);
	vec_free(&s.procs);
	return r;
}

int session_reconcile(struct forkflame *ff, uint64_t now_ns)
{
	uint64_t late = ff->counts.found_late;
	uint64_t used_ns;
	int r = rescan_if_due(ff, now_ns);

	if (r < 0 || now_ns < ff->reconcile_ns)
		return r;
	used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = reconcile(ff);
	used_ns = nsec_since(clock_ns(CLOCK_THREAD_CPUTIME_ID), used_ns);
	if (r == 0)
		r = session_take_events(ff);
	ff->reconcile_ns = now_ns + RECONCILE_SHARE * used_ns;
	if (ff->reconcile_ns < now_ns + RECONCILE_NS)
		ff->reconcile_ns = now_ns + RECONCILE_NS;
	if (ff->reconcile_ns > now_ns + RECONCILE_MAX_NS)
		ff->reconcile_ns = now_ns + RECONCILE_MAX_NS;
	/* Where one was missed there may be more: look again soon. */
	if (ff->counts.found_late != late)
		ff->reconcile_ns = now_ns + YOUNG_NS;
	return r;
}

int session_find_left(struct forkflame *ff)
{
	struct proc_stats stats = { 0 };
	struct kin kin = { 0 };
	struct snapshot s = snapshot_begin(ff, false);
	uint32_t before = proctree_alive(ff->tree);
	int r = 0;

	/* Who hears of births has missed none; how deep it is is not known. */
	if (ff->children && ff->selection.depth == UINT64_MAX)
		r = procfs_snapshot(&ff->fs, &stats, &ff->err);
	if (r == 0)
		r = kin_gather(ff, &stats, &kin);
	for (size_t i = 0; r == 0 && i < stats.n; i++) {
		if (kin_parent(ff, &kin, &stats.at[i]) != 0 ||
		    !stats.at[i].parent)
			continue;
		if (!snapshot_add(&s, &stats.at[i], 0) ||
		    proctree_add(ff->tree, stats.at[i].pid, stats.at[i].start,
				 s.procs.at[s.procs.n - 1].born_ns,
				 true) == PROCTREE_NONE)
			r = -ENOMEM;
		ff->counts.found_late++;
	}
	vec_free(&s.procs);
	kin_free(&kin);
	vec_free(&stats);
	if (r == 0)
		r = session_take_events(ff);
	return r < 0 ? r : proctree_alive(ff->tree) > before;
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

static int add_root(struct forkflame *ff, const struct proc_stat *root)
{
	return proctree_add(ff->tree, root->pid, root->start, ff->start_ns,
			    false) == PROCTREE_NONE
		       ? -ENOMEM
		       : 0;
}

int session_scan_roots(struct forkflame *ff)
{
	bool alone = ff->roots.n == 1 && !ff->watch.write && !ff->dumping;
	struct proc_stats stats = { 0 };
	struct snapshot s;
	int r = 0;

	hear_all(ff);
	/* One that is alone is below no other: it is sampled before /proc is read. */
	if (alone)
		r = add_root(ff, &ff->roots.at[0]);
	if (r == 0 && alone)
		r = session_take_events(ff);
	if (ff->listener)
		listener_settle(ff->listener);
	s = snapshot_begin(ff, true);
	if (r == 0)
		r = procfs_snapshot(&ff->fs, &stats, &ff->err);
	for (size_t i = 0; r == 0 && !alone && i < ff->roots.n; i++)
		if (!is_below_a_root(ff, &stats, &ff->roots.at[i]))
			r = add_root(ff, &ff->roots.at[i]);
	if (r == 0)
		r = snapshot_add_all(ff, &s, &stats);
	if (r == 0)
		r = snapshot_tell(ff, &s);
	vec_free(&s.procs);
	vec_free(&stats);
	return r;
}
