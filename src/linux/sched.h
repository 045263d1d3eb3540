/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_SCHED_H
#define LINUX_SCHED_H

#include <stdint.h>
#include <sys/types.h>

/*
 * What the scheduler says of a thread, from files of /proc that stay open: one
 * pread a question.
 */
struct sched_account {
	uint64_t cpu_ns; /* CPU time charged; up to a tick (4 ms) behind while it runs */
	uint64_t wait_ns; /* that it could run and had none; without the present wait */
	uint64_t runs; /* how often it was given a CPU */
};

/*
 * Open @name ("schedstat", "syscall") of a thread. @root is the fd of /proc.
 *
 * Returns 0 with *@ret the fd; OUT_GONE; OUT_DENIED; a negative errno (EMFILE).
 */
int sched_open(int root, pid_t pid, pid_t tid, const char *name, int *ret);

/*
 * Read the account. The run count is bumped each time the thread is switched
 * in, so: the same count at two moments, and the thread off its CPU at the
 * first, means that it did not run in between.
 *
 * Returns 0; OUT_GONE once the thread was reaped; OUT_UNKNOWN where the kernel
 * keeps no counts (no CONFIG_SCHED_INFO: the file holds zeroes); or -errno.
 */
int sched_read(int fd, struct sched_account *ret);

/*
 * Is the thread off its CPU in this very moment? Reading /proc/TID/syscall makes
 * the kernel wait for that (wait_task_inactive, twice), which no state letter of
 * `stat` proves: the state is set before the thread leaves its CPU.
 *
 * Returns 0 when it is off and asleep; OUT_BUSY when it runs or could run;
 * OUT_GONE; OUT_DENIED; or -errno.
 */
int sched_asleep(int fd);

#endif
