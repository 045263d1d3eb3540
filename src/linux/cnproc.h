/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_CNPROC_H
#define LINUX_CNPROC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/event.h"
#include "linux/evsource.h"

/*
 * The proc connector: a netlink socket on which the kernel tells of every fork,
 * exec and exit on the machine.
 */
struct cnproc;

/*
 * Decode one datagram. Pure: takes any bytes.
 *
 * Returns 0 with *@ret set; OUT_UNKNOWN for a well-formed message that is not
 * news of a process (an acknowledgement, a thread, a ptrace echo, a message of
 * another kind): *@ret is EVENT_NONE; OUT_TORN for what is not a message.
 */
int cnproc_decode(const void *bytes, size_t len, struct event *ret);

/*
 * Open the socket and prove that it works: namespaces, filter, buffer, LISTEN
 * acknowledged, the birth of a child of our own seen. (It is waited for by
 * cnproc_settle, when cnproc_read is told of its end, or at the latest by
 * cnproc_close.)
 *
 * @buffer  bytes to ask for; 0: 8 MiB
 * @err     says which step was refused, why, and what would help
 *
 * Returns 0; a negative errno. Takes up to about 200 ms where the kernel stays
 * silent. The caller closes with cnproc_close. No SIGCHLD handler is run for
 * the child (it is made with no exit signal). Events before the return are not
 * kept: take a snapshot of /proc afterwards.
 */
int cnproc_open(struct cnproc **ret, size_t buffer, struct error *err);

/* Wait until the child of the opening is there no more. By any thread. */
void cnproc_settle(struct cnproc *cn);

/* To poll for reading. */
int cnproc_fd(const struct cnproc *cn);

/*
 * Read up to @max events without waiting, in one system call where it can be.
 * When the kernel dropped events, an EVENT_LOST is among them: after all that
 * was queued before the drop, and only once the queue has been seen empty.
 *
 * Returns how many (fewer than @max: there are no more now), or a negative errno
 * when the socket is dead. @max is 64 at most.
 */
int cnproc_read(struct cnproc *cn, struct event *events, size_t max);

/* Counters since the opening: datagrams read, and dropped by the kernel. */
uint64_t cnproc_received(const struct cnproc *cn);
uint64_t cnproc_dropped(const struct cnproc *cn);

/* It as a source for the listener, which then closes it. */
struct evsource cnproc_source(struct cnproc *cn);

/* Says IGNORE to the kernel and closes. NULL is fine. */
void cnproc_close(struct cnproc *cn);

#endif
