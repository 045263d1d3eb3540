/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_TRIAL_H
#define LINUX_TRIAL_H

#include "base/error.h"
#include "linux/procfs.h"

/*
 * What the kernel lets us do, found out by doing it: settings and capabilities
 * do not tell what a sandbox forbids.
 */

/* What became of each: 0 it works; a negative errno; an outcome. */
struct trials {
	struct error events;  /* the connector; code 0: it works */
	struct error kframes; /* frames from the kernel; likewise */
	int switches_all;     /* switch records of the machine */
	int switches_own; /* of a child of ours; not tried when the other works */
	int runcounts;    /* our own; OUT_UNKNOWN where none are kept */
	int stop;         /* a child of ours, by ptrace */
	int read;         /* its memory, by process_vm_readv */
	int policy, nice; /* of a thread of ours, made as urgent as may be */
};

/*
 * Try all. Takes some 50 ms, most of it for frames from the kernel; where the connector stays silent, up to 0.7 s.
 * The child that it makes has no exit signal, and has ended on the return. The
 * calling thread's signal mask and priority are as before then; STOPPER_SIGNAL
 * has its handler (linux/tracee.h). Not with waits for any child in other threads.
 */
void trial_all(const struct procfs *fs, struct trials *ret);

#endif
