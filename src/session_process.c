/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "session_internal.h"

/* The lives of processes: what follows from each change of the tree. */

/* How long the EXIT event of a process that has gone is waited for. */
#define LEAVE_WAIT_NS (20 * NSEC_PER_MSEC)

/* How long the tree remembers one that has left: news of it may be under way. */
#define FORGET_WAIT_NS NSEC_PER_SEC

/*
 * An EXEC that was heard too early is tried again after this time at first, then after
 * a part of the time that it has taken, for so long: it may wait for a CPU.
 */
#define EXEC_STEP_NS (300 * NSEC_PER_USEC)
#define EXEC_STEP_SHARE 2
#define EXEC_WAIT_NS (2 * NSEC_PER_SEC)

struct process *process_at(const struct forkflame *ff, uint32_t serial)
{
	return serial < ff->processes.n ? ff->processes.at[serial] : NULL;
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
	vec_free(&p->held_threads);
	vec_free(&p->seen);
	free(p);
}

static void process_watch(struct forkflame *ff, struct process *p)
{
	p->pidfd = task_pidfd(p->pid);
	if (p->pidfd >= 0)
		p->pidfd = session_keep_fd(ff, p->pidfd);
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
				       .rec_image = RECORD_NONE,
				       .born_ns = m->born_ns,
				       .image_ns = m->born_ns,
				       .first_sample_ns = UINT64_MAX };
	return p;
}

/* Whose it is, and where it lives. A fork changes none of that but its number. */
static void find_place(struct forkflame *ff, struct process *p,
		       const struct process *parent)
{
	struct str group = { 0 };
	uint32_t id;

	if (!ff->options.recording)
		return;
	if (parent) {
		p->place = parent->place;
		p->cgroup = parent->cgroup;
		/* In its own namespace it has a number that we have not seen. */
		if (p->place.ns_pid == parent->pid)
			p->place.ns_pid = p->pid;
		else
			p->place.ns_pid = 0;
		return;
	}
	place_look(ff->fs.root, p->pid, &p->place, &group);
	id = group.failed || !group.len
		     ? 0
		     : strtab_id(ff->strings, group.at, group.len);
	p->cgroup = id == STRTAB_NONE ? 0 : id;
	str_free(&group);
}

/* By this an exec of which no event came is found out. A fork changes nothing. */
static void find_image_place(struct forkflame *ff, struct process *p,
			     const struct process *parent)
{
	struct proc_stat stat;

	p->code_start = p->stack_start = 0;
	if (parent) {
		p->code_start = parent->code_start;
		p->stack_start = parent->stack_start;
	} else if (procfs_stat(&ff->fs, p->pid, &stat, NULL) == 0 &&
		   stat.code_start > 1) {
		p->code_start = stat.code_start;
		p->stack_start = stat.stack_start;
	}
}

/* One that we were not there to see forked: neither has exec'd since. */
static bool is_copy(const struct forkflame *ff, const struct process *p,
		    const struct process *parent)
{
	return parent && parent->images.n && p->code_start &&
	       p->code_start == parent->code_start &&
	       p->stack_start == parent->stack_start &&
	       procfs_has_random_addresses(&ff->fs, p->pid);
}

/* It is not called as its parent is: what differs is a title. */
static void find_title(struct process *p, const struct process *parent)
{
	struct image *image = process_image(p);

	if (!image->command || image->command == process_image(parent)->command)
		return;
	p->title = image->command;
	image->command = process_image(parent)->command;
}

/*
 * A copy has the Python that its parent has, at the same place: to find that out is
 * most of what a pool costs that is attached to. Unless the parent came to it later:
 * then there is no thread of @p in what we take for it.
 */
static bool share_found(struct forkflame *ff, struct process *p,
			const struct process *parent)
{
	struct image *own = process_image(p);

	if (ff->watch.write || p->left_out || p->left ||
	    process_image(parent)->verdict != VERDICT_SAMPLED)
		return false;
	p->images.n--;
	if (process_share_image(p, process_image(parent)) == 0) {
		p->copied = true;
		if (process_refresh(ff, p) == 0 && p->threads.n) {
			image_drop(own);
			process_begin_sampling(ff, p);
			return true;
		}
		image_drop(process_image(p));
		p->copied = false;
	} else {
		p->images.n++;
	}
	p->images.at[p->images.n - 1] = own;
	return false;
}

/* Whose birth nobody saw, or whose image is not known from its parent. */
static void join_found(struct forkflame *ff, struct process *p,
		       const struct member *m, const struct process *parent)
{
	struct sched_account account = { 0 };
	struct thread leader = { .process = p, .tid = p->pid, .schedstat = -1 };

	bool copy = is_copy(ff, p, parent);

	if (copy)
		find_title(p, parent);
	/* What it used before we came is not ours to account for. */
	if (thread_account(ff, &leader, &account) == 0 && !p->started)
		p->image_cpu_ns = account.cpu_ns;
	if (!p->started && !(copy && share_found(ff, p, parent)))
		process_probe(ff, p);
	watch_join(ff, p, m);
}

/* A member of the tree: take it in, and if it was just born, sample it at once. */
int process_join(struct forkflame *ff, const struct member *m)
{
	struct process *parent = process_at(ff, m->parent);
	struct process *p = process_new(m);
	/* One that was found late may have exec'd since its birth. */
	bool forked = parent && m->born_seen && !m->found_late &&
		      parent->images.n;
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
	r = forked ? process_share_image(p, process_image(parent))
		   : process_add_image(ff, p);
	if (r < 0) {
		ff->processes.at[m->serial] = NULL;
		process_free(ff, p);
		return r;
	}
	process_watch(ff, p);
	select_place(ff, p, m, parent);
	select_image(ff, p, forked ? parent : NULL);
	find_place(ff, p, forked ? parent : NULL);
	source_follow(ff, p, forked);
	r = session_follow_oncpu(ff, p, forked ? parent : NULL);
	if (r < 0)
		return r;
	p->started = p->pid == ff->command && !ff->running;
	find_image_place(ff, p, forked ? parent : NULL);
	p->own_image = parent &&
		       (p->code_start == parent->code_start &&
					p->stack_start == parent->stack_start
				? parent->own_image
				: m->born_seen);
	if (!forked) {
		join_found(ff, p, m, parent);
		return 0;
	}
	p->waiting = true;
	p->forked = true;
	p->title = parent->title;
	watch_join(ff, p, m);
	if (p->gone)
		return 0;
	if (process_image(p)->verdict != VERDICT_SAMPLED || p->left_out) {
		process_probe_again(ff, p);
	} else if (!ff->watch.write) {
		(void)thread_inherit(ff, p, parent);
		kernel_inherit(ff, p, parent);
		process_begin_sampling(ff, p);
	}
	return 0;
}

/* A new program: all that is known of the old one ends here. */
static int follow_exec(struct forkflame *ff, struct process *p,
		       uint64_t time_ns)
{
	struct sched_account account = { 0 };
	struct thread leader = { .process = p, .tid = p->pid, .schedstat = -1 };
	uint32_t old_image;
	int r;

	p->exec_ns = 0;
	kernel_drain(ff);
	kernel_forget(ff, p);
	record_image(ff, p);
	p->seen.n = 0;
	p->interps = 0;
	old_image = p->rec_image;
	r = process_add_image(ff, p);
	if (r != 0)
		return r;
	/* The accounts of the old one go to the old one. */
	p->rec_image = old_image;
	while (p->threads.n)
		thread_end(ff, p->threads.at[0], time_ns);
	p->rec_image = RECORD_NONE;
	p->head_ns = 0;
	if (p->waiting)
		process_take_back(ff, p);
	if (thread_account(ff, &leader, &account) == 0)
		p->image_cpu_ns = account.cpu_ns;
	find_image_place(ff, p, NULL);
	p->own_image = true;
	p->image_ns = time_ns;
	p->met = false;
	p->fork_tid = 0;
	p->forked = p->copied = false;
	if (p->started) {
		/* Before its first exec, the command was a copy of us. */
		p->started = false;
		p->image_cpu_ns = 0;
		image_drop(p->images.at[0]);
		p->images.at[0] = p->images.at[--p->images.n];
	}
	select_image(ff, p, NULL);
	if (process_image(p)->verdict == VERDICT_NOT_PYTHON)
		process_probe_again(ff, p);
	else
		process_probe(ff, p);
	watch_exec(ff, p, time_ns);
	return 0;
}

/*
 * Does its image change just now? The connector tells when it has; perf's records
 * come with the new name, before anything of the new program is mapped, and who
 * looks may look at any moment. The last thing that an exec sets is where the
 * code begins; 1 is for readers who may not know.
 */
static bool is_in_exec(struct forkflame *ff, const struct process *p)
{
	struct proc_stat stat;

	return ff->source != FORKFLAME_EVENTS_CONNECTOR &&
	       procfs_stat(&ff->fs, p->pid, &stat, NULL) == 0 &&
	       stat.state != 'Z' && stat.state != 'X' && stat.code_start == 0;
}

/* Later, unless it has waited for as long as no exec takes. */
static bool put_off(struct forkflame *ff, struct process *p, uint64_t now_ns)
{
	struct todo todo = { .serial = p->serial, .kind = TODO_EXEC };
	uint64_t step_ns = nsec_since(now_ns, p->exec_ns) / EXEC_STEP_SHARE;

	todo.at_ns = now_ns + (step_ns > EXEC_STEP_NS ? step_ns : EXEC_STEP_NS);
	if (now_ns > p->exec_ns + EXEC_WAIT_NS || !is_in_exec(ff, p))
		return false;
	session_todo_put(ff, todo);
	return true;
}

int process_exec(struct forkflame *ff, struct process *p, uint64_t time_ns)
{
	int r = 0;

	p->execs++;
	if (p->left)
		return 0;
	if (p->exec_ns)
		r = follow_exec(ff, p, p->exec_ns);
	p->exec_ns = time_ns;
	if (r == 0 && !put_off(ff, p, clock_now()))
		r = follow_exec(ff, p, time_ns);
	return r;
}

int process_exec_late(struct forkflame *ff, struct process *p, uint64_t now_ns)
{
	if (!p->exec_ns || p->left || put_off(ff, p, now_ns))
		return 0;
	return follow_exec(ff, p, p->exec_ns);
}

void process_settle(struct forkflame *ff, struct process *p, uint64_t end_ns)
{
	while (p->threads.n)
		thread_end(ff, p->threads.at[0], end_ns);
	if (p->waiting)
		process_mature(ff, p);
}

/*
 * How it ended, where its EXIT did not tell: from the zombie that it is until it
 * is reaped, or else from its pidfd. A zombie's 0 may mean that we may not know.
 */
static bool find_status(struct forkflame *ff, const struct process *p,
			uint64_t start, int *ret)
{
	struct proc_stat stat;

	if (procfs_stat(&ff->fs, p->pid, &stat, NULL) == 0 &&
	    stat.state == 'Z' && (!start || stat.start == start) &&
	    (stat.status || p->samples || geteuid() == 0)) {
		*ret = (int)stat.status;
		return true;
	}
	return task_status(p->pidfd, ret);
}

void process_leave(struct forkflame *ff, struct process *p,
		   const struct member *m)
{
	struct todo forget = { .at_ns = clock_now() + FORGET_WAIT_NS,
			       .serial = p->serial,
			       .kind = TODO_FORGET };

	if (p->left)
		return;
	session_todo_put(ff, forget);
	kernel_drain(ff);
	if (p->exec_ns)
		(void)follow_exec(ff, p, p->exec_ns);
	p->left = true;
	ff->wanted -= p->wanted;
	p->left_ns = m->left_ns;
	p->has_status = m->has_status && m->status != EVENT_NO_STATUS;
	p->status = p->has_status ? (int)m->status : 0;
	/* Its EXIT told of its leader, which is not who ended it. */
	if ((!p->has_status || p->head_ns) &&
	    find_status(ff, p, m->start, &p->status))
		p->has_status = true;
	process_settle(ff, p, m->left_ns);
	process_judge_late(ff, p);
	if (p->pidfd >= 0) {
		loop_unwatch(ff->loop, p->pidfd);
		(void)close(p->pidfd);
		p->pidfd = -1;
	}
	if (p->pid == ff->command && !ff->command_ended)
		ff->command_ended =
			stopper_taken(ff->stopper, &ff->command_status) ||
			spawn_reaped(ff->command, &ff->command_status);
	if (p->pid == ff->command && ff->command_ended) {
		p->has_status = true;
		p->status = ff->command_status;
	}
	record_process_end(ff, p, m->left_ns);
	watch_leave(ff, p);
	kin_left(ff, p->pid);
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
		proctree_gone(ff->tree, p->serial,
			      p->leaderless || p->head_ns ? clock_now()
							  : m->ending_ns);
	else
		session_todo_put(ff, leave);
}

enum verdict process_verdict(const struct process *p)
{
	enum verdict image = process_image(p)->verdict;

	if (p->samples)
		return VERDICT_SAMPLED;
	if (p->denied)
		return VERDICT_DENIED;
	if (p->left_out)
		return VERDICT_LEFT_OUT;
	if (image == VERDICT_SAMPLED)
		return VERDICT_TOO_SHORT;
	return image == VERDICT_PENDING ? VERDICT_GONE : image;
}
