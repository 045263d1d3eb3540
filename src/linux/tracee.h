/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_TRACEE_H
#define LINUX_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Short stops of single threads: PTRACE_SEIZE, PTRACE_INTERRUPT, a wait with a
 * deadline, PTRACE_DETACH. Never PTRACE_ATTACH, whose SIGSTOP outlives a tracer
 * that is killed; nothing is ever written into a target.
 *
 * The life of a stop, and who moves it on:
 *
 *	        stopper_begin            stopper_wait             stopper_end
 *	(none) ───────────────► asked ───────────────► stopped ───────────────► (none)
 *	                          │ deadline
 *	                          ▼                stopper_reap
 *	                        stuck ─────────────────────────────► (none)
 *
 * Invariants:
 *  1. A thread that reached `stopped` is let go by stopper_end of the same turn;
 *     one that reached it too late, by stopper_reap, at once and unread.
 *  2. No wait is without a deadline: a timer's signal interrupts waitpid, again
 *     and again until it is disarmed, so that none can slip in before the wait.
 *  3. A signal that came instead of our stop is handed back at the detach.
 *  4. When the calling thread ends, however it ends, the kernel lets go of all.
 *
 * ptrace wants one thread to do all of it: whoever made the stopper.
 */
struct stopper;

/* The signal of the deadline. Its disposition is set process-wide. */
#define STOPPER_SIGNAL (SIGRTMAX - 1)

enum stop_state {
	STOP_NONE,    /* nothing is held */
	STOP_ASKED,   /* seized and asked to stop */
	STOP_STOPPED, /* stopped, until stopper_end */
	STOP_STUCK,   /* did not stop in time; stopper_reap takes care of it */
};

/* One thread on its way. The caller's; plain data. */
struct stop {
	pid_t tid;
	enum stop_state state;
	int status;          /* of the wait, when stopped */
	uint64_t asked_ns;   /* CLOCK_MONOTONIC: when it was asked */
	uint64_t stopped_ns; /* when it was known to stand */
};

/*
 * For the calling thread. Returns 0 or a negative errno.
 *
 * @child  a child of this process whose end may be taken by a wait here (see
 *         stopper_wait); 0: none
 */
int stopper_new(struct stopper **ret, pid_t child, struct error *err);

/* Lets go of all that can be let go of; the rest ends with the thread. */
void stopper_free(struct stopper *s);

/*
 * Before the first of some stops: until when (CLOCK_MONOTONIC) stopper_wait is to
 * wait for them. 0 after the last of them was let go. It is done out there because
 * a thread that was asked already would stand for as long as it takes.
 */
void stopper_until(struct stopper *s, uint64_t deadline_ns);

/*
 * Seize @tid and ask it to stop. Does not wait.
 *
 * Returns 0 (state ASKED); OUT_GONE; OUT_DENIED: not permitted, or another
 * tracer has it, or it is on its way out (the kernel gives EPERM for all three);
 * OUT_BUSY: it is still stuck from an earlier time; or -errno. But for 0 nothing
 * is held.
 */
int stopper_begin(struct stopper *s, pid_t tid, struct stop *stop);

/*
 * Wait asleep until each of @stops that was asked stands, or the time that
 * stopper_until set has come. Afterwards each is STOPPED, STUCK or, where the
 * thread ended, NONE.
 *
 * A thread's end can arrive here in place of its stop. When it is a child of
 * this process, its status is then taken from the kernel for good: stopper_taken
 * gives it back.
 */
void stopper_wait(struct stopper *s, struct stop *stops, size_t n);

/*
 * Did the stop end a system call of it with EINTR, which one that is restarted does
 * not see? (Those that never are: signal(7), "Interruption of system calls".) Asked
 * of a stopped one; false where it cannot be told.
 */
bool stopper_failed_call(const struct stop *stop);

/* The same of those that were let go by stopper_reap: how many, since the last call. */
unsigned stopper_failed_late(struct stopper *s);

/* Let go of a stopped thread. It goes on as if nothing had been. */
void stopper_end(struct stopper *s, struct stop *stop);

/* Let go of stuck ones that stopped meanwhile. Cheap when there are none. */
void stopper_reap(struct stopper *s);

/* How many are stuck. */
size_t stopper_stuck(const struct stopper *s);

/* The wait status of the child, if its end was taken by a wait here. */
bool stopper_taken(const struct stopper *s, int *ret_status);

#endif
