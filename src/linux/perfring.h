/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PERFRING_H
#define LINUX_PERFRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * One perf event and the ring in which the kernel leaves its records: context
 * switches, or births and ends, and the names of new images; read without a
 * system call.
 */
struct perfring {
	int fd;
	int cpu;
	void *map;        /* a control page, then the ring */
	const char *data; /* the ring */
	size_t size;      /* of the ring, a power of two */
	bool refused_map; /* perfring_open failed for its size */
};

#define PERFRING_NONE ((struct perfring){ .fd = -1 })

enum perf_kind {
	PERF_SWITCH_IN = 1,
	PERF_SWITCH_OUT,  /* it went to sleep */
	PERF_SWITCH_AWAY, /* it was pushed off its CPU and could go on */
	PERF_EXEC,        /* it has a new image, called `comm` */
	PERF_LOST,        /* records were dropped before this one */
	PERF_FORK, /* a process or a thread was born; it has not run yet */
	PERF_EXIT, /* a thread ends */
	PERF_NAME, /* it calls itself otherwise: `comm` */
};

struct perf_record {
	enum perf_kind kind;
	pid_t pid, tid;           /* FORK: of the new one */
	pid_t parent, parent_tid; /* FORK: who forked it */
	uint64_t time_ns;         /* CLOCK_MONOTONIC */
	uint64_t lost;            /* LOST: how many */
	uint32_t cpu;
	char comm[16]; /* EXEC: the first 15 bytes of the file's name; NAME */
};

/* What is wanted in a ring, besides names. */
enum perfring_what {
	PERFRING_SWITCHES, /* readable when half full */
	PERFRING_TASKS,    /* births and ends; readable at each record */
};

/*
 * Open the records of CPU @cpu: of everybody for @pid -1 (needs
 * perf_event_paranoid <= 0, root or CAP_PERFMON), of nobody but the calling thread
 * for 0, else of @pid (a thread, too) and all that it will fork (no privilege for
 * one's own at paranoid <= 2).
 *
 * @size  of the ring, a power of two, at least a page; 0: 256 KiB
 *
 * Returns 0, or a negative errno with @err told.
 */
int perfring_open(struct perfring *ret, enum perfring_what what, pid_t pid,
		  int cpu, size_t size, struct error *err);
/*
 * Have the same records of @tid, and of all that it will fork, in @ring too. Returns
 * an fd, which the caller keeps open for as long; or a negative errno.
 */
int perfring_also(const struct perfring *ring, enum perfring_what what,
		  pid_t tid);
void perfring_close(struct perfring *ring);

/*
 * Take the next record that is one of perf_kind. Returns 1 with *@ret set, 0 when
 * the ring is empty. Pure but for the ring itself.
 */
int perfring_next(struct perfring *ring, struct perf_record *ret);

/* How many bytes of the ring wait to be read. */
size_t perfring_used(const struct perfring *ring);

/*
 * Decode one record of @len bytes as the kernel lays it out for events opened
 * here. Returns 1, or 0 for a record of another kind or a malformed one.
 */
int perfring_decode(const void *record, size_t len, struct perf_record *ret);

#endif
