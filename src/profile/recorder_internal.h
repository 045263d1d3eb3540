/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDER_INTERNAL_H
#define PROFILE_RECORDER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/recorder.h"
#include "profile/recording_block.h"
#include "profile/recording_wire.h"

/*
 * The recorder's state, for its own files. Two kinds of numbers meet here. A
 * serial is what the session knows a thing by, for the whole run; a number is what
 * the file knows it by, and begins anew with each file.
 *
 * Strings, frames and stacks are many and get a number when they are first used.
 * Processes, images and threads get theirs when they are told; what is known of
 * them is kept, since the next file needs it again, until they end.
 */

struct numbers VEC(uint32_t);

struct numbering {
	struct numbers of; /* by serial; RECORD_NONE, or beyond: not defined */
	uint32_t next;
};

struct known_process {
	uint32_t serial, number;
	uint32_t image; /* serial of the newest; RECORD_NONE */
	struct record_process is;
	struct record_process_end end;
	bool ended, keep;
};

struct known_image {
	uint32_t serial, number;
	struct record_image is;
	uint32_t title; /* RECORD_NONE: not told */
	bool keep;
};

struct known_thread {
	uint32_t serial, number;
	struct record_thread is;
	uint32_t name; /* RECORD_NONE: not told */
	struct slice open;
	struct record_stand stand;
	struct wire_last last;
	bool has_open; /* in rec->open */
	bool stands, ended;
};

struct recorder {
	const struct strtab *strings;
	const struct stacks *stacks;
	enum wire_codec codec;
	int error;
	uint64_t size;
	uint64_t time_ns; /* of the last TIME */
	struct record_run run;

	struct numbering string, frame, stack;
	struct numbers chain; /* of define_stack */

	/* by serial: which of the known, or RECORD_NONE */
	struct numbers process_at, image_at, thread_at;
	struct VEC(struct known_process) processes;
	struct VEC(struct known_image) images;
	struct VEC(struct known_thread) threads;
	uint32_t next_process, next_image, next_thread; /* numbers */
	struct numbers open; /* threads with an open slice, by serial */

	struct bytes pending;
	struct VEC(size_t) cuts; /* where its blocks end, but the last */
	struct wire_block block;
	struct bytes out;
	struct bytes summary;
	bool has_summary;
};

/* The fields of a record. */
#define FIELDS_MAX 96
struct fields {
	uint8_t at[FIELDS_MAX];
	size_t n;
};

static inline void field_u64(struct fields *f, uint64_t value)
{
	f->n += varint_put(f->at + f->n, value);
}

static inline void field_i64(struct fields *f, int64_t value)
{
	field_u64(f, varint_fold(value));
}

/* A time, or a stretch of it: no reader takes more. */
static inline uint64_t recorder_time(uint64_t ns)
{
	return ns < WIRE_TIME_MAX ? ns : WIRE_TIME_MAX;
}

/* Remember an error, if it is the first. */
void recorder_fail(struct recorder *rec, int error);

/* Room for @max more bytes of the same block. False after an error. */
bool recorder_room(struct recorder *rec, size_t max);

void recorder_put(struct recorder *rec, enum record_kind kind,
		  const void *bytes, size_t len);
void recorder_put_fields(struct recorder *rec, enum record_kind kind,
			 const struct fields *fields);

/* The numbers of the file, defined if need be. */
uint32_t recorder_string(struct recorder *rec, uint32_t string);
uint32_t recorder_stack(struct recorder *rec, uint32_t stack);

/* What is known by this serial, or NULL. */
struct known_process *recorder_known_process(const struct recorder *rec,
					     uint32_t serial);
struct known_image *recorder_known_image(const struct recorder *rec,
					 uint32_t serial);
struct known_thread *recorder_known_thread(const struct recorder *rec,
					   uint32_t serial);

/* Write what is known, under the next number of its kind. */
void recorder_put_run(struct recorder *rec);
void recorder_put_process(struct recorder *rec, struct known_process *known);
void recorder_put_process_end(struct recorder *rec,
			      const struct known_process *known);
void recorder_put_image(struct recorder *rec, struct known_image *known);
void recorder_put_image_title(struct recorder *rec,
			      const struct known_image *known);
void recorder_put_thread(struct recorder *rec, struct known_thread *known);
void recorder_put_thread_name(struct recorder *rec,
			      const struct known_thread *known);
void recorder_put_stand(struct recorder *rec, const struct known_thread *known);

/* Write the thread's open slice, if it has one. */
void recorder_put_slice(struct recorder *rec, struct known_thread *known);

#endif
