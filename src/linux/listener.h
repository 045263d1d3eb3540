/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_LISTENER_H
#define LINUX_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/event.h"
#include "linux/cnproc.h"

/*
 * The thread that hears. It reads the connector and hands on through a ring
 * what concerns processes; it never blocks on anything but its socket, and
 * is as urgent as it may be (linux/urgency.h). All signals are blocked in it.
 */
struct listener;

/* Takes over @cn, also on failure. Returns 0 or a negative errno. */
int listener_start(struct listener **ret, struct cnproc *cn, struct error *err);

/* Readable (an eventfd) when events wait. listener_next clears it. */
int listener_fd(const struct listener *l);

/* The next event; false when there is none now. */
bool listener_next(struct listener *l, struct event *ret);

/*
 * Wait until all that the kernel had queued before this call has been handed
 * on: afterwards listener_next gives every process that has run before it.
 * Returns 0, or -ETIMEDOUT after @timeout_ns.
 */
int listener_drain(struct listener *l, uint64_t timeout_ns);

/*
 * Why the thread no longer hears: 0 while it does, or a negative errno when the
 * socket has died. An EVENT_LOST was given then, and nothing comes any more.
 */
int listener_failure(const struct listener *l);

/* CPU time that the thread has used; events read; dropped by the kernel. */
uint64_t listener_cpu_ns(const struct listener *l);
uint64_t listener_received(const struct listener *l);
uint64_t listener_dropped(const struct listener *l);

/* Ends the thread, closes the connector. NULL is fine. */
void listener_stop(struct listener *l);

#endif
