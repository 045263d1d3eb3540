/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_CHROME_CALLS_H
#define PROFILE_OUT_CHROME_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "profile/timeline.h"

/* The calls of a thread, as complete events of Chrome's trace. */

/* A call that lasts, or waits to be written. */
struct chrome_call {
	uint64_t from_ns;
	uint64_t until_ns; /* of one that waits */
	struct weight self;
	uint32_t frame; /* + 1; 0: no frames */
	size_t held;    /* calls that wait for this one to be written */
	bool several;   /* lines */
};

/* Lengths of what is the same in all calls of a frame; see out_chrome_calls.c. */
struct chrome_piece {
	uint32_t at;
	uint32_t len; /* 0: not made yet */
	uint32_t line;
	bool bare; /* of a file */
};

/* A time in microseconds, as text. */
struct chrome_time {
	uint64_t ns;
	size_t len; /* 0: none yet */
	char text[48];
};

/* A stack, and the frame that it ends with, at its depth. */
struct chrome_node {
	uint32_t stack, frame;
};

#define CHROME_TIMES 64 /* a power of two */

struct chrome_calls {
	const struct timeline *tl;
	struct sink *sink;
	struct str begin; /* how each event of the thread begins */
	struct str head;  /* of an event of these times; empty: none yet */
	uint64_t from_ns, until_ns;
	struct str texts; /* of the pieces */
	struct VEC(struct chrome_piece) pieces;
	struct VEC(struct chrome_call) open;  /* by depth */
	struct VEC(struct chrome_call) held;  /* innermost first */
	struct VEC(struct chrome_node) nodes; /* of the newest stack, by depth */
	struct chrome_time from;              /* of the newest head */
	struct chrome_time times[CHROME_TIMES];
};

/*
 * Write the calls of one thread. Each event begins with
 * @begin, an open JSON object that has members. A zeroed one with tl and sink set
 * is ready. Returns 0, -ENOMEM, or what the sink returned.
 */
int chrome_calls(struct chrome_calls *calls, const struct str *begin,
		 struct course *course);
void chrome_calls_free(struct chrome_calls *calls);

#endif
