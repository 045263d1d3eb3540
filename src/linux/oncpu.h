/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_ONCPU_H
#define LINUX_ONCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "linux/perfring.h"

/*
 * Which threads are on a CPU, which have run since we last looked, and until
 * when each stood still: from the kernel's context-switch records.
 *
 * The record of a switch-in is in the ring before the thread executes its first
 * instruction (perf_event_task_sched_in, in finish_task_switch). Hence the proof
 * that no stop is needed: the newest record of a thread says that it left its
 * CPU; its memory is read; the rings are drained once more, and that record is
 * still the newest: the thread did not run during the read. It holds for one
 * that sleeps and for one that was pushed aside and waits for a CPU.
 *
 * Rings are per CPU and a thread moves between CPUs: records are ordered by
 * their time, one thread's never run backwards.
 */
struct oncpu;

/* What is known of one thread. Times are CLOCK_MONOTONIC, 0: never. */
struct oncpu_thread {
	pid_t pid, tid;
	uint64_t first_ns; /* of its first record */
	uint64_t last_ns;  /* of its newest record */
	uint64_t out_ns;   /* when it last left a CPU */
	uint64_t woke_ns;  /* the first switch-in after oncpu_seen; 0: none */
	uint64_t slept_ns; /* when it last left one of its own will, since then */
	uint64_t cpu_ns;   /* time on CPUs, of intervals that have ended */
	uint64_t in_ns;    /* begin of the present one */
	uint64_t image_cpu_ns; /* what of cpu_ns is older than its newest image */
	uint64_t records; /* how many: equal counts, no switch in between */
	char comm[16];    /* of its newest image; "" not told */
	uint32_t cpu;     /* where it is, or was last */
	bool on;          /* newest record: switched in */
	bool away;        /* newest record: pushed off, it could run */
	bool known;       /* no record was lost since the newest one */
	bool touched;     /* in the list of oncpu_next */
};

/*
 * Open the switch records of the machine, for @pid -1, of @pid and what it will
 * fork, or, for 0, of those that are watched; not longer than the calling thread
 * lives. Returns 0, or a negative errno with @err told.
 */
int oncpu_open(struct oncpu **ret, pid_t pid, struct error *err);

/*
 * Opened with @pid 0: watch thread @tid and all that it will fork, from now on.
 * Returns as perfwatch_add. oncpu_watches: whether it was opened so; oncpu_files: how
 * many files it has open for those.
 */
int oncpu_watch(struct oncpu *o, pid_t tid);
bool oncpu_watches(const struct oncpu *o);
size_t oncpu_files(const struct oncpu *o);
void oncpu_close(struct oncpu *o);

/* One without rings, fed by oncpu_feed: for tests. NULL when memory is gone. */
struct oncpu *oncpu_new(void);

/* The rings' fds, to poll: readable when one is half full. */
size_t oncpu_fds(const struct oncpu *o, const struct perfring **ret);

/*
 * Take in all records that are there. Returns true; false when records were
 * lost since the last call: nothing that rests on their absence holds, and
 * no thread is `known` until it has another record.
 */
bool oncpu_drain(struct oncpu *o);

/* Take in one record. */
void oncpu_feed(struct oncpu *o, const struct perf_record *record);

/* What is known of @tid, or NULL; valid until the next drain or forget. */
const struct oncpu_thread *oncpu_find(const struct oncpu *o, pid_t tid);

/* The caller has looked at @tid: woke_ns and slept_ns start anew. */
void oncpu_seen(struct oncpu *o, pid_t tid);

/*
 * The next thread that had a record since it was last given here; 0: none. Each
 * is given once however many records it had.
 */
pid_t oncpu_next(struct oncpu *o);

/*
 * The next process whose leader took another name: a title may have been written
 * over its arguments. 0: none. At most ONCPU_RENAMED_MAX wait to be asked for, and
 * more are left out.
 */
#define ONCPU_RENAMED_MAX 1024
pid_t oncpu_renamed(struct oncpu *o);

/*
 * Forget @tid: it has ended. One with records after @after_ns (another thread
 * with the same number) stays.
 */
void oncpu_forget(struct oncpu *o, pid_t tid, uint64_t after_ns);

/* Records taken in since the opening. */
uint64_t oncpu_records(const struct oncpu *o);

#endif
