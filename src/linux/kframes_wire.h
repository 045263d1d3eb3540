/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_KFRAMES_WIRE_H
#define LINUX_KFRAMES_WIRE_H

#include <stdint.h>

#include "base/codecheck.h"

/*
 * What goes between us and our program in the kernel: layouts there, samples back.
 * Compiled by both.
 */

/* A deeper stack is not read. A power of two. */
#define KFRAMES_MAX 1024u

/* What is read of one frame, and of a thread state, at most. */
#define KFRAMES_FRAME_BYTES 256u

#define KFRAMES_NONE UINT16_MAX

/*
 * A process's interpreter. A forked process has that of its parent, but that its code
 * objects are told by all that they are (code.version 0): so that what is known of
 * others is known of it, though it may have ended. Offsets in bytes, KFRAMES_NONE: it has no such field. */
struct kframes_layout {
	struct codeplan code;
	int32_t tls;         /* from the thread pointer to its thread state */
	uint32_t generation; /* told with each sample */
	uint16_t thread_frame; /* in the thread state: the newest frame, or cframe */
	uint16_t thread_base;    /* the frame below every stack */
	uint16_t cframe_current; /* the one below it is told behind that */
	/* With cframes, in the thread state: from where to where the data stack is not in
	 * use, two words. */
	uint16_t thread_unused;
	uint16_t frame_previous, frame_code, frame_instr;
	uint16_t frame_owner, frame_is_entry;
	uint16_t frame_size;
	uint16_t lasti; /* not 0: frame_instr is an int, and no pointer */
	uint8_t owner_skip, owner_limit;
	uint64_t tag_mask;
	/* Address of the thread state with the lock, 0: none; and, with gil_pair, behind it
	 * an int that is 1 if it is taken. */
	uint64_t gil_holder;
	uint64_t gil_pair;
	/* Whose tasks are read, as ptrace has it; not 0 in all_users: anybody's. */
	uint32_t uid, gid;
	uint64_t all_users;
};

enum kframes_status {
	KFRAMES_WHOLE,
	KFRAMES_NO_STATE, /* the thread runs no Python that we could find */
	KFRAMES_DEEP,     /* more than KFRAMES_MAX frames */
	KFRAMES_UNREAD,   /* a page was not there */
	KFRAMES_TORN,     /* what was there is no stack */
	KFRAMES_DENIED,   /* another user's by now */
	KFRAMES_STATUSES
};

/* What the thread had to do with the interpreter's lock. */
enum kframes_gil {
	KFRAMES_GIL_UNKNOWN,
	KFRAMES_GIL_NONE,
	KFRAMES_GIL_HELD,
};

struct kframes_frame {
	uint64_t code;  /* without tag bits */
	uint64_t instr; /* as it stands in the frame; an int is sign-extended */
	uint64_t check; /* base/codecheck.h */
};

/* A sample: this, and @n frames behind it, innermost first. */
struct kframes_head {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;  /* the thread's account, up to a tick behind */
	uint64_t tstate;
	uint32_t pid, tid;
	uint32_t generation;
	uint16_t status;
	uint16_t n;
	uint32_t gil; /* enum kframes_gil */
	uint32_t cpu;
};

/* Counters that the program keeps. */
enum kframes_counter {
	KFRAMES_SAMPLES, /* handed on */
	KFRAMES_LOST,    /* the ring was full */
	KFRAMES_FORKS,   /* layouts that were copied to a child ... */
	KFRAMES_NO_ROOM, /* ... or not, for want of room */
	KFRAMES_DROPS,   /* layouts dropped at an exec or an end */
	KFRAMES_NS,      /* time spent on samples that were handed on */
	KFRAMES_COUNTERS
};

#endif
