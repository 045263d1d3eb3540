/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_FOLLOWING_H
#define LINUX_FOLLOWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/event.h"

/*
 * Whose events are wanted: of the processes that are followed, and of all that
 * they fork. The rest of the machine is told apart here, where an event is
 * heard, so that nobody is woken for it.
 *
 * Whom to follow is found in a snapshot, which takes its time; a process that it
 * shows may fork before it is followed. So a snapshot is taken between
 * following_open and following_close: all events are wanted then, and births
 * among strangers are kept in mind until it has turned out whose they were.
 *
 * Numbers alone are kept, no processes: it may want an event too many (who
 * takes it knows better), never one too few.
 */
struct following;

/* Follows nobody. NULL when memory is gone. */
struct following *following_new(void);
void following_free(struct following *f);

/*
 * Want the event? To be asked for each one, in the order in which they are
 * heard: a child of one that is followed is followed from its FORK on.
 */
bool following_wants(struct following *f, const struct event *event);

/* Follow @pid. */
void following_add(struct following *f, pid_t pid);

/*
 * Follow @pid no longer, unless it was forked after @until_ns: then the number
 * is that of another process.
 */
void following_drop(struct following *f, pid_t pid, uint64_t until_ns);

/*
 * Begin and end of the time in which everything is wanted. When it ends, those
 * born in it of processes that are followed by then are followed too.
 */
void following_open(struct following *f);
void following_close(struct following *f);

/* How many are followed; how many events were not wanted. */
size_t following_count(const struct following *f);
uint64_t following_strangers(const struct following *f);

#endif
