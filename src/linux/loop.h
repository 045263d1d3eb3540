/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_LOOP_H
#define LINUX_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Waiting for many things at once: fds that become readable, a moment in time,
 * a word from a signal handler.
 */
struct loop;

/* What woke us. */
struct wake {
	uint64_t token; /* as given to loop_watch */
};

int loop_new(struct loop **ret, struct error *err);
void loop_free(struct loop *loop);

/* Watch @fd for reading. @token comes back in a wake. Returns 0 or -errno. */
int loop_watch(struct loop *loop, int fd, uint64_t token);
void loop_unwatch(struct loop *loop, int fd);

/*
 * Sleep until an fd is ready, loop_break was called, or @until_ns
 * (CLOCK_MONOTONIC) has come; a moment that has passed does not sleep.
 *
 * Returns the number of @wakes filled in (0: the time has come, or a break).
 */
size_t loop_wait(struct loop *loop, uint64_t until_ns, struct wake *wakes,
		 size_t max);

/* End the present or the next loop_wait. May be called in a signal handler. */
void loop_break(struct loop *loop);

/* How many breaks there were since the last call of this. */
unsigned loop_breaks(struct loop *loop);

#endif
