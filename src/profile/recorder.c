/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/recorder_internal.h"

/* A file that nothing happens in tells at least this often that it is alive. */
#define TIME_EVERY_NS UINT64_C(10000000000)

/* What a busy second may leave behind for the next one. */
#define ROOM_KEPT (4u << 20)

static enum wire_codec codec_of(enum recorder_codec codec)
{
	if (codec == RECORDER_PLAIN)
		return WIRE_PLAIN;
	if (codec == RECORDER_ZSTD && block_codec_known(WIRE_ZSTD))
		return WIRE_ZSTD;
	return WIRE_ZLIB;
}

struct recorder *recorder_new(const struct strtab *strings,
			      const struct stacks *stacks,
			      enum recorder_codec codec)
{
	struct recorder *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return NULL;
	rec->strings = strings;
	rec->stacks = stacks;
	rec->codec = codec_of(codec);
	rec->stack.next = 1;
	wire_block_begin(&rec->block);
	return rec;
}

void recorder_free(struct recorder *rec)
{
	if (!rec)
		return;
	vec_free(&rec->string.of);
	vec_free(&rec->frame.of);
	vec_free(&rec->stack.of);
	vec_free(&rec->chain);
	vec_free(&rec->process_at);
	vec_free(&rec->image_at);
	vec_free(&rec->thread_at);
	vec_free(&rec->processes);
	vec_free(&rec->images);
	vec_free(&rec->threads);
	vec_free(&rec->open);
	vec_free(&rec->pending);
	vec_free(&rec->cuts);
	vec_free(&rec->out);
	vec_free(&rec->summary);
	free(rec);
}

/* --- who there is ----------------------------------------------------------- */

/* NULL where @serial was never given, is forgotten, or memory was gone for it. */
#define KNOWN(all, index, serial)                                \
	((serial) < (index)->n && (index)->at[serial] < (all)->n \
		 ? &(all)->at[(index)->at[serial]]               \
		 : NULL)

struct known_process *recorder_known_process(const struct recorder *rec,
					     uint32_t serial)
{
	return KNOWN(&rec->processes, &rec->process_at, serial);
}

struct known_image *recorder_known_image(const struct recorder *rec,
					 uint32_t serial)
{
	return KNOWN(&rec->images, &rec->image_at, serial);
}

struct known_thread *recorder_known_thread(const struct recorder *rec,
					   uint32_t serial)
{
	return KNOWN(&rec->threads, &rec->thread_at, serial);
}

void recorder_run(struct recorder *rec, const struct record_run *run)
{
	rec->run = *run;
	recorder_put_run(rec);
}

/* The next serial: that of number @at among the known, or of nobody. */
static uint32_t next_serial(struct recorder *rec, struct numbers *index,
			    uint32_t at)
{
	if (index->n < RECORD_NONE && vec_push(index, at))
		return (uint32_t)index->n - 1;
	recorder_fail(rec, -ENOMEM);
	return RECORD_NONE;
}

uint32_t recorder_process(struct recorder *rec,
			  const struct record_process *process)
{
	struct known_process known = { .is = *process, .image = RECORD_NONE };

	if (rec->error)
		return RECORD_NONE;
	known.serial =
		next_serial(rec, &rec->process_at, (uint32_t)rec->processes.n);
	if (!vec_push(&rec->processes, known))
		recorder_fail(rec, -ENOMEM);
	else
		recorder_put_process(rec,
				     &rec->processes.at[rec->processes.n - 1]);
	return known.serial;
}

uint32_t recorder_image(struct recorder *rec, const struct record_image *image)
{
	struct known_process *process =
		recorder_known_process(rec, image->process);
	struct known_image known = { .is = *image, .title = RECORD_NONE };

	if (rec->error)
		return RECORD_NONE;
	if (!process)
		return next_serial(rec, &rec->image_at, RECORD_NONE);
	known.serial =
		next_serial(rec, &rec->image_at, (uint32_t)rec->images.n);
	process->image = known.serial;
	if (!vec_push(&rec->images, known))
		recorder_fail(rec, -ENOMEM);
	else
		recorder_put_image(rec, &rec->images.at[rec->images.n - 1]);
	return known.serial;
}

uint32_t recorder_thread(struct recorder *rec,
			 const struct record_thread *thread)
{
	struct known_thread known = { .is = *thread, .name = RECORD_NONE };

	if (rec->error)
		return RECORD_NONE;
	if (!recorder_known_process(rec, thread->process) ||
	    !recorder_known_image(rec, thread->image))
		return next_serial(rec, &rec->thread_at, RECORD_NONE);
	known.serial =
		next_serial(rec, &rec->thread_at, (uint32_t)rec->threads.n);
	if (!vec_push(&rec->threads, known))
		recorder_fail(rec, -ENOMEM);
	else
		recorder_put_thread(rec, &rec->threads.at[rec->threads.n - 1]);
	return known.serial;
}

/* --- what happens ----------------------------------------------------------- */

void recorder_image_python(struct recorder *rec, uint32_t image,
			   uint32_t python)
{
	struct known_image *known = recorder_known_image(rec, image);
	struct fields f = { .n = 0 };

	if (!known || known->is.python == python)
		return;
	known->is.python = python;
	field_u64(&f, known->number);
	field_u64(&f, recorder_string(rec, python));
	recorder_put_fields(rec, RECORD_IMAGE_PYTHON, &f);
}

void recorder_image_title(struct recorder *rec, uint32_t image, uint32_t title)
{
	struct known_image *known = recorder_known_image(rec, image);

	if (!known || known->title == title)
		return;
	known->title = title;
	recorder_put_image_title(rec, known);
}

void recorder_thread_name(struct recorder *rec, uint32_t thread, uint32_t name)
{
	struct known_thread *known = recorder_known_thread(rec, thread);

	if (!known || known->name == name)
		return;
	known->name = name;
	recorder_put_thread_name(rec, known);
}

static bool seen_same(const struct seen *a, const struct seen *b)
{
	return a->stack == b->stack && a->run == b->run && a->gil == b->gil &&
	       a->wait == b->wait;
}

/*
 * Does @next go on where @open ends? Weights are shorter than the place where a
 * part of it went to another stack, so they need not touch; but what is joined is
 * never further from its place than the interval between two samples.
 */
static bool follows(const struct recorder *rec, const struct slice *open,
		    const struct slice *next)
{
	return next->start_ns >= open->start_ns &&
	       next->start_ns - open->start_ns <=
		       open->weight.wall_ns + rec->run.interval_ns &&
	       seen_same(&open->seen, &next->seen);
}

static uint64_t slice_end(const struct slice *slice)
{
	return recorder_time(slice->start_ns) +
	       recorder_time(slice->weight.wall_ns);
}

void recorder_slice(struct recorder *rec, const struct slice *slice)
{
	struct known_thread *known = recorder_known_thread(rec, slice->thread);

	if (!known || rec->error)
		return;
	/* One that was final only now, from before it stood, says nothing. */
	if (slice_end(slice) > known->stand.start_ns)
		known->stands = false;
	if (known->has_open && follows(rec, &known->open, slice)) {
		known->open.weight.wall_ns += slice->weight.wall_ns;
		known->open.weight.cpu_ns += slice->weight.cpu_ns;
		known->open.weight.samples += slice->weight.samples;
		return;
	}
	if (known->has_open)
		recorder_put_slice(rec, known);
	else if (!vec_push(&rec->open, known->serial))
		recorder_fail(rec, -ENOMEM);
	known->open = *slice;
	known->has_open = true;
}

/* Write all open slices. */
static void close_slices(struct recorder *rec)
{
	for (size_t i = 0; i < rec->open.n; i++)
		recorder_put_slice(rec,
				   recorder_known_thread(rec, rec->open.at[i]));
	rec->open.n = 0;
}

void recorder_stand(struct recorder *rec, const struct record_stand *stand)
{
	struct known_thread *known = recorder_known_thread(rec, stand->thread);

	if (!known ||
	    (known->stands && known->stand.start_ns == stand->start_ns &&
	     seen_same(&known->stand.seen, &stand->seen)))
		return;
	/* In the order of time, and that slice stays in the list: see below. */
	recorder_put_slice(rec, known);
	known->stand = *stand;
	known->stands = true;
	recorder_put_stand(rec, known);
}

void recorder_thread_end(struct recorder *rec, uint32_t thread, uint64_t at_ns)
{
	struct known_thread *known = recorder_known_thread(rec, thread);
	struct fields f = { .n = 0 };

	if (!known || known->ended)
		return;
	recorder_put_slice(rec, known);
	known->ended = true;
	known->stands = false;
	field_u64(&f, known->number);
	field_u64(&f, recorder_time(at_ns));
	recorder_put_fields(rec, RECORD_THREAD_END, &f);
}

void recorder_process_end(struct recorder *rec,
			  const struct record_process_end *end)
{
	struct known_process *known = recorder_known_process(rec, end->process);

	if (!known)
		return;
	/* Those of its threads among them; which they are is not kept. */
	close_slices(rec);
	known->end = *end;
	known->ended = true;
	recorder_put_process_end(rec, known);
}

void recorder_note(struct recorder *rec, const struct record_note *note)
{
	struct fields f = { .n = 0 };

	close_slices(rec);
	field_u64(&f, note->kind);
	field_u64(&f, recorder_time(note->at_ns));
	field_u64(&f, note->value);
	recorder_put_fields(rec, RECORD_NOTE, &f);
}

void recorder_summary(struct recorder *rec, const char *json, size_t len)
{
	if (rec->error)
		return;
	rec->summary.n = 0;
	if (len > WIRE_SUMMARY_MAX)
		recorder_fail(rec, -E2BIG);
	else if (!vec_reserve(&rec->summary, len))
		recorder_fail(rec, -ENOMEM);
	if (rec->error)
		return;
	if (len)
		memcpy(rec->summary.at, json, len);
	rec->summary.n = len;
	rec->has_summary = true;
}

/* --- handing on ------------------------------------------------------------- */

/* The blocks of what is pending, written one by one. */
static int write_blocks(struct recorder *rec, record_write write, void *ctx)
{
	size_t begin = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && begin < rec->pending.n; i++) {
		size_t end = i < rec->cuts.n ? rec->cuts.at[i] : rec->pending.n;

		rec->out.n = 0;
		if ((rec->size == 0 &&
		     !block_put_header(&rec->out, rec->codec)) ||
		    !block_pack(&rec->out, rec->pending.at + begin, end - begin,
				rec->codec))
			return -ENOMEM;
		r = write(ctx, (const char *)rec->out.at, rec->out.n);
		if (r == 0)
			rec->size += rec->out.n;
		begin = end;
	}
	return r;
}

static void forget_pending(struct recorder *rec)
{
	rec->pending.n = 0;
	rec->cuts.n = 0;
	if (rec->pending.room > ROOM_KEPT)
		vec_free(&rec->pending);
	if (rec->out.room > ROOM_KEPT)
		vec_free(&rec->out);
	wire_block_begin(&rec->block);
}

int recorder_flush(struct recorder *rec, uint64_t now_ns, record_write write,
		   void *ctx)
{
	struct fields f = { .n = 0 };

	close_slices(rec);
	now_ns = recorder_time(now_ns);
	if (now_ns < rec->time_ns)
		now_ns = rec->time_ns;
	if (!rec->pending.n && !rec->has_summary &&
	    now_ns - rec->time_ns <= TIME_EVERY_NS)
		return rec->error;
	field_u64(&f, now_ns);
	recorder_put_fields(rec, RECORD_TIME, &f);
	if (rec->has_summary)
		recorder_put(rec, RECORD_SUMMARY, rec->summary.at,
			     rec->summary.n);
	if (!rec->error)
		recorder_fail(rec, write_blocks(rec, write, ctx));
	rec->time_ns = now_ns;
	rec->has_summary = false;
	forget_pending(rec);
	return rec->error;
}

uint64_t recorder_size(const struct recorder *rec)
{
	return rec->size;
}
