/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_WAITS_H
#define LINUX_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sample.h"

/* What a thread that sleeps waits for. */
struct waiting {
	enum wait_kind kind;
	uint64_t futex; /* WAIT_LOCK: the address that it waits at; else 0 */
};

/*
 * Ask /proc/PID/task/TID/syscall, and for a read or write, which file it is.
 *
 * @root        the fd of /proc
 * @syscall_fd  sched_open's of "syscall"
 *
 * Returns 0 with *@ret (WAIT_UNKNOWN when it is in no system call: pushed off its
 * CPU or stopped); OUT_BUSY when it runs; OUT_GONE; OUT_DENIED; or -errno.
 */
int waits_look(int root, pid_t pid, int syscall_fd, struct waiting *ret);

/*
 * The text of the syscall file: the number of the call and its first argument.
 * Pure. Returns 0; OUT_BUSY for "running"; OUT_UNKNOWN for what is neither, and
 * for -1, in no system call.
 */
int waits_parse(const char *text, size_t len, int64_t *ret_nr,
		uint64_t *ret_arg);

/*
 * What the system call @nr of this machine, with this first argument, waits for.
 * WAIT_FILE for those that depend on the file that the argument is. Pure.
 */
enum wait_kind waits_kind(int64_t nr, uint64_t arg);

/* Is it stopped by a signal or a tracer (T or t in its stat file)? */
bool waits_stopped(int root, pid_t pid, pid_t tid);

#endif
