/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PERCH_H
#define LINUX_PERCH_H

#include <sys/types.h>

#include "base/error.h"

/*
 * On which CPU the calling thread works. Who wakes on the CPU of the thread that it
 * wants to look at has pushed it aside by waking: that thread stands, and no
 * interrupt has to be sent to another CPU, which is the dearest part of a stop.
 */
struct perch;

/* For the calling thread; it is bound to no CPU yet. Returns 0 or a negative errno. */
int perch_new(struct perch **ret, struct error *err);
void perch_free(struct perch *perch);

/* The CPU on which the caller is. */
int perch_cpu(void);

/*
 * Go to @cpu, and stay there. Returns 0; -EPERM for one that the thread was not
 * allowed to use when the perch was made; else a negative errno.
 */
int perch_move(struct perch *perch, int cpu);

/* The same for thread @tid of ours: where the perch's maker may be, it may be. */
int perch_send(struct perch *perch, pid_t tid, int cpu);

#endif
