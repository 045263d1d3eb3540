/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_TIDS_H
#define SESSION_TIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session_internal.h"

/* session_tids.c: the tasks of a process. */

/* What is known of the tasks of a process during one walk of its list. */
struct tasks {
	struct map outer; /* by the number in the process's own pid namespace */
	struct VEC(pid_t) inner;
	bool read;
	bool searched; /* for where the C library keeps a tid */
};
void tasks_free(struct tasks *tasks);

/*
 * The kernel's number (ours) of the task whose thread state is number @i of the @n
 * that are listed. 0: no task of @p that lives. That is what a forked child's list has
 * of its parent's threads until it has put it in order; in 2.7 for ever.
 */
pid_t session_tid_of(struct forkflame *ff, struct process *p,
		     const struct pythread *threads, size_t n, size_t i,
		     struct tasks *tasks);

/* The memory of @p is read through a task of it that lives. */
void session_read_from(struct forkflame *ff, const struct process *p);

/*
 * Its memory was not there. Returns true when it is through another task, as from
 * now on it will be read: its leader may have ended before the others.
 */
bool session_find_reader(struct forkflame *ff, struct process *p);

/*
 * Whether a process has ended, by its stat. A zombie is one whose leader has: other
 * threads of it may go on.
 */
bool session_has_ended(const struct forkflame *ff,
		       const struct proc_stat *stat);

#endif
