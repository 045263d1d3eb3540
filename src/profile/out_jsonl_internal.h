/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_JSONL_INTERNAL_H
#define PROFILE_OUT_JSONL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/timeline.h"

/* What the files of out_jsonl share; out_jsonl.c tells of the format. */

enum jsonl_kind {
	JSONL_BORN,
	JSONL_EXEC,
	JSONL_NOTE,
	JSONL_END
};

struct jsonl_happening {
	uint64_t at_ns;
	uint32_t of; /* process, image or note */
	uint8_t kind;
};

struct jsonl {
	struct timeline tl;
	struct sink sink;
	struct VEC(struct jsonl_happening) happenings;
	size_t happened;                 /* so many of them have been written */
	struct texts threads;            /* how their slices begin */
	bool *told;                      /* processes */
	struct VEC(bool) frames, stacks; /* defined, by number */
	struct weight total;
	uint64_t gil_ns, slices;
};

/* Begin a line, and end it. */
void jsonl_begin(struct jsonl *v, const char *type);
int jsonl_end(struct jsonl *v); /* returns as sink_pass */

/* A key and its value. */
void jsonl_u64(struct jsonl *v, const char *key, uint64_t value);
void jsonl_i64(struct jsonl *v, const char *key, int64_t value);
void jsonl_bool(struct jsonl *v, const char *key, bool value);
void jsonl_id(struct jsonl *v, const char *key, uint32_t id); /* a string */
void jsonl_null(struct jsonl *v, const char *key);

/* Whose it is: the number, which is not used again, and the pid. */
void jsonl_process(struct jsonl *v, uint32_t process);
void jsonl_ppid(struct jsonl *v, uint32_t process);

/* Find out all that happens beside the slices. Returns 0 or -ENOMEM. */
int jsonl_plan(struct jsonl *v);

/* Write what happens up to a moment and is not written yet. */
int jsonl_happenings(struct jsonl *v, uint64_t until_ns);

/* Write the birth of a process, unless it is written. */
int jsonl_birth(struct jsonl *v, uint32_t process);

#endif
