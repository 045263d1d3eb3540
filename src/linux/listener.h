/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_LISTENER_H
#define LINUX_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/event.h"
#include "linux/evsource.h"

/*
 * The thread that hears. It reads a source of events and hands on through a
 * ring what concerns those that are followed; it waits for nothing but its
 * source, and is as urgent as it may be (linux/urgency.h). All signals are
 * blocked in it.
 */
struct listener;

/* Takes over @source, also on failure. Returns 0 or a negative errno. */
int listener_start(struct listener **ret, const struct evsource *source,
		   struct error *err);

/* Wait for what the source's opening has left behind (linux/evsource.h). */
void listener_settle(struct listener *l);

/*
 * Whose events are handed on: as in linux/following.h. At first nobody's. A call
 * holds for all events that are read after its return.
 */
void listener_follow(struct listener *l, pid_t pid);
void listener_unfollow(struct listener *l, pid_t pid, uint64_t until_ns);
void listener_open(struct listener *l);
void listener_close(struct listener *l);

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
 * source has died. An EVENT_LOST was given then, and nothing comes any more.
 */
int listener_failure(const struct listener *l);

/*
 * CPU time that the thread has used; messages read, dropped by the kernel; events
 * of strangers, which were not handed on; how often it made its fd readable.
 */
uint64_t listener_cpu_ns(const struct listener *l);
uint64_t listener_received(const struct listener *l);
uint64_t listener_dropped(const struct listener *l);
uint64_t listener_strangers(struct listener *l);
uint64_t listener_wakes(const struct listener *l);

/* Ends the thread, closes the source. NULL is fine. */
void listener_stop(struct listener *l);

#endif
