/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PERFRING_H
#define LINUX_PERFRING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * One perf event and the ring in which the kernel leaves its records: context
 * switches and the names of new images, read without a system call.
 */
struct perfring {
	int fd;
	void *map;   /* a control page, then the ring */
	size_t size; /* of the ring, a power of two */
};

#define PERFRING_NONE ((struct perfring){ .fd = -1 })

enum perf_kind {
	PERF_SWITCH_IN = 1,
	PERF_SWITCH_OUT,  /* it went to sleep */
	PERF_SWITCH_AWAY, /* it was pushed off its CPU and could go on */
	PERF_EXEC,        /* it has a new image, called `comm` */
	PERF_LOST,        /* records were dropped before this one */
};

struct perf_record {
	enum perf_kind kind;
	pid_t pid, tid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	char comm[16]; /* PERF_EXEC: the first 15 bytes of the file's name */
};

/*
 * Open the switch records of CPU @cpu: of everybody for @pid -1 (needs
 * perf_event_paranoid <= 0, root or CAP_PERFMON), else of @pid and all that it
 * will fork (no privilege for one's own at paranoid <= 2).
 *
 * Returns 0, or a negative errno with @err told.
 */
int perfring_open(struct perfring *ret, pid_t pid, int cpu, struct error *err);
void perfring_close(struct perfring *ring);

/*
 * Take the next record that is one of perf_kind. Returns 1 with *@ret set, 0 when
 * the ring is empty. Pure but for the ring itself.
 */
int perfring_next(struct perfring *ring, struct perf_record *ret);

/*
 * Decode one record of @len bytes as the kernel lays it out for events opened
 * here. Returns 1, or 0 for a record of another kind or a malformed one.
 */
int perfring_decode(const void *record, size_t len, struct perf_record *ret);

#endif
