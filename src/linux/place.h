/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PLACE_H
#define LINUX_PLACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* Where a process lives: whose it is, in which namespace and container. */
struct place {
	uid_t uid;       /* real */
	pid_t ns_pid;    /* its number in its own PID namespace; 0: not told */
	uint64_t pid_ns; /* inode of that namespace; 0: not told */
};

/*
 * Ask /proc/PID. What may not be read stays 0.
 *
 * @root       the fd of /proc
 * @ret_group  the path of its control group is appended (that of the unified
 *             hierarchy, else of the first one listed)
 */
void place_look(int root, pid_t pid, struct place *ret, struct str *ret_group);

/* From the text of a status file. Pure. */
void place_parse_status(const char *text, size_t len, struct place *ret);

/* From the text of a cgroup file. Pure. */
void place_parse_group(const char *text, size_t len, struct str *ret_group);

/* The inode of the PID namespace of @pid; 0 when it may not be known. */
uint64_t place_pid_ns(int root, pid_t pid);

#endif
