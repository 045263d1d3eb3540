/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_URGENCY_H
#define LINUX_URGENCY_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * How soon the calling thread gets a CPU when it wakes: what it was before, to be
 * put back. A zeroed one is not raised.
 */
struct urgency {
	bool raised;
	bool first; /* before all that are not urgent */
	int policy;
	int nice;
	int slack; /* ns by which a wait may end late; < 0: not known */
};

/*
 * Once raised, raising again changes nothing and keeps what was before.
 *
 * Take SCHED_FIFO 1 for the calling thread, or, where that is refused, nice -20;
 * an ordinary user gets neither, and no error. Children do not inherit it.
 *
 * Nice -20 is not enough where sessions or cgroups share the CPUs between them
 * (sched_autogroup, on by default in many kernels): it then counts within the
 * session only, and a busy neighbour delays us for tens of milliseconds.
 */
void urgency_raise(struct urgency *before);

/* Put back what urgency_raise found, if it was raised. */
void urgency_restore(struct urgency *before);

/*
 * waitpid(2) for one that has ended, without the urgency. The kernel removes what
 * /proc had of it, and turns round and round while somebody else is about the same
 * (shrink_dcache_parent): a thread of it that ends, for instance, and that we keep
 * from its CPU by our urgency. Nothing but the limit for such threads
 * (sched_rt_runtime_us) ends that then, after 0.95 s. Seen on 6.1.
 */
pid_t urgency_reap(pid_t pid, int *ret_status, int flags);

#endif
