/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SAMPLE_H
#define BASE_SAMPLE_H

#include <stdint.h>

/* What a thread was doing while a stack stood. */
enum run_state {
	RUN_IDLE,    /* off every CPU, of its own will */
	RUN_ON_CPU,  /* on a CPU, or ready for one */
	RUN_STOPPED, /* stopped by somebody else */
	RUN_COUNT,
};

/* What it had to do with the interpreter's lock. */
enum gil_state {
	GIL_UNKNOWN, /* could not be told, or there is no such lock */
	GIL_NONE,    /* neither held nor wanted */
	GIL_HELD,    /* it held the lock */
	GIL_WAITED,  /* it waited for the lock */
	GIL_COUNT,
};

/* What an idle thread waited for, by the system call that it slept in. */
enum wait_kind {
	WAIT_UNKNOWN,
	WAIT_GIL,
	WAIT_LOCK,    /* futex: a lock, a condition, another thread */
	WAIT_PIPE,    /* a read or write of a pipe or FIFO */
	WAIT_SOCKET,  /* a socket */
	WAIT_FILE,    /* any other file */
	WAIT_POLL,    /* several at once: poll, select, epoll_wait */
	WAIT_TIME,    /* nanosleep and its like */
	WAIT_PROCESS, /* a child: wait4, waitid */
	WAIT_SIGNAL,  /* sigwait, pause */
	WAIT_OTHER,   /* another system call */
	WAIT_COUNT,
};

/* A stack under its number, and the state in which it was seen. */
struct seen {
	uint32_t stack;
	uint8_t run;  /* enum run_state */
	uint8_t gil;  /* enum gil_state */
	uint8_t wait; /* enum wait_kind */
};

/* A weight: a stretch of time, in three currencies. */
struct weight {
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t samples;
};

/*
 * A stretch of one thread's life. The slices of a thread follow one another;
 * their weights add up to its life. A slice lasts from start_ns until the next
 * one of its thread begins, or for wall_ns, whichever is shorter: time that no
 * sample has hit is given to a later slice as weight, without a place of its own.
 */
struct slice {
	uint32_t thread;   /* serial of the thread */
	uint64_t start_ns; /* since the start of the recording */
	struct seen seen;
	struct weight weight;
};

#endif
