/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_SAMPLE_H
#define SESSION_SAMPLE_H

#include "session_internal.h"

/* session_sample.c: the ways to a sample. */

/* What a stack that was read says of the thread. */
struct reading {
	struct seen seen;
	uint64_t since_ns; /* the stack is known to stand since then */
	uint64_t now_ns;   /* when it was read */
	uint64_t cpu_ns;   /* by_kernel: its account then */
	bool proven;       /* read while the thread did not run */
	bool stopped;      /* by us */
	bool by_kernel;    /* while it ran */
};

/* A sample. Book what it ends, and remember what the stack rests on. */
void session_accept(struct forkflame *ff, struct thread *t,
		    const struct reading *reading);

/* An attempt came to @r, which is no stack. */
void session_refuse(struct forkflame *ff, struct thread *t, int r);

/* Take in the switch records that are there. */
void session_drain(struct forkflame *ff);

/* Records are missing: who runs and who has run is not known any more. */
void session_lose_sight(struct forkflame *ff);

/*
 * Send a thread on the way that fits it: it is sampled, or put into ff->batch,
 * ff->fresh or ff->to_stop, or refused under a count.
 */
void session_sample_thread(struct forkflame *ff, struct thread *t);

/*
 * What was read of the threads in ff->batch counts if they did not run meanwhile.
 * Those that did go back to ff->list, or with @last where they may go.
 */
void session_settle_batch(struct forkflame *ff, bool last);

/*
 * Those in ff->to_stop that have left their CPU since they were chosen are read
 * without a stop: it would fail the system call that they sleep in by now.
 */
void session_spare_sleepers(struct forkflame *ff);

/*
 * Read and decode, and look around. @ret has the state of the thread already.
 * Returns 0, or an outcome.
 */
int session_read_stack(struct forkflame *ff, struct thread *t,
		       struct seen *ret);

/*
 * Whether the switch records can vouch for @t. Sets *@ret to its record where there
 * are records at all; NULL, and vouched for: it was born and has never run.
 */
bool session_vouched(const struct forkflame *ff, const struct thread *t,
		     const struct oncpu_thread **ret);

/*
 * Off its CPU by its newest record: of its own will, or ready to run? The latter
 * was pushed off, or left it because we stopped it, and has been let go since.
 */
bool session_is_ready(const struct thread *t, const struct oncpu_thread *rec);

/* What it did when it was read, by its newest record; NULL: there is none. */
static inline enum run_state session_run_of(const struct thread *t,
					    const struct oncpu_thread *rec)
{
	return rec && !rec->on && !session_is_ready(t, rec) ? RUN_IDLE
							    : RUN_ON_CPU;
}

/* Has it left a CPU of its own will since it was last seen, not because we stopped it? */
bool session_has_slept(const struct thread *t, const struct oncpu_thread *rec);

/* session_running.c: threads on a CPU. */

/*
 * A thread on a CPU whose stack was empty: whether it still is takes one read of
 * one pointer, and no stop. Returns whether that was its sample.
 */
bool session_still_empty(struct forkflame *ff, struct thread *t);

/*
 * One that has not the interpreter's lock, read as it runs. Returns whether that was
 * its sample; else it is to be stopped.
 */
bool session_sample_outside(struct forkflame *ff, struct thread *t);

/* It runs, and may not be stopped: it is sampled, or refused under a count. */
void session_sample_running(struct forkflame *ff, struct thread *t);

/*
 * A leader whose memory is gone: from then on its time is no stack's. Returns whether that
 * was its sample: the first time that this is seen of one that has a sample.
 */
bool session_sample_ending(struct forkflame *ff, struct thread *t);

/* Stop, read and let go up to STOPS_MAX threads. */
void session_stop_some(struct forkflame *ff, struct thread **threads, size_t n);

#endif
