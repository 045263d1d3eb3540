/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PROCFS_READ_H
#define LINUX_PROCFS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "linux/procfs.h"

/* Room for "PID/task/TID/children" and the like. */
#define PROCFS_PATH 96

/*
 * What a failed call on @path means: OUT_GONE, OUT_DENIED, or -@number with
 * @err told.
 */
int procfs_failed(int number, const char *path, struct error *err);

/*
 * Not to be looked up: the kernel has no such task. To be asked right before the
 * look, and before each one; see task_known.
 */
bool procfs_gone(const struct procfs *fs, pid_t tid);

/*
 * Read a file of /proc to its end or to @room bytes, whichever is first. A read
 * gives what it gives: a file is not cut there. Returns as procfs.h says.
 */
int procfs_read(const struct procfs *fs, const char *path, char *buf,
		size_t room, size_t *ret_len, struct error *err);

/*
 * The same for one that the kernel writes in one piece (fs/seq_file.c, single_open)
 * and that fits in @room: one read, and none to see its end.
 */
int procfs_read_once(const struct procfs *fs, const char *path, char *buf,
		     size_t room, size_t *ret_len, struct error *err);

/* The same for one of any length: @to is cleared, then gets all of it. -EFBIG
 * beyond @max bytes. */
int procfs_read_all(const struct procfs *fs, const char *path, struct str *to,
		    size_t max, struct error *err);

/* A text that is read from its front. */
struct scan {
	const char *at;
	const char *end;
};

void scan_blanks(struct scan *s);
/* The next character, if it is @c. */
bool scan_char(struct scan *s, char c);
/* Digits of @base (10, 16) that fit into 64 bits; at least one. */
bool scan_number(struct scan *s, unsigned base, uint64_t *ret);
/* Decimal digits that make a pid: 1 to INT_MAX; with @zero, 0 as well. */
bool scan_pid(struct scan *s, bool zero, pid_t *ret);

#endif
