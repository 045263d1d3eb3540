/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_SPAWN_H
#define LINUX_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Start a command in two steps, so that everything that listens can be set up
 * between its birth and its first instruction.
 *
 * The command keeps stdin, stdout, stderr, the environment, the process group,
 * the controlling terminal, and the signal mask and dispositions that the
 * caller had when it started.
 */
struct spawn {
	pid_t pid;
	int go;     /* write end: closing it lets the child exec */
	int failed; /* read end: the child's errno, or end of file */
};

#define SPAWN_NONE ((struct spawn){ .go = -1, .failed = -1 })

/*
 * Fork a child that waits.
 *
 * @argv  NULL-terminated; looked up along PATH
 * @mask  the signal mask (a sigset_t) that the command shall have
 *
 * Returns 0 or a negative errno.
 */
int spawn_prepare(struct spawn *s, char *const argv[], const void *mask,
		  struct error *err);

/*
 * Let it exec. Returns 0 once the new image is there; the negative errno of the
 * exec where it failed (the child has then been reaped).
 */
int spawn_go(struct spawn *s, char *const argv[], struct error *err);

/* End a child that still waits, close what is open. Harmless afterwards. */
void spawn_close(struct spawn *s);

/* Has the command ended? True with its wait status taken; never waits. */
bool spawn_reaped(pid_t pid, int *ret_status);

#endif
