/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDER_H
#define PROFILE_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/strtab.h"
#include "profile/recording.h"
#include "profile/stacks.h"

/*
 * Writes a recording. Whoever runs a session tells it what happens, in numbers of
 * his own string table and stacks; the recorder gives the numbers of the file,
 * puts each definition before its first use, and hands on blocks.
 *
 * Calls that tell something return nothing: what memory could not be had for is
 * remembered and returned by the next recorder_flush.
 *
 * Slices of one thread with the same stack and state that follow one another are
 * joined until the next flush.
 */
struct recorder;

enum recorder_codec {
	RECORDER_PLAIN,
	RECORDER_ZLIB,
	RECORDER_ZSTD, /* only where built with it, else ZLIB is taken */
};

/* Takes all of @len bytes or returns a negative errno, which is passed up. */
typedef int (*record_write)(void *ctx, const char *bytes, size_t len);

/* @strings and @stacks are borrowed for life. Returns NULL without memory. */
struct recorder *recorder_new(const struct strtab *strings,
			      const struct stacks *stacks,
			      enum recorder_codec codec);
void recorder_free(struct recorder *rec);

/* The first call; strings of @run are of the session's table, as all below. */
void recorder_run(struct recorder *rec, const struct record_run *run);

/*
 * A process, an image, a thread: each is told once and gets the next number of
 * its kind, 0 first; that is the number under which it is referred to. An image
 * or thread names its process and image by these numbers.
 */
uint32_t recorder_process(struct recorder *rec,
			  const struct record_process *process);
uint32_t recorder_image(struct recorder *rec, const struct record_image *image);
uint32_t recorder_thread(struct recorder *rec,
			 const struct record_thread *thread);

/* What has become known of an image since (its Python version). */
void recorder_image_python(struct recorder *rec, uint32_t image,
			   uint32_t python);

/* What it calls itself since, by a title written over its arguments. */
void recorder_image_title(struct recorder *rec, uint32_t image, uint32_t title);

void recorder_thread_name(struct recorder *rec, uint32_t thread, uint32_t name);
void recorder_slice(struct recorder *rec, const struct slice *slice);

/* Told again with nothing changed, it is not recorded again. */
void recorder_stand(struct recorder *rec, const struct record_stand *stand);
void recorder_thread_end(struct recorder *rec, uint32_t thread, uint64_t at_ns);
void recorder_process_end(struct recorder *rec,
			  const struct record_process_end *end);
void recorder_note(struct recorder *rec, const struct record_note *note);

/* The summary, a JSON object: the last thing told. */
void recorder_summary(struct recorder *rec, const char *json, size_t len);

/*
 * Hand on all that was told since the last time, as whole blocks, and the moment
 * @now_ns up to which all is told. Nothing told: nothing is written but a TIME
 * record when @now_ns is more than 10 s after the last.
 *
 * Returns 0, -ENOMEM or what @write returned; then the file ends there, and all
 * later calls do nothing and return the same.
 */
int recorder_flush(struct recorder *rec, uint64_t now_ns, record_write write,
		   void *ctx);

/*
 * Begin another file, at @now_ns: all that is referred to from now on is defined
 * anew. To be called right after recorder_flush. What has ended is forgotten.
 */
void recorder_rotate(struct recorder *rec, uint64_t now_ns);

/* How many bytes were handed on since the beginning of this file. */
uint64_t recorder_size(const struct recorder *rec);

#endif
