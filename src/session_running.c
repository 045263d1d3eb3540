/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outcome.h"
#include "linux/clock.h"
#include "session_sample.h"

/*
 * Threads on a CPU: read as they run, where that proves something, or nobody may be
 * stopped; else stopped.
 */

/*
 * A thread on a CPU whose stack was empty: whether it still is takes one read of
 * one pointer, and no stop.
 */
bool session_still_empty(struct forkflame *ff, struct thread *t)
{
	struct reading reading = { .seen = { .run = RUN_ON_CPU } };

	if (!t->empty)
		return false;
	if (session_read_stack(ff, t, &reading.seen) != 0 || !t->empty) {
		thread_distrust(t);
		return false;
	}
	reading.now_ns = reading.since_ns = clock_now();
	session_accept(ff, t, &reading);
	return true;
}

/* It runs, and may not be stopped. The same twice is most likely what it was. */
void session_sample_running(struct forkflame *ff, struct thread *t)
{
	struct reading reading = { .seen = { .run = RUN_ON_CPU } };
	struct seen again = reading.seen;
	int r = OUT_TORN;

	for (int round = 0; round < ROUNDS && r == OUT_TORN; round++) {
		r = session_read_stack(ff, t, &reading.seen);
		reading.now_ns = reading.since_ns = clock_now();
		if (r == 0)
			r = session_read_stack(ff, t, &again);
		if (r == 0 && again.stack != reading.seen.stack)
			r = OUT_TORN;
		if (r != 0)
			thread_distrust(t);
	}
	if (r == 0)
		session_accept(ff, t, &reading);
	else
		session_refuse(ff, t, r);
}

/* Whose turn is it to have the lock, read past all that was fetched? */
static bool is_outside(struct forkflame *ff, struct thread *t)
{
	ff->remote->pid = t->tid;
	return runtime_gil_turn(&ff->mem, seat_runtime(t, &t->seat),
				t->seat.interp, &t->seat.turn) == 0 &&
	       t->seat.turn.holder != t->seat.tstate;
}

/*
 * A thread on a CPU that does not have the interpreter's lock is in C code, and its
 * frames stand as long as that is so: while the lock's turn is the same. It is read
 * as it runs. One that had the lock when it was last seen is not asked.
 */
bool session_sample_outside(struct forkflame *ff, struct thread *t)
{
	struct reading reading = { .seen = { .run = RUN_ON_CPU } };
	uint64_t number;

	if (t->below.n || t->process->threads.n < 2 || !weigh_has(&t->weigh) ||
	    t->weigh.seen.gil != GIL_NONE || !is_outside(ff, t))
		return false;
	number = t->seat.turn.number;
	if (session_read_stack(ff, t, &reading.seen) != 0 ||
	    !is_outside(ff, t) || t->seat.turn.number != number) {
		thread_distrust(t);
		return false;
	}
	reading.seen.gil = GIL_NONE;
	reading.now_ns = reading.since_ns = clock_now();
	session_accept(ff, t, &reading);
	return true;
}

/*
 * May a stop have caught it within a system call that it is about to sleep in? One
 * that has not slept since its newest sample is in none, but by a rare chance.
 */
static bool may_sleep(const struct forkflame *ff, const struct thread *t)
{
	const struct oncpu_thread *rec =
		ff->oncpu ? oncpu_find(ff->oncpu, t->tid) : NULL;

	return !rec || !rec->known || session_has_slept(t, rec);
}

/* One stopped thread: read it, let it go, then do the rest. */
static void sample_stopped(struct forkflame *ff, struct thread *t,
			   struct stop *stop)
{
	struct reading reading = { .seen = { .run = RUN_ON_CPU },
				   .now_ns = stop->stopped_ns,
				   .since_ns = stop->stopped_ns,
				   .stopped = true };
	bool cut = false;
	size_t n = 0;
	int r = thread_read(ff, t, &n, &cut);

	if (r == 0)
		thread_look_around(ff, t, &reading.seen);
	if (may_sleep(ff, t))
		ff->counts.calls_failed += stopper_failed_call(stop);
	stopper_end(ff->stopper, stop);
	t->held_from_ns = stop->asked_ns;
	t->held_to_ns = clock_now();
	held_add(&ff->counts.held, nsec_since(clock_now(), stop->asked_ns));
	if (r != 0) {
		session_refuse(ff, t, r);
		return;
	}
	t->empty = n == 0;
	reading.seen.stack = thread_decode(ff, t, n, cut);
	session_accept(ff, t, &reading);
}

/*
 * One that was asked to stop and has not by the deadline. It is in the kernel, or
 * has no CPU, and will stop before it executes another instruction of its own: so
 * its stack stands as if it were stopped, and is read as it is.
 */
static void sample_frozen(struct forkflame *ff, struct thread *t)
{
	const struct oncpu_thread *rec = NULL;
	struct reading reading = { .seen = { .run = RUN_ON_CPU } };
	int r;

	if (session_vouched(ff, t, &rec))
		reading.seen.run = session_run_of(t, rec);
	r = session_read_stack(ff, t, &reading.seen);
	if (r != 0) {
		session_refuse(ff, t, r);
		return;
	}
	reading.now_ns = reading.since_ns = clock_now();
	session_accept(ff, t, &reading);
}

/*
 * The kernel refuses to stop a thread on its way out with the same EPERM as one
 * that it does not let us have: but then its memory is gone.
 */
static bool is_ending(struct forkflame *ff, const struct thread *t)
{
	char byte;

	ff->remote->pid = t->tid;
	return mem_read(&ff->mem, t->seat.tstate, &byte, 1) == OUT_GONE;
}

/*
 * It is on its way out, and will never run Python again: it gives up its memory early
 * (exit_mm, in do_exit of kernel/exit.c), and that cannot be read any more (ESRCH). Where
 * there was much of it, or with thousands of threads, what follows takes long, and is
 * nothing of the stack that was seen last.
 */
bool session_sample_ending(struct forkflame *ff, struct thread *t)
{
	const struct process *p = t->process;
	uint64_t time_ns = p->head_ns ? p->head_ns : clock_now();
	struct reading reading = { .seen = { .stack = STACKS_EMPTY,
					     .run = RUN_ON_CPU },
				   .now_ns = time_ns,
				   .since_ns = time_ns,
				   .proven = true };
	const struct oncpu_thread *rec = NULL;

	if (t->tid != p->pid || t->dead || t->ending || !weigh_has(&t->weigh))
		return false;
	t->ending = true;
	/* When it woke for the last time, which may be in no record taken in so far. */
	session_drain(ff);
	if (ff->oncpu)
		rec = oncpu_find(ff->oncpu, t->tid);
	reading.seen.run = session_run_of(t, rec);
	session_accept(ff, t, &reading);
	return true;
}

/* Ask one to stop. */
static void ask(struct forkflame *ff, struct thread *t, struct stop *stop)
{
	int r = stopper_begin(ff->stopper, t->tid, stop);

	if (r == OUT_BUSY) /* asked in an earlier tick, and not stopped yet */
		sample_frozen(ff, t);
	else if (r == OUT_DENIED && is_ending(ff, t))
		session_refuse(ff, t, OUT_GONE);
	else if (r != 0)
		session_refuse(ff, t, r);
}

/* The third way, for up to STOPS_MAX threads at once. */
void session_stop_some(struct forkflame *ff, struct thread **threads, size_t n)
{
	struct stop stops[STOPS_MAX];

	stopper_until(ff->stopper, clock_now() + STOP_DEADLINE_NS);
	for (size_t i = 0; i < n; i++)
		ask(ff, threads[i], &stops[i]);
	stopper_wait(ff->stopper, stops, n);
	for (size_t i = 0; i < n; i++) {
		if (stops[i].state == STOP_STOPPED)
			sample_stopped(ff, threads[i], &stops[i]);
		else if (stops[i].state == STOP_STUCK)
			sample_frozen(ff, threads[i]);
		else if (stops[i].asked_ns)
			session_refuse(ff, threads[i], OUT_GONE);
	}
	stopper_until(ff->stopper, 0);
}
