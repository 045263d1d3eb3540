/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/outcome.h"
#include "python/noted.h"
#include "session_internal.h"

/*
 * What goes on around a stack: who has the interpreter's lock, and what a thread
 * that sleeps waits for. It is read next to the stack, in the same proof: a thread
 * that did not run in between neither took the lock nor gave it away, though
 * another one may have.
 */

/* Does a futex of the interpreter's lock lie at @futex? */
static bool is_gil_futex(struct forkflame *ff, struct thread *t, uint64_t futex)
{
	uint64_t start, end;
	const struct seat *seat = thread_entered(t);

	return runtime_gil_futexes(&ff->mem, seat_runtime(t, seat),
				   seat->interp, &start, &end) == 0 &&
	       futex >= start && futex < end;
}

/* In which system call does it sleep, and for what? */
static int look_at_wait(struct forkflame *ff, const struct thread *t,
			struct waiting *ret)
{
	pid_t pid = t->process->pid;
	int fd = t->syscall;
	int r = 0;

	/* Looked at seldom: an fd of its own for each thread would be too many. */
	if (fd < 0)
		r = sched_open(ff->fs.root, pid, t->tid, "syscall", &fd);
	if (r == 0)
		r = waits_look(ff->fs.root, pid, fd, ret);
	if (t->syscall < 0 && fd >= 0)
		(void)close(fd);
	return r;
}

static void look_idle(struct forkflame *ff, struct thread *t, bool contended,
		      struct seen *seen)
{
	struct waiting waiting;
	int r;

	/* Stopped within a call it is still in that. One look may take its time. */
	if (ff->dumping &&
	    waits_stopped(ff->fs.root, t->process->pid, t->tid)) {
		seen->run = RUN_STOPPED;
		return;
	}
	/* The same stack sleeps in the same call, but for the lock's waits. */
	if (!contended && t->waits.stack == seen->stack) {
		seen->wait = t->waits.kind;
		return;
	}
	r = look_at_wait(ff, t, &waiting);
	/* It is ready, and has no CPU: let go by us or woken, a moment ago. */
	if (r == OUT_BUSY)
		seen->run = RUN_ON_CPU;
	if (r != 0)
		return;
	if (waiting.kind == WAIT_LOCK && waiting.futex &&
	    is_gil_futex(ff, t, waiting.futex)) {
		seen->wait = WAIT_GIL;
		seen->gil = GIL_WAITED;
		return;
	}
	seen->wait = (uint8_t)waiting.kind;
	if (waiting.kind == WAIT_UNKNOWN &&
	    waits_stopped(ff->fs.root, t->process->pid, t->tid)) {
		seen->run = RUN_STOPPED;
		return;
	}
	t->waits =
		(struct wait_memo){ .stack = seen->stack, .kind = seen->wait };
}

void thread_look_around(struct forkflame *ff, struct thread *t,
			struct seen *seen)
{
	struct seat *seat = thread_entered(t);
	struct noted noted = { .behind = prefetch_mem(ff->prefetch),
			       .hint = &seat->hint };
	const struct mem mem = noted_mem(&noted);
	uint64_t holder = 0;

	seen->gil = GIL_UNKNOWN;
	seen->wait = WAIT_UNKNOWN;
	if (!ff->recorder && !ff->dumping)
		return;
	if (runtime_gil_holder(&mem, seat_runtime(t, seat), seat->interp,
			       &holder) == 0)
		seen->gil = holder == seat->tstate ? GIL_HELD : GIL_NONE;
	if (seen->run == RUN_IDLE)
		look_idle(ff, t, holder && holder != seat->tstate, seen);
}
