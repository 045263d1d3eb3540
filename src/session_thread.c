/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "session_internal.h"
#include "session_tids.h"

/* A walk of the thread list goes into an array of this size, then a larger one. */
#define THREADS_FIRST 64

static void thread_free(struct thread *t)
{
	if (!t)
		return;
	if (t->schedstat >= 0)
		(void)close(t->schedstat);
	if (t->syscall >= 0)
		(void)close(t->syscall);
	stackhint_free(&t->seat.hint);
	for (size_t i = 0; i < t->below.n; i++)
		stackhint_free(&t->below.at[i].hint);
	vec_free(&t->below);
	free(t);
}

int thread_account(struct forkflame *ff, struct thread *t,
		   struct sched_account *ret)
{
	int fd = t->schedstat;
	int r;

	/* Out of fds: open it for this one reading. */
	if (fd < 0) {
		r = sched_open(ff->fs.root, t->process->pid, t->tid,
			       "schedstat", &fd);
		if (r != 0)
			return r;
	}
	r = sched_read(fd, ret);
	if (t->schedstat < 0)
		(void)close(fd);
	return r;
}

void thread_make_due(struct forkflame *ff, struct thread *t)
{
	t->standing = false;
	if (t->due || t->dead)
		return;
	/* Without memory it is found again with its next record. */
	t->due_at = ff->due.n;
	t->due = vec_push(&ff->due, t);
}

/*
 * Where a thread's time begins. The leader begins with its image; one that was
 * there when we came, with us; one that was born since, with its first switch
 * record, or, where there are none, when it was found.
 */
static void begin_weights(struct forkflame *ff, struct thread *t, bool old)
{
	const struct oncpu_thread *seen = NULL;
	const struct process *p = t->process;
	struct sched_account account = { 0 };
	uint64_t birth_ns = clock_now();

	if (t->tid == p->pid) {
		t->born_ns = p->image_ns;
		weigh_begin(&t->weigh, p->image_ns, p->image_cpu_ns);
		return;
	}
	if (ff->oncpu && !old)
		seen = oncpu_find(ff->oncpu, t->tid);
	if (seen && seen->first_ns >= p->image_ns)
		birth_ns = seen->first_ns;
	/* What it has used before belongs to nobody here. */
	if (old)
		(void)thread_account(ff, t, &account);
	t->born_ns = birth_ns;
	weigh_begin(&t->weigh, birth_ns, account.cpu_ns);
}

/*
 * A new thread of @p.
 *
 * @old  it was there when the process was taken in: its account counts from now
 *
 * Returns 0 with *@ret; OUT_GONE when there is no such thread; -ENOMEM.
 */
static int thread_new(struct forkflame *ff, struct process *p, pid_t tid,
		      bool old, struct thread **ret)
{
	struct thread *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	*t = (struct thread){ .process = p,
			      .tid = tid,
			      .schedstat = -1,
			      .syscall = -1,
			      .gap = 1,
			      .rec = RECORD_NONE,
			      .held = SIZE_MAX,
			      .waits = { .stack = STACKS_NONE },
			      .newborn = !old && (tid != p->pid || p->forked),
			      .tick = ff->tick };
	r = sched_open(ff->fs.root, p->pid, tid, "schedstat", &t->schedstat);
	if (r == 0)
		t->schedstat = session_keep_fd(ff, t->schedstat);
	if (r == -EMFILE || r == -ENFILE)
		r = 0;
	if (r == 0 &&
	    (!vec_reserve(&p->threads, 1) ||
	     !map_put(&ff->threads, (uint64_t)tid, (uint64_t)(uintptr_t)t)))
		r = -ENOMEM;
	if (r != 0) {
		thread_free(t);
		return r;
	}
	t->at = p->threads.n;
	p->threads.at[p->threads.n++] = t;
	if (ff->oncpu && oncpu_find(ff->oncpu, tid))
		t->rec_cpu_ns = oncpu_find(ff->oncpu, tid)->cpu_ns;
	begin_weights(ff, t, old);
	ff->counts.threads++;
	thread_make_due(ff, t);
	*ret = t;
	return 0;
}

struct thread *thread_of(const struct forkflame *ff, pid_t tid)
{
	uint64_t at;

	return map_get(&ff->threads, (uint64_t)tid, &at)
		       ? (struct thread *)(uintptr_t)at
		       : NULL;
}

/* A number that another process has had since, or has still, is looked for one by one. */
static struct thread *thread_find(const struct forkflame *ff,
				  const struct process *p, pid_t tid)
{
	struct thread *t = thread_of(ff, tid);

	if (!t || t->process == p)
		return t;
	for (size_t i = 0; i < p->threads.n; i++)
		if (p->threads.at[i]->tid == tid)
			return p->threads.at[i];
	return NULL;
}

struct thread *thread_inherit(struct forkflame *ff, struct process *p,
			      const struct process *parent)
{
	const struct thread *from = thread_find(ff, parent, p->fork_tid);
	struct thread *t = NULL;

	if (!from || thread_new(ff, p, p->pid, false, &t) != 0)
		return NULL;
	t->seat = from->seat;
	t->seat.hint = (struct stackhint){ 0 };
	for (size_t i = 0; i < from->below.n; i++) {
		struct seat seat = from->below.at[i];

		seat.hint = (struct stackhint){ 0 };
		(void)vec_push(&t->below, seat);
	}
	return t;
}

/*
 * The account at the end. The file of a zombie still answers; of one that was
 * reaped, the switch records know what it used since its newest sample.
 */
static uint64_t final_cpu(struct forkflame *ff, struct thread *t,
			  bool *ret_gone)
{
	const struct oncpu_thread *rec = NULL;
	struct sched_account account;
	uint64_t cpu_ns = t->weigh.cpu_ns;

	*ret_gone = thread_account(ff, t, &account) != 0;
	if (!*ret_gone)
		return account.cpu_ns;
	if (ff->oncpu)
		rec = oncpu_find(ff->oncpu, t->tid);
	if (rec && rec->cpu_ns > t->rec_cpu_ns)
		cpu_ns += rec->cpu_ns - t->rec_cpu_ns;
	return cpu_ns;
}

void thread_repeat(struct forkflame *ff, struct thread *t, uint64_t ticks)
{
	weigh_repeat(&t->weigh, ticks);
	ff->counts.repeated += ticks;
	if (t->process->waiting)
		t->process->held_repeated += ticks;
	t->tick += ticks;
}

static void remove_from_lists(struct forkflame *ff, struct thread *t)
{
	if (t->turn)
		ff->turns.at[t->turn_at] = NULL;
	t->turn = false;
	if (!t->due)
		return;
	vec_take_out(&ff->due, t->due_at);
	if (t->due_at < ff->due.n)
		ff->due.at[t->due_at]->due_at = t->due_at;
	t->due = false;
}

void thread_end(struct forkflame *ff, struct thread *t, uint64_t end_ns)
{
	const struct oncpu_thread *rec = NULL;
	struct charge charges[WEIGH_CHARGES];
	struct process *p = t->process;
	uint64_t cpu_ns, at;
	unsigned n;
	bool gone;

	cpu_ns = final_cpu(ff, t, &gone);

	/* The process's end is the leader's, unless that went before the others. */
	if (ff->oncpu && (t->tid != p->pid || p->leaderless))
		rec = oncpu_find(ff->oncpu, t->tid);
	if (rec && !rec->on && rec->out_ns > t->weigh.since_ns &&
	    rec->out_ns < end_ns && !t->standing)
		end_ns = rec->out_ns;
	if (t->standing)
		thread_repeat(ff, t, nsec_since(ff->tick, t->tick));
	n = weigh_end(&t->weigh, end_ns, cpu_ns, charges);
	for (unsigned i = 0; i < n; i++)
		process_charge(ff, t, &charges[i]);
	record_thread_end(ff, t, end_ns);
	/*
	 * One that lives on (after an exec, or outside of Python) may be on a CPU,
	 * which nothing but its record tells. A leader's also tells what an image was
	 * that had ended before it could be looked at.
	 */
	if (ff->oncpu && gone && (t->tid != p->pid || p->left))
		oncpu_forget(ff->oncpu, t->tid, clock_now());
	/* Its number may be another's by now. */
	if (map_get(&ff->threads, (uint64_t)t->tid, &at) &&
	    at == (uint64_t)(uintptr_t)t)
		(void)map_remove(&ff->threads, (uint64_t)t->tid);
	remove_from_lists(ff, t);
	vec_take_out(&p->threads, t->at);
	if (t->at < p->threads.n)
		p->threads.at[t->at]->at = t->at;
	thread_free(t);
}

/*
 * When it ended, its records tell. By run counts one that slept is looked at in growing
 * intervals, and the list of threads when one of them has run: it was somewhere between
 * two looks.
 */
void thread_lost(struct forkflame *ff, struct thread *t)
{
	uint64_t now_ns = clock_now(), there_ns = t->process->listed_ns;

	if (t->weigh.stood_ns > there_ns)
		there_ns = t->weigh.stood_ns;
	if (!ff->oncpu && t->proven)
		now_ns -= nsec_since(now_ns, there_ns) / 2;
	thread_end(ff, t, now_ns);
}

/* Most of the list is as it was: fetch that in one call, not link by link. */
static void fetch_known(struct forkflame *ff, const struct process *p)
{
	size_t len = runtime_thread_bytes(&process_image(p)->rt.layout);

	prefetch_start(ff->prefetch, &ff->mem);
	for (size_t i = 0; i < p->threads.n; i++)
		prefetch_plan(ff->prefetch, p->threads.at[i]->seat.tstate, len);
	(void)prefetch_fetch(ff->prefetch);
}

static int walk_threads(struct forkflame *ff, struct process *p,
			const struct runtime *rt, struct pythread **ret,
			size_t *ret_n, uint64_t *ret_mark)
{
	size_t room = THREADS_FIRST;
	struct pythread *threads = NULL;
	int r;

	do {
		void *more = realloc(threads, room * sizeof(*threads));

		if (!more) {
			free(threads);
			return -ENOMEM;
		}
		threads = more;
		fetch_known(ff, p);
		r = runtime_threads(prefetch_mem(ff->prefetch), rt, threads,
				    room, ret_n, ret_mark);
		room *= 8;
	} while (r == OUT_FULL && room <= RUNTIME_MAX_THREADS * 8);
	if (r != 0 && r != OUT_FULL) {
		free(threads);
		return r;
	}
	*ret = threads;
	return 0;
}

/* Threads that the interpreter no longer lists have ended. */
static void end_unlisted(struct forkflame *ff, struct process *p)
{
	for (size_t i = p->threads.n; i-- > 0;) {
		struct thread *t = p->threads.at[i];

		if (t->dead)
			thread_lost(ff, t);
	}
}

/* A listed thread state of the task @tid: known, new, or there only on paper. */
static int list_thread(struct forkflame *ff, struct process *p, pid_t tid,
		       const struct pythread *th, bool second, bool old)
{
	struct thread *t = tid > 0 ? thread_find(ff, p, tid) : NULL;
	int r = 0;

	if (tid <= 0)
		return 0;
	if (!t)
		r = thread_new(ff, p, tid, old, &t);
	if (r == OUT_GONE)
		return 0; /* it has ended */
	if (r != 0)
		return r;
	t->dead = false;
	return thread_seat(ff, t, th, second);
}

static int list_threads(struct forkflame *ff, struct process *p,
			const struct pythread *threads, size_t n,
			size_t seconds)
{
	bool old = !p->walked && process_was_there(ff, p);
	struct tasks tasks = { 0 };
	int r = 0;

	for (size_t i = 0; i < p->threads.n; i++) {
		p->threads.at[i]->dead = true;
		p->threads.at[i]->seats = 0;
	}
	p->interps = n > 0;
	for (size_t i = 1; i < n; i++)
		p->interps += threads[i].interp != threads[i - 1].interp;
	for (size_t i = 0; i < n && r == 0; i++)
		r = list_thread(ff, p,
				session_tid_of(ff, p, threads, n, i, &tasks),
				&threads[i], i < seconds, old);
	tasks_free(&tasks);
	if (r == 0)
		end_unlisted(ff, p);
	p->lends = false;
	for (size_t i = 0; i < p->threads.n; i++) {
		p->threads.at[i]->dead = false;
		thread_drop_seats(p->threads.at[i]);
	}
	return r;
}

/*
 * The thread states of all interpreters: those of the second before the first's, as
 * it was entered last where a thread is in both. What is wrong with the second spoils
 * nothing: a forked child may not have it.
 */
static int walk_all(struct forkflame *ff, struct process *p,
		    struct pythread **ret, size_t *ret_n, size_t *ret_seconds)
{
	const struct image *image = process_image(p);
	struct pythread *first = NULL, *second = NULL, *both;
	size_t n = 0, seconds = 0;
	int r;

	r = walk_threads(ff, p, &image->rt, &first, &n, &p->mark);
	if (r == 0 && image->second_codes &&
	    walk_threads(ff, p, &image->second_rt, &second, &seconds,
			 &p->second_mark) != 0)
		seconds = 0;
	if (r == 0 && seconds) {
		both = realloc(second, (seconds + n) * sizeof(*both));
		if (!both) {
			r = -ENOMEM;
			goto out;
		}
		memcpy(both + seconds, first, n * sizeof(*both));
		second = first;
		first = both;
	}
	if (r == 0) {
		*ret = first;
		*ret_n = n + seconds;
		*ret_seconds = seconds;
		first = NULL;
	}
out:
	free(first);
	free(second);
	return r;
}

static bool second_changed(struct forkflame *ff, const struct process *p)
{
	const struct image *image = process_image(p);
	uint64_t mark;

	return image->second_codes &&
	       runtime_mark(&ff->mem, &image->second_rt, &mark) == 0 &&
	       mark != p->second_mark;
}

int process_refresh(struct forkflame *ff, struct process *p)
{
	struct pythread *threads = NULL;
	size_t n, seconds;
	uint64_t mark;
	int r;

	session_read_from(ff, p);
	r = runtime_mark(&ff->mem, &process_image(p)->rt, &mark);
	if (r == OUT_GONE && session_find_reader(ff, p)) {
		p->walked = false;
		r = runtime_mark(&ff->mem, &process_image(p)->rt, &mark);
	}
	if (r != 0)
		return r;
	if (p->walked && mark == p->mark && !second_changed(ff, p)) {
		p->listed_ns = clock_now();
		return 0;
	}
	r = walk_all(ff, p, &threads, &n, &seconds);
	if (r != 0)
		return r;
	p->moved_tick = ff->tick;
	r = list_threads(ff, p, threads, n, seconds);
	p->listed_ns = clock_now();
	free(threads);
	/* None of them ours: a child that has not yet put its list in order. */
	p->walked = r == 0 && p->threads.n;
	return r;
}
