/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nsec.h"
#include "linux/clock.h"
#include "session_internal.h"

/*
 * The charges of a process. What it uses between fork and exec is none of a worker of
 * its parent: it is held back until it is known which of the two it is.
 */

/* A process that uses more than this before an exec was more than on its way. */
#define WAITING_CPU_NS (10 * NSEC_PER_MSEC)
#define WAITING_WALL_NS NSEC_PER_SEC

static void book(struct forkflame *ff, struct process *p,
		 const struct weight *weight)
{
	ff->counts.wall_ns += weight->wall_ns;
	ff->counts.cpu_ns += weight->cpu_ns;
	p->wall_ns += weight->wall_ns;
	p->cpu_ns += weight->cpu_ns;
	p->samples += weight->samples;
}

void process_mature(struct forkflame *ff, struct process *p)
{
	p->waiting = false;
	for (size_t i = 0; i < p->held.n; i++)
		book(ff, p, &p->held.at[i].charge.weight);
	record_held(ff, p);
	vec_free(&p->held);
	vec_free(&p->held_threads);
}

/* Its place among those that are held back; SIZE_MAX without memory. */
static size_t hold_thread(struct process *p, struct thread *t)
{
	struct held_thread held = { .tid = t->tid, .born_ns = t->born_ns };

	if (t->held == SIZE_MAX && vec_push(&p->held_threads, held))
		t->held = p->held_threads.n - 1;
	return t->held;
}

void process_charge(struct forkflame *ff, struct thread *t,
		    const struct charge *charge)
{
	struct process *p = t->process;
	struct held_charge held = { .charge = *charge };
	uint64_t cpu_ns = 0;

	if (p->waiting) {
		held.thread = hold_thread(p, t);
		for (size_t i = 0; i < p->held.n; i++)
			cpu_ns += p->held.at[i].charge.weight.cpu_ns;
		if (cpu_ns > WAITING_CPU_NS ||
		    clock_now() > p->born_ns + WAITING_WALL_NS)
			process_mature(ff, p);
		else if (held.thread != SIZE_MAX && vec_push(&p->held, held))
			return;
	}
	book(ff, p, &charge->weight);
	record_slice(ff, t, charge);
}

void process_take_back(struct forkflame *ff, struct process *p)
{
	ff->counts.stopped -= p->held_stopped;
	ff->counts.unstopped -= p->held_unstopped;
	ff->counts.kernel -= p->held_kernel;
	ff->counts.repeated -= p->held_repeated;
	ff->counts.drops[DROP_BEFORE_EXEC] += p->held_stopped +
					      p->held_unstopped +
					      p->held_kernel + p->held_repeated;
	vec_free(&p->held);
	vec_free(&p->held_threads);
	p->first_sample_ns = UINT64_MAX;
	p->image_first = 1;
	p->waiting = false;
}
