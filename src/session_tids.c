/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/outcome.h"
#include "linux/task.h"
#include "session_tids.h"

/*
 * Which task a thread state belongs to. An interpreter knows its threads by the
 * numbers of its own pid namespace, and it may be wrong: those of a fork that it
 * was not told of are the parent's. So a number counts only when it is one of a
 * task of the process, and when it is not, the C library is asked for its own.
 */

void tasks_free(struct tasks *tasks)
{
	map_free(&tasks->outer);
	vec_free(&tasks->inner);
}

static struct thread *known_thread(const struct forkflame *ff,
				   const struct process *p, pid_t tid)
{
	struct thread *t = thread_of(ff, tid);

	return t && t->process == p ? t : NULL;
}

static bool is_task(const struct forkflame *ff, const struct process *p,
		    pid_t tid)
{
	char path[64];
	struct stat st;

	if (known_thread(ff, p, tid))
		return true;
	(void)snprintf(path, sizeof(path), "%d/task/%d", p->pid, tid);
	return task_known(tid) && fstatat(ff->fs.root, path, &st, 0) == 0;
}

static void find_nested(struct forkflame *ff, struct process *p)
{
	pid_t inner;

	if (!p->nested_known && procfs_inner_tid(&ff->fs, p->pid, p->pid,
						 &inner, &p->nested, NULL) == 0)
		p->nested_known = true;
}

/* The tasks there are, by their inner numbers. Without memory some are missing. */
static void tasks_read(struct forkflame *ff, struct process *p,
		       struct tasks *tasks)
{
	struct proc_tids tids = { 0 };

	if (tasks->read)
		return;
	tasks->read = true;
	if (procfs_tids(&ff->fs, p->pid, &tids, NULL) != 0)
		tids.n = 0;
	for (size_t i = 0; i < tids.n; i++) {
		struct thread *t = known_thread(ff, p, tids.at[i]);
		pid_t inner = t ? t->inner : 0;
		bool nested;

		if (!p->nested)
			inner = tids.at[i];
		if (!inner && procfs_inner_tid(&ff->fs, p->pid, tids.at[i],
					       &inner, &nested, NULL) != 0)
			continue;
		if (t)
			t->inner = inner;
		if (vec_push(&tasks->inner, inner))
			(void)map_put(&tasks->outer, (uint64_t)inner,
				      (uint64_t)tids.at[i]);
	}
	vec_free(&tids);
}

/* Our number for the task that @p calls @inner; 0: it has none of that number. */
static pid_t outer_of(struct forkflame *ff, struct process *p,
		      struct tasks *tasks, pid_t inner)
{
	uint64_t outer;

	if (inner <= 0)
		return 0;
	if (p->nested) {
		tasks_read(ff, p, tasks);
		if (!map_get(&tasks->outer, (uint64_t)inner, &outer))
			return 0;
		inner = (pid_t)outer;
	} else if (!is_task(ff, p, inner)) {
		return 0;
	}
	/* A leader that has ended is a task until all have. */
	return p->leaderless && inner == p->pid ? 0 : inner;
}

/* Another C library than glibc: where does it keep the number? */
static void learn_offset(struct forkflame *ff, struct process *p,
			 const struct pythread *threads, size_t n,
			 struct tasks *tasks)
{
	struct runtime *rt = &process_image(p)->rt;
	uint64_t pthreads[8];
	uint16_t offset;
	size_t used = 0;

	if (tasks->searched || rt->tid_offset)
		return;
	tasks->searched = true;
	tasks_read(ff, p, tasks);
	for (; used < n && used < 8; used++)
		pthreads[used] = threads[used].pthread;
	if (runtime_find_tid(&ff->mem, pthreads, used, tasks->inner.at,
			     tasks->inner.n, &offset) == 0)
		rt->tid_offset = offset;
}

/* By the pthread structure. */
static pid_t tid_by_pthread(struct forkflame *ff, struct process *p,
			    const struct pythread *th, struct tasks *tasks)
{
	const struct runtime *rt = &process_image(p)->rt;
	pid_t tid = 0;

	if (runtime_pthread_tid_at(&ff->mem, th->pthread, rt->tid_offset,
				   &tid) != 0)
		return 0;
	return outer_of(ff, p, tasks, tid);
}

pid_t session_tid_of(struct forkflame *ff, struct process *p,
		     const struct pythread *threads, size_t n, size_t i,
		     struct tasks *tasks)
{
	const struct pythread *th = &threads[i];
	pid_t native = (pid_t)th->native;
	pid_t tid;

	/*
	 * Between fork and the interpreter's after-fork handler, and in early
	 * 3.11 for ever, a child's only thread carries the number of the thread
	 * that forked it. So does a copy of it in a child of that child.
	 */
	if (p->forked && n == 1)
		return p->pid;
	find_nested(ff, p);
	tid = outer_of(ff, p, tasks, native);
	if (tid)
		return tid;
	if (th->pthread)
		tid = tid_by_pthread(ff, p, th, tasks);
	/*
	 * Only a fork makes a number wrong, and leaves nobody but the leader: another
	 * that has this pthread has the stack of a thread that ended unheard.
	 */
	if (tid && (!native || tid == p->pid))
		return tid;
	if (p->forked && p->fork_tid && native == p->fork_tid)
		return p->pid;
	/* The only one of the only task. */
	tasks_read(ff, p, tasks);
	if (n == 1 && tasks->inner.n == 1 && !p->leaderless)
		return p->pid;
	if (!native && th->pthread) {
		learn_offset(ff, p, threads, n, tasks);
		if (process_image(p)->rt.tid_offset)
			return tid_by_pthread(ff, p, th, tasks);
	}
	return 0;
}

void session_read_from(struct forkflame *ff, const struct process *p)
{
	ff->remote->pid = p->reader ? p->reader : p->pid;
}

/* A task that has ended has no memory any more, and is a zombie at most. */
static bool has_ended(const struct forkflame *ff, pid_t pid, pid_t tid)
{
	struct proc_stat stat;

	return !task_there(pid, tid) ||
	       procfs_stat(&ff->fs, tid, &stat, NULL) != 0 ||
	       stat.state == 'Z' || stat.state == 'X';
}

/* One that is on its way out has none any more, whatever its state. */
static bool has_memory(const struct forkflame *ff, pid_t pid, pid_t tid)
{
	struct proc_maps maps = { 0 };
	bool has;

	if (has_ended(ff, pid, tid))
		return false;
	has = procfs_maps(&ff->fs, tid, &maps, NULL) == 0 && maps.maps.n;
	proc_maps_free(&maps);
	return has;
}

bool session_find_reader(struct forkflame *ff, struct process *p)
{
	struct proc_tids tids = { 0 };
	pid_t found = 0;

	if (p->gone || procfs_tids(&ff->fs, p->pid, &tids, NULL) != 0)
		return false;
	for (size_t i = 0; i < tids.n && !found && tids.n > 1; i++)
		if (tids.at[i] != p->reader &&
		    has_memory(ff, p->pid, tids.at[i]))
			found = tids.at[i];
	vec_free(&tids);
	if (!found)
		return false;
	p->reader = found;
	p->leaderless = has_ended(ff, p->pid, p->pid);
	session_read_from(ff, p);
	return true;
}

bool session_has_ended(const struct forkflame *ff, const struct proc_stat *stat)
{
	struct proc_tids tids = { 0 };
	bool alone;

	if (stat->state != 'Z' && stat->state != 'X')
		return false;
	alone = procfs_tids(&ff->fs, stat->pid, &tids, NULL) != 0 || tids.n < 2;
	vec_free(&tids);
	return alone;
}
