/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include <stdint.h>
#include <sys/types.h>

/*
 * News of the lives of processes, whichever source told it. Only processes:
 * births and ends of threads never become events.
 */
enum event_kind {
	EVENT_NONE = 0,
	EVENT_FORK, /* @pid was born of @parent; it has not run yet */
	EVENT_EXEC, /* @pid has a new image */
	EVENT_EXIT, /* the leader of @pid ended: a hint, its threads may live on */
	EVENT_LOST, /* news were lost: nothing before it can be relied on */
};

/* The source does not tell. No status of wait(2) is that large. */
#define EVENT_NO_STATUS UINT32_MAX

struct event {
	enum event_kind kind;
	pid_t pid;        /* the process (tgid), in the reader's numbers */
	pid_t parent;     /* FORK: the parent process (tgid) */
	pid_t parent_tid; /* FORK: the thread that forked; 0 unknown */
	uint32_t status;  /* EXIT: as wait(2) gives it, or EVENT_NO_STATUS */
	uint64_t time_ns; /* CLOCK_MONOTONIC, by the kernel; LOST: when noticed */
};

#endif
