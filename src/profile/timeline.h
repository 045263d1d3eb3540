/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_TIMELINE_H
#define PROFILE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile/filter.h"
#include "profile/history.h"
#include "profile/out.h"
#include "profile/packed.h"
#include "profile/query.h"

/*
 * What the views of the course of time have in common: the slices that a query
 * wants with the stacks that it wants, thread by thread; names for processes
 * and threads; and text on its way out.
 */

/* --- text on its way out, handed on in pieces: its memory does not grow */

struct sink {
	struct str text;
	struct json json; /* writes into text: a sink stays where it is */
	out_write write;
	void *ctx;
};

void sink_open(struct sink *sink, out_write write, void *ctx);
void sink_free(struct sink *sink);

/* Hand on what there is, if it is worth it. Returns 0, -ENOMEM, or as write. */
int sink_pass(struct sink *sink);

/* Hand on all that there is. Returns as sink_pass. */
int sink_end(struct sink *sink);

/*
 * Write @value / 10^@digits, exactly: 1500 with 3 digits is 1.5. @to has room
 * for DECIMAL_MAX bytes, all of which may be written to; returns how many count.
 */
#define DECIMAL_MAX 41 /* two of UINT64_MAX, and a point */
size_t decimal_put(char *to, uint64_t value, unsigned digits);

/* That, in JSON. */
void sink_decimal(struct sink *sink, uint64_t value, unsigned digits);

/* A number in JSON, as json_u64 writes it, but fast. */
void sink_u64(struct sink *sink, uint64_t value);

/* A number with its sign; likewise. */
void sink_i64(struct sink *sink, int64_t value);

/* @key is written as it is: `,"ts":`. The next value belongs to it. */
void sink_field(struct sink *sink, const char *key);

/* A string of a string table. */
void sink_id(struct sink *sink, const struct strtab *strings, uint32_t id);

/* --- texts that are written again and again, under numbers */

struct text {
	uint32_t at, len; /* of no length: not known */
};

struct texts {
	struct str bytes;
	struct VEC(struct text) of;
};

/* No more than that is kept, of texts and of numbers: the rest is made anew. */
#define TEXTS_BYTES ((size_t)32 << 20)
#define TEXTS_COUNT (1u << 20)

/* Add text @n to @to, if it is known; false if it is not. */
bool texts_add(const struct texts *texts, uint32_t n, struct str *to);

/*
 * What stands in @from from @at on is text @n. Where there is no room for it,
 * nothing is kept. Returns 0 or -ENOMEM.
 */
int texts_keep(struct texts *texts, uint32_t n, const struct str *from,
	       size_t at);
void texts_free(struct texts *texts);

/* --- the slices */

struct timeline {
	const struct history *history;
	struct selection selection;
	struct filter *filter;
	size_t batch; /* chunks of slices that are held in memory at a time */
	struct VEC(uint32_t) frames; /* of timeline_stack */
};

/* Chunks of slices for views that hold little else: 96 MiB of them. */
#define TIMELINE_BATCH (96 * 1024 * 1024 / PACKED_CHUNK)

/* @h and @query are borrowed for life. Returns 0 or -ENOMEM. */
int timeline_open(struct timeline *ret, const struct history *h,
		  const struct query *query);
void timeline_close(struct timeline *tl); /* a zeroed one is fine */

/* All slices that are wanted, as history_slices hands them out; but the numbers
 * of stacks are those of the filter. */
int timeline_slices(struct timeline *tl, slice_fn fn, void *ctx);

/*
 * The slices of one thread, one after the other, as often as one likes:
 *	for (course_rewind(c); course_next(c);)
 */
struct course {
	struct packed_reader reader;
	uint64_t slices;    /* how many */
	struct slice slice; /* the one that is looked at */
	uint64_t until_ns;  /* the moment at which it ends: see struct slice */
	struct slice next;  /* the one after it */
	bool has_next;
};

/* Those of a lane. */
void course_open(struct course *ret, const struct packed *packed, size_t lane,
		 uint32_t thread);

/* To before the first one. */
void course_rewind(struct course *course);

/* Look at the next one; false after the last. */
bool course_next(struct course *course);

/* There is at least one slice. */
typedef int (*timeline_fn)(void *ctx, uint32_t thread, struct course *course);

/*
 * Hand out each thread that has slices, those of a process together, in the
 * order of the numbers of processes and threads. Slices are held packed, in as
 * many chunks as tl->batch, or those of one thread where it has more; what has no
 * room is read once more.
 */
int timeline_threads(struct timeline *tl, timeline_fn fn, void *ctx);

/* Is a moment in the time that is asked for? */
bool timeline_shows(const struct timeline *tl, uint64_t at_ns);

/* What a slice weighs in @value: nanoseconds, or samples. */
uint64_t timeline_amount(const struct slice *slice, enum out_value value);

/*
 * The frames of a stack of the filter, root first, into tl->frames: numbers of
 * frames, valid until the next call. Returns 0 or -ENOMEM.
 */
int timeline_stack(struct timeline *tl, uint32_t stack);

/* A frame of the filter by its number. */
struct frame timeline_frame(const struct timeline *tl, uint32_t frame);

/* What stands where a thread ran no frame that is shown. */
#define TIMELINE_NO_FRAMES "(no frames)"

/* --- names */

/*
 * `PID COMMAND` of an image (HISTORY_NONE: the last of the process). A pid that
 * was another process's before is followed by ` (N)`, counted from 2; with
 * recordings of several hosts the host comes first.
 */
void timeline_process_name(const struct history *h, uint32_t process,
			   uint32_t image, struct str *to);

/* `TID NAME`, or `TID` where no name is known. */
void timeline_thread_name(const struct history *h, uint32_t thread,
			  struct str *to);

/* Texts for the values of base/sample.h; NULL where nothing is known. */
const char *timeline_run_text(uint8_t run);
const char *timeline_gil_text(uint8_t gil);
const char *timeline_wait_text(uint8_t wait);

/* The last image of a process; HISTORY_NONE without any. */
uint32_t timeline_last_image(const struct history *h, uint32_t process);

/* How a process ended: `exit N`, `signal N`; NULL where that is not known. */
const char *timeline_status_text(const struct past_process *process,
				 char text[32]);

/*
 * Numbers of the kernel are used again. The first process that has a number as
 * its pid or the tid of a thread has it as it is (0), the next is told apart
 * from it (1), and so on. Processes are asked for before threads.
 */
struct numbers {
	struct map users; /* number: how many had it */
	struct map given; /* number and process: which of them it is */
};

/* The turn of @process to have @number; UINT32_MAX without memory. */
uint32_t numbers_turn(struct numbers *numbers, int32_t number,
		      uint32_t process);
void numbers_free(struct numbers *numbers);

#endif
