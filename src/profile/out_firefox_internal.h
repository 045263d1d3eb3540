/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_FIREFOX_INTERNAL_H
#define PROFILE_OUT_FIREFOX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/timeline.h"

/*
 * What the files of out_firefox share. The format is the Firefox Profiler's
 * processed one, at version 60: the first in which all threads share one table
 * of stacks. The profiler brings older versions up to its own as it loads them.
 *
 * Tables are columns, so that a thread is gone through once a column.
 */

/* Categories, by their places in the profile. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_PYTHON,
	FIREFOX_GIL,
	FIREFOX_STOPPED,
	FIREFOX_IDLE, /* its subcategories are enum wait_kind */
};

/* Strings that are not of the history, by their places behind its own. */
enum firefox_text {
	TEXT_NO_FRAMES,
	TEXT_FORK,
	TEXT_EXEC,
	TEXT_EXIT,
	TEXT_GIL,
	TEXT_IDLE,
	TEXT_COUNT,
};

/* --- tables of all threads */

struct firefox_func {
	uint32_t name, source; /* source UINT32_MAX: none */
};

struct firefox_frame {
	uint32_t func, line;
	uint8_t category, subcategory;
};

struct firefox_stack {
	uint32_t frame, prefix; /* prefix UINT32_MAX: none */
};

struct firefox_tables {
	struct timeline *tl;
	struct map source_of, func_of, frame_of, stack_of; /* keys to rows */
	struct VEC(uint32_t) sources;                      /* strings */
	struct VEC(struct firefox_func) funcs;
	struct VEC(struct firefox_frame) frames;
	struct VEC(struct firefox_stack) stacks;
	struct VEC(uint32_t) path; /* work space */
};

/*
 * The row of the stack of a slice. Its innermost frame has the category of the
 * slice's state, so that each stack has as many rows as states.
 * Returns 0 or -ENOMEM.
 */
int firefox_stack(struct firefox_tables *tables, const struct seen *seen,
		  uint32_t *ret);

/* The category that a state is. */
enum firefox_category firefox_category(const struct seen *seen);

/* Write "shared". Returns as sink_pass. */
int firefox_shared(struct firefox_tables *tables, struct sink *sink);
void firefox_tables_free(struct firefox_tables *tables);

/* --- markers of one thread */

struct firefox_marker {
	enum firefox_text name;
	uint64_t from_ns, until_ns; /* the same: an instant */
	uint32_t process;           /* of fork, exec and exit */
	uint32_t command;
	uint8_t wait; /* of idle */
};

struct firefox_markers {
	struct VEC(struct firefox_marker) at;
};

/* Stretches of waiting, from the slices of a thread. Returns 0 or -ENOMEM. */
int firefox_mark_waits(struct firefox_markers *markers, struct course *course);

/* Who is whose child, by numbers of processes; HISTORY_NONE: no more. */
struct firefox_family {
	uint32_t *child;   /* the first of each */
	uint32_t *sibling; /* the next younger one */
};

int firefox_family_make(struct firefox_family *ret, const struct history *h);
void firefox_family_free(struct firefox_family *family);

/* Execs and the end of a process, and the births of its children. */
int firefox_mark_lives(struct firefox_markers *markers,
		       const struct timeline *tl,
		       const struct firefox_family *family, uint32_t process);

/* Write "markers" of a thread, and for "meta" how markers are shown. */
int firefox_put_markers(const struct firefox_markers *markers,
			const struct timeline *tl, struct sink *sink);
void firefox_put_schema(struct sink *sink);

/* --- the CPU time of processes along time */

struct firefox_counter {
	uint32_t process, thread; /* thread: its place in the profile */
	uint64_t from_ns, step_ns;
	size_t first, n; /* of its values */
};

struct firefox_counters {
	struct VEC(struct firefox_counter) at;
	struct VEC(uint64_t) values;
};

/* Begin the next process, whose first thread is @thread; 0 or -ENOMEM. */
int firefox_counter_begin(struct firefox_counters *counters,
			  const struct history *h, uint32_t process,
			  uint32_t thread);

/* Add the CPU time of slices of the newest one. */
void firefox_count(struct firefox_counters *counters, struct course *course);

/* The name of a process as others are told of it: its pid, told apart. */
void firefox_pid(const struct history *h, struct numbers *pids,
		 uint32_t process, struct str *to);

int firefox_put_counters(const struct firefox_counters *counters,
			 const struct history *h, struct numbers *pids,
			 struct sink *sink);
void firefox_counters_free(struct firefox_counters *counters);

#endif
