/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_HISTORY_H
#define PROFILE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/recording.h"
#include "profile/stacks.h"

/*
 * One recording or several, read: who lived when, and on demand, in a second
 * reading, what they did. All numbers (strings, stacks, processes, images,
 * threads) are of the history: several recordings share names and stacks.
 * What is here is for reading by views; only history.c writes it.
 *
 * Time: of all recordings, nanoseconds since the earliest one's start, and
 * never more than HISTORY_TIME_MAX, whatever a file says: sums of two do not
 * overflow.
 *
 * Files of one run (the same host and start: one was rotated) are told of as
 * one: a process that several of them know is one process. A file speaks for
 * the time from its own start on; what a slice weighs before that was told, as
 * a STAND, by the file before it.
 */

#define HISTORY_NONE UINT32_MAX
#define HISTORY_TIME_MAX (UINT64_MAX / 4)

struct past_run {
	struct recording_reader *reader;
	struct record_run run; /* strings are of the history */
	uint64_t shift_ns;     /* its start, in the history's time */
	uint64_t end_ns;       /* the last moment that it tells of */
	enum recording_end end;
	size_t good, size; /* bytes that could be read, of all */
	char *summary;     /* JSON, NUL-terminated; NULL: none */

	/* For history.c: the history's numbers by those of the file. */
	struct VEC(uint32_t) stack_of;
	struct VEC(uint32_t) thread_of;
	struct VEC(struct slice) standing; /* STANDs, closed at the end */
};

struct past_process {
	uint32_t run;
	uint32_t parent; /* HISTORY_NONE for a root */
	int32_t pid, ns_pid;
	uint32_t again; /* how many before it in this run had the same pid */
	uint64_t born_ns, left_ns; /* left: end of the run where it lived on */
	uint64_t pid_ns;
	uint32_t uid;
	uint32_t cgroup;
	bool before, left, has_status;
	uint8_t verdict; /* enum verdict; VERDICT_PENDING where not told */
	int32_t status;
	uint32_t image, images; /* the first of its images, and how many */
	struct weight total;    /* of all its slices */
};

/* The images of a process are neighbours, the oldest first; each process has
 * one at least (its command is "" where the recording told of none). */
struct past_image {
	uint32_t process;
	uint64_t at_ns, until_ns;
	uint32_t command, python; /* strings */
	/*
	 * The command line that it began with; `command` is what it calls itself
	 * since, by a title that it wrote over its arguments.
	 */
	uint32_t started;
};

struct past_thread {
	uint32_t process, image;
	int32_t tid;
	uint32_t name; /* string; the last that it had; "" unknown */
	uint64_t born_ns, end_ns;
	bool main; /* its tid is the pid */
	struct weight total;
};

struct history {
	struct strtab *strings;
	struct stacks *stacks;
	struct VEC(struct past_run) runs;
	struct VEC(struct past_process) processes;
	struct VEC(struct past_image) images;
	struct VEC(struct past_thread) threads;
	struct VEC(struct record_note) notes; /* in the history's time */
	uint64_t end_ns;
	uint64_t slices; /* how many history_slices hands out */
	struct weight total;
	uint64_t gil_ns; /* wall time of slices that held the lock */
	bool has_gil;    /* some slice tells its gil state */
};

/* Returns NULL when memory is gone. */
struct history *history_new(void);
void history_free(struct history *h);

/*
 * Take in a recording. @bytes are borrowed for life. A cut or damaged one is
 * taken up to there: see runs.at[].end. What stood last in such a one (STAND) is
 * closed at the last moment that is told of, so that its time is not lost: wall
 * time, and the same of CPU time where it ran.
 *
 * Returns 0, or as recording_open; then the history is as before, unless memory
 * is gone.
 */
int history_add(struct history *h, const char *bytes, size_t len);

/* Anything but 0 ends it and is returned. */
typedef int (*slice_fn)(void *ctx, const struct slice *slice);

/*
 * Hand out every slice, one recording after the other as they were added, those
 * of each thread in the order of time; those of different threads as they were
 * recorded. Numbers and times are the history's. Nothing of it is kept.
 *
 * Returns 0, -ENOMEM, or what @fn returned.
 */
int history_slices(const struct history *h, slice_fn fn, void *ctx);

#endif
