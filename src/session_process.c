/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "session_internal.h"

/*
 * The lives of processes: what follows from each change of the tree, and what
 * has to be done a little later (the todo heap).
 */

/* An image that is not a Python yet is looked at again after these times, in ms. */
static const unsigned probe_ms[] = { 1,  2,   3,   5,   8,    15,  30,
				     60, 120, 250, 500, 1000, 2000 };
#define PROBES (sizeof(probe_ms) / sizeof(*probe_ms))

/* A new process is sampled at its birth and then after 1/4, 1/2, 1, 2, ... ms. */
#define YOUNG_STEP_NS (NSEC_PER_MSEC / 4)

/* How long the EXIT event of a process that has gone is waited for. */
#define LEAVE_WAIT_NS (20 * NSEC_PER_MSEC)

/* A process that uses more than this before an exec was more than on its way. */
#define WAITING_CPU_NS (10 * NSEC_PER_MSEC)
#define WAITING_WALL_NS NSEC_PER_SEC

/* No CPython is up with less CPU time than this. */
#define PYTHON_START_NS (2 * NSEC_PER_MSEC)

/* The heap: a parent is at (i - 1) / 2. */
static void todo_put(struct forkflame *ff, struct todo todo)
{
	size_t i = ff->todo.n;

	/* Without memory the regular tick has to do. */
	if (!vec_push(&ff->todo, todo))
		return;
	for (; i && ff->todo.at[(i - 1) / 2].at_ns > todo.at_ns;
	     i = (i - 1) / 2)
		ff->todo.at[i] = ff->todo.at[(i - 1) / 2];
	ff->todo.at[i] = todo;
}

static struct todo todo_take(struct forkflame *ff)
{
	struct todo first = ff->todo.at[0];
	struct todo last = ff->todo.at[--ff->todo.n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < ff->todo.n) {
		if (child + 1 < ff->todo.n &&
		    ff->todo.at[child + 1].at_ns < ff->todo.at[child].at_ns)
			child++;
		if (ff->todo.at[child].at_ns >= last.at_ns)
			break;
		ff->todo.at[i] = ff->todo.at[child];
		i = child;
	}
	if (ff->todo.n)
		ff->todo.at[i] = last;
	return first;
}

uint64_t session_todo_ns(const struct forkflame *ff)
{
	return ff->todo.n ? ff->todo.at[0].at_ns : UINT64_MAX;
}

static struct process *process_at(const struct forkflame *ff, uint32_t serial)
{
	return serial < ff->processes.n ? ff->processes.at[serial] : NULL;
}

static void image_drop(struct image *image)
{
	if (!image || --image->refs)
		return;
	codecache_free(image->codes);
	free(image);
}

/* Give @p the image that it inherited. */
static int process_share_image(struct process *p, struct image *image)
{
	if (!vec_push(&p->images, image))
		return -ENOMEM;
	image->refs++;
	p->node = AGGREGATE_NONE;
	return 0;
}

/*
 * Give @p a new image of its own. It may be about to end: what can be told of it
 * is asked for at once, the most telling first.
 */
static int process_add_image(struct forkflame *ff, struct process *p)
{
	struct image *image = calloc(1, sizeof(*image));
	struct str command = { 0 };
	uint32_t name = 0;

	if (!image)
		return -ENOMEM;
	*image = (struct image){ .refs = 1 };
	if (session_first_look(ff, p->pid, &name))
		image->verdict = VERDICT_NOT_PYTHON;
	if (procfs_command(&ff->fs, p->pid, &command, NULL) == 0 && command.len)
		name = strtab_id(ff->strings, command.at, command.len);
	str_free(&command);
	image->command = name;
	if (name == STRTAB_NONE || !vec_push(&p->images, image)) {
		free(image);
		return -ENOMEM;
	}
	p->node = AGGREGATE_NONE;
	p->walked = false;
	p->probes = 0;
	return 0;
}

void process_free(struct forkflame *ff, struct process *p)
{
	if (!p)
		return;
	while (p->threads.n)
		thread_end(ff, p->threads.at[0], ff->end_ns);
	for (size_t i = 0; i < p->images.n; i++)
		image_drop(p->images.at[i]);
	if (p->pidfd >= 0)
		(void)close(p->pidfd);
	vec_free(&p->images);
	vec_free(&p->threads);
	vec_free(&p->held);
	free(p);
}

static void book(struct forkflame *ff, struct process *p, uint32_t node,
		 const struct weight *weight)
{
	aggregate_charge(ff->agg, node, *weight);
	ff->counts.wall_ns += weight->wall_ns;
	ff->counts.cpu_ns += weight->cpu_ns;
	p->wall_ns += weight->wall_ns;
	p->cpu_ns += weight->cpu_ns;
	p->samples += weight->samples;
}

/* It is no passer-by: what was held back counts. */
static void process_mature(struct forkflame *ff, struct process *p)
{
	p->waiting = false;
	for (size_t i = 0; i < p->held.n; i++)
		book(ff, p, p->held.at[i].node, &p->held.at[i].weight);
	vec_free(&p->held);
}

void process_charge(struct forkflame *ff, struct process *p,
		    const struct charge *charge)
{
	struct held_charge held = { .node = charge->node,
				    .weight = charge->weight };
	uint64_t cpu_ns = 0;

	if (p->waiting) {
		for (size_t i = 0; i < p->held.n; i++)
			cpu_ns += p->held.at[i].weight.cpu_ns;
		if (cpu_ns > WAITING_CPU_NS ||
		    clock_now() > p->born_ns + WAITING_WALL_NS)
			process_mature(ff, p);
		else if (vec_push(&p->held, held))
			return;
	}
	book(ff, p, charge->node, &charge->weight);
}

/* It was only on its way to an exec: none of its samples counts. */
static void process_take_back(struct forkflame *ff, struct process *p)
{
	ff->counts.stopped -= p->held_stopped;
	ff->counts.unstopped -= p->held_unstopped;
	ff->counts.repeated -= p->held_repeated;
	ff->counts.drops[DROP_BEFORE_EXEC] +=
		p->held_stopped + p->held_unstopped + p->held_repeated;
	vec_free(&p->held);
	p->first_sample_ns = UINT64_MAX;
	p->image_first = 1;
	p->waiting = false;
}

/* A Python was found: its threads are known from now on. */
static void process_begin_sampling(struct forkflame *ff, struct process *p)
{
	struct todo young = { .at_ns = clock_now() + YOUNG_STEP_NS,
			      .serial = p->serial,
			      .kind = TODO_YOUNG,
			      .step_ns = YOUNG_STEP_NS };

	if (!p->threads.n)
		(void)process_refresh(ff, p);
	/*
	 * A child that is on its way to an exec will be there in some hundred
	 * microseconds: it is not worth a stop. Before it has run for the first
	 * time, and while it waits for a CPU, it needs none.
	 */
	session_sample_process(ff, p, false);
	if (YOUNG_STEP_NS < ff->options.interval_ns)
		todo_put(ff, young);
}

/*
 * A Python was loaded into a program that had none. Those who were forked before
 * that, or forked this one, have none still.
 */
static struct image *image_part(struct process *p)
{
	struct image *image = process_image(p);
	struct image *own;

	if (image->refs == 1 || image->verdict != VERDICT_NOT_PYTHON)
		return image;
	own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	*own = (struct image){ .refs = 1, .command = image->command };
	image_drop(image);
	p->images.at[p->images.n - 1] = own;
	return own;
}

static void image_found(struct forkflame *ff, struct process *p,
			const struct runtime *rt)
{
	struct image *image = image_part(p);

	if (!image)
		return;
	if (!image->codes)
		image->codes = codecache_new(ff->strings);
	if (!image->codes)
		return;
	image->rt = *rt;
	image->verdict = VERDICT_SAMPLED;
	image->python =
		strtab_id(ff->strings, rt->version, strlen(rt->version));
	process_begin_sampling(ff, p);
}

static void say_unknown(struct forkflame *ff, const struct process *p,
			const struct runtime *rt)
{
	size_t len;
	const char *command =
		strtab_get(ff->strings, process_image(p)->command, &len);
	struct str line = { 0 };

	str_printf(&line, "process %d (", p->pid);
	str_escape(&line, command, len < 80 ? len : 80, "");
	str_printf(&line,
		   ") runs Python %s, which is not known here (%s are): "
		   "it is left out",
		   rt->version, layout_known());
	if (!line.failed)
		session_notice(ff, "%s", line.at);
	str_free(&line);
}

/* Look at the image once more after a time that grows, and then no more. */
static void probe_again(struct forkflame *ff, struct process *p)
{
	struct todo again = { .serial = p->serial, .kind = TODO_PROBE };

	if (p->probes >= PROBES)
		return;
	again.at_ns = clock_now() + probe_ms[p->probes++] * NSEC_PER_MSEC;
	todo_put(ff, again);
}

/*
 * Look at the image of @p. One that is no Python may become one: it is looked at
 * again, more and more seldom, for some seconds.
 */
static void process_probe(struct forkflame *ff, struct process *p)
{
	struct image *image = process_image(p);
	struct runtime rt = { 0 };
	int r;

	if (image->verdict == VERDICT_SAMPLED) { /* a sharer has found it */
		process_begin_sampling(ff, p);
		return;
	}
	if (image->verdict == VERDICT_UNKNOWN)
		return;
	r = session_locate(ff, p, &rt);
	if (r == OUT_OK) {
		image_found(ff, p, &rt);
		return;
	}
	if (r == OUT_UNKNOWN) {
		image->verdict = VERDICT_UNKNOWN;
		image->python =
			strtab_id(ff->strings, rt.version, strlen(rt.version));
		say_unknown(ff, p, &rt);
		return;
	}
	if (r == OUT_NOT_PYTHON)
		image->verdict = VERDICT_NOT_PYTHON;
	if (r == OUT_DENIED)
		image->verdict = VERDICT_DENIED;
	if (r != OUT_GONE)
		probe_again(ff, p);
}

static void process_watch(struct forkflame *ff, struct process *p)
{
	p->pidfd = task_pidfd(p->pid);
	if (p->pidfd < 0) {
		if (p->pidfd == -ESRCH)
			process_gone(ff, p);
		p->pidfd = -1;
		return;
	}
	if (loop_watch(ff->loop, p->pidfd, p->serial) < 0)
		session_notice(ff, "process %d cannot be watched for its end",
			       p->pid);
}

static struct process *process_new(const struct member *m)
{
	struct process *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct process){ .serial = m->serial,
				       .parent = m->parent,
				       .pid = m->pid,
				       .fork_tid = m->fork_tid,
				       .pidfd = -1,
				       .node = AGGREGATE_NONE,
				       .born_ns = m->born_ns,
				       .image_ns = m->born_ns,
				       .first_sample_ns = UINT64_MAX };
	return p;
}

/* A member of the tree: take it in, and if it was just born, sample it at once. */
static int process_join(struct forkflame *ff, const struct member *m)
{
	struct process *parent = process_at(ff, m->parent);
	struct process *p = process_new(m);
	/* One that was found late may have exec'd since its birth. */
	bool forked = parent && m->born_seen && !m->found_late &&
		      parent->images.n;
	struct sched_account account = { 0 };
	struct thread leader = { .process = p, .schedstat = -1 };
	int r;

	if (!p)
		return -ENOMEM;
	while (ff->processes.n <= m->serial)
		if (!vec_push(&ff->processes, NULL)) {
			free(p);
			return -ENOMEM;
		}
	ff->processes.at[m->serial] = p;
	if (m->found_late)
		ff->counts.found_late++;
	process_watch(ff, p);
	r = forked ? process_share_image(p, process_image(parent))
		   : process_add_image(ff, p);
	if (r < 0)
		return r;
	if (ff->children)
		(void)children_watch(ff->children, p->pid);
	p->started = p->pid == ff->command && !ff->running;
	if (!forked) {
		/* What it used before we came is not ours to account for. */
		leader.tid = p->pid;
		if (thread_account(ff, &leader, &account) == 0 && !p->started)
			p->image_cpu_ns = account.cpu_ns;
		if (!p->started)
			process_probe(ff, p);
		return 0;
	}
	p->waiting = true;
	p->forked = true;
	if (p->gone)
		return 0;
	if (process_image(p)->verdict == VERDICT_SAMPLED) {
		(void)thread_inherit(ff, p, parent);
		process_begin_sampling(ff, p);
	} else {
		probe_again(ff, p);
	}
	return 0;
}

/* A new program: all that is known of the old one ends here. */
static int process_exec(struct forkflame *ff, struct process *p,
			uint64_t time_ns)
{
	struct sched_account account = { 0 };
	struct thread leader = { .process = p, .tid = p->pid, .schedstat = -1 };
	uint32_t node = p->node;
	int r;

	if (p->left)
		return 0;
	r = process_add_image(ff, p);
	if (r != 0)
		return r;
	/* The accounts of the old one go to the old one's stacks. */
	p->node = node;
	while (p->threads.n)
		thread_end(ff, p->threads.at[0], time_ns);
	p->node = AGGREGATE_NONE;
	if (p->waiting)
		process_take_back(ff, p);
	if (thread_account(ff, &leader, &account) == 0)
		p->image_cpu_ns = account.cpu_ns;
	p->image_ns = time_ns;
	p->fork_tid = 0;
	p->forked = false;
	if (p->started) {
		/* Before its first exec, the command was a copy of us. */
		p->started = false;
		p->image_cpu_ns = 0;
		image_drop(p->images.at[0]);
		p->images.at[0] = p->images.at[--p->images.n];
	}
	if (process_image(p)->verdict == VERDICT_NOT_PYTHON)
		probe_again(ff, p);
	else
		process_probe(ff, p);
	return 0;
}

void process_settle(struct forkflame *ff, struct process *p, uint64_t end_ns)
{
	while (p->threads.n)
		thread_end(ff, p->threads.at[0], end_ns);
	if (p->waiting)
		process_mature(ff, p);
	if (p->node != AGGREGATE_NONE && p->left)
		aggregate_process_at(ff->agg, p->node)->left_ns =
			nsec_since(end_ns, ff->start_ns);
}

/*
 * Its image had ended before it could be looked at. By the CPU time that it used
 * it can still be told that no Python has run in it: the fastest start of an
 * interpreter takes some times as much before there is a first frame. The kernel
 * has told its name.
 */
static void process_judge_late(struct forkflame *ff, struct process *p)
{
	struct image *image = process_image(p);
	const struct oncpu_thread *rec = NULL;
	uint64_t used_ns = nsec_since(p->left_ns, p->image_ns);
	char name[sizeof(rec->comm) + 2];
	int len;

	if (image->verdict != VERDICT_PENDING)
		return;
	session_drain(ff);
	if (ff->oncpu)
		rec = oncpu_find(ff->oncpu, p->pid);
	if (rec && rec->pid == p->pid && rec->first_ns >= p->born_ns) {
		used_ns = rec->cpu_ns;
		len = snprintf(name, sizeof(name), "[%s]", rec->comm);
		if (!image->command && rec->comm[0] && len > 0)
			image->command =
				strtab_id(ff->strings, name, (size_t)len);
	}
	if (used_ns < PYTHON_START_NS)
		image->verdict = VERDICT_NOT_PYTHON;
}

static void process_leave(struct forkflame *ff, struct process *p,
			  const struct member *m)
{
	if (p->left)
		return;
	p->left = true;
	p->left_ns = m->left_ns;
	p->has_status = m->has_status;
	p->status = (int)m->status;
	process_settle(ff, p, m->left_ns);
	process_judge_late(ff, p);
	if (p->pidfd >= 0) {
		loop_unwatch(ff->loop, p->pidfd);
		(void)close(p->pidfd);
		p->pidfd = -1;
	}
	if (ff->children)
		children_forget(ff->children, p->pid);
	if (p->pid == ff->command && !ff->command_ended)
		ff->command_ended =
			stopper_taken(ff->stopper, &ff->command_status) ||
			spawn_reaped(ff->command, &ff->command_status);
	if (p->pid == ff->command && ff->command_ended) {
		p->has_status = true;
		p->status = ff->command_status;
	}
}

void process_gone(struct forkflame *ff, struct process *p)
{
	const struct member *m = proctree_member(ff->tree, p->serial);
	struct todo leave = { .at_ns = clock_now() + LEAVE_WAIT_NS,
			      .serial = p->serial,
			      .kind = TODO_LEAVE };

	if (p->gone || !m || m->state == MEMBER_LEFT)
		return;
	p->gone = true;
	if (p->pidfd >= 0)
		loop_unwatch(ff->loop, p->pidfd);
	if (m->state == MEMBER_ENDING)
		proctree_gone(ff->tree, p->serial, m->ending_ns);
	else
		todo_put(ff, leave);
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

static void do_todo(struct forkflame *ff, struct todo todo, uint64_t now_ns)
{
	struct process *p = process_at(ff, todo.serial);

	if (!p || p->left)
		return;
	if (todo.kind == TODO_LEAVE) {
		proctree_gone(ff->tree, p->serial, now_ns);
		return;
	}
	if (p->gone)
		return;
	if (todo.kind == TODO_PROBE) {
		process_probe(ff, p);
		return;
	}
	session_sample_process(ff, p, true);
	todo.step_ns *= 2;
	todo.at_ns = now_ns + todo.step_ns;
	if (todo.step_ns < ff->options.interval_ns)
		todo_put(ff, todo);
}

void session_todo(struct forkflame *ff, uint64_t now_ns)
{
	while (session_todo_ns(ff) <= now_ns)
		do_todo(ff, todo_take(ff), now_ns);
}

enum verdict process_verdict(const struct process *p)
{
	enum verdict image = process_image(p)->verdict;

	if (p->samples)
		return VERDICT_SAMPLED;
	if (p->denied)
		return VERDICT_DENIED;
	if (image == VERDICT_SAMPLED)
		return VERDICT_TOO_SHORT;
	return image == VERDICT_PENDING ? VERDICT_GONE : image;
}

/* The setting of Yama, which keeps all but ancestors from tracing; 0 without. */
static int yama_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file)
		(void)fclose(file);
	return scope;
}

int session_diagnose(struct forkflame *ff, pid_t pid)
{
	pid_t tracer = 0;
	uid_t uid = 0;
	int scope = yama_scope();

	(void)procfs_tracer(&ff->fs, pid, &tracer, &uid, NULL);
	if (tracer)
		return error_set(&ff->err, -EACCES,
				 "process %d is being traced by process %d: "
				 "end that first",
				 pid, tracer);
	if (uid != geteuid())
		return error_set(&ff->err, -EACCES,
				 "process %d belongs to user %u: run forkflame "
				 "as root, or as that user",
				 pid, uid);
	if (scope == 1)
		return error_set(&ff->err, -EACCES,
				 "process %d: kernel.yama.ptrace_scope=1 lets "
				 "only ancestors trace: run as root, start it "
				 "with 'forkflame record -- CMD', or "
				 "'sudo sysctl kernel.yama.ptrace_scope=0'",
				 pid);
	if (scope > 1)
		return error_set(&ff->err, -EACCES,
				 "process %d: kernel.yama.ptrace_scope=%d lets "
				 "%s trace",
				 pid, scope,
				 scope == 2 ? "only root" : "nobody");
	return error_set(
		&ff->err, -EACCES,
		"process %d may not be read: it is not dumpable, or the "
		"capability SYS_PTRACE is missing (docker run "
		"--cap-add=SYS_PTRACE)",
		pid);
}
