/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_TASKEVENTS_H
#define LINUX_TASKEVENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/event.h"
#include "linux/evsource.h"
#include "linux/perfring.h"

/*
 * Births, execs and ends from perf's task records. They come where the connector
 * does not: in namespaces, with the numbers of the namespace, and to an ordinary
 * user for what he starts himself. What they do not tell is the status of an end
 * (EVENT_NO_STATUS), and anything of a program that runs with another's rights
 * (setuid), nor of its children, unless they are those of the whole machine.
 */
struct taskevents;

/*
 * Open the records of the machine, for @pid -1 (perf_event_paranoid <= 0, root or
 * CAP_PERFMON), of @pid and all that it will fork (perf_event_paranoid <= 2), or, for
 * 0, of those that are watched; not longer than the calling thread lives.
 *
 * @buffer  bytes for each CPU; 0: 1 MiB. Less where that may not be had.
 *
 * Returns 0; a negative errno with @err told. The caller closes by way of the
 * source.
 */
int taskevents_open(struct taskevents **ret, pid_t pid, size_t buffer,
		    struct error *err);
struct evsource taskevents_source(struct taskevents *t);

/*
 * Opened with @pid 0: watch thread @tid and all that it will fork, from now on.
 * Returns 0, also when it is watched already; a negative errno (-ESRCH: no such
 * thread). By one thread, while the listener reads.
 */
int taskevents_watch(struct taskevents *t, pid_t tid);

/* One without rings, fed by taskevents_feed: for tests. */
struct taskevents *taskevents_new(void);

/* Take in one record. */
void taskevents_feed(struct taskevents *t, const struct perf_record *record);

/*
 * Give up to @max of the events that were taken in and are no newer than
 * @until_ns, in the order of their times; and then a LOST, if one is owed and all
 * of those have been given. Returns how many.
 */
int taskevents_give(struct taskevents *t, uint64_t until_ns,
		    struct event *events, size_t max);

#endif
