/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/recording.h"
#include "profile/recording_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What was defined so far, and bytes that were looked at. */
struct watch {
	uint64_t strings, frames, stacks, processes, images, threads;
	uint64_t sum;
};

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void watch_bytes(struct watch *w, const struct record_bytes *bytes)
{
	for (size_t i = 0; i < bytes->len; i++)
		w->sum += (unsigned char)bytes->at[i];
}

static void watch_seen(const struct watch *w, const struct seen *seen)
{
	CHECK(seen->stack <= w->stacks && seen->run < RUN_COUNT &&
	      seen->gil < GIL_COUNT && seen->wait < WAIT_COUNT);
}

static void watch_definition(struct watch *w, const struct record *r)
{
	switch (r->kind) {
	case RECORD_STRING:
		w->strings++;
		watch_bytes(w, &r->bytes);
		break;
	case RECORD_FRAME:
		CHECK(r->frame.function < w->strings);
		CHECK(r->frame.file < w->strings);
		w->frames++;
		break;
	case RECORD_STACK:
		CHECK(r->stack.parent <= w->stacks);
		CHECK(r->stack.frame < w->frames);
		w->stacks++;
		break;
	case RECORD_PROCESS:
		CHECK(r->process.parent == RECORD_NONE ||
		      r->process.parent < w->processes);
		CHECK(r->process.cgroup < w->strings);
		w->processes++;
		break;
	case RECORD_IMAGE:
		CHECK(r->image.process < w->processes);
		CHECK(r->image.command < w->strings);
		CHECK(r->image.python < w->strings);
		w->images++;
		break;
	case RECORD_THREAD:
		CHECK(r->thread.process < w->processes);
		CHECK(r->thread.image < w->images);
		w->threads++;
		break;
	default:
		break;
	}
}

static void watch_event(struct watch *w, const struct record *r)
{
	switch (r->kind) {
	case RECORD_RUN:
		CHECK(r->run.host < w->strings && r->run.title < w->strings);
		break;
	case RECORD_IMAGE_PYTHON:
		CHECK(r->image_python.image < w->images);
		CHECK(r->image_python.python < w->strings);
		break;
	case RECORD_IMAGE_TITLE:
		CHECK(r->image_title.image < w->images);
		CHECK(r->image_title.title < w->strings);
		break;
	case RECORD_THREAD_NAME:
		CHECK(r->thread_name.thread < w->threads);
		CHECK(r->thread_name.name < w->strings);
		break;
	case RECORD_SLICE:
		CHECK(r->slice.thread < w->threads);
		CHECK(r->slice.start_ns <= WIRE_TIME_MAX);
		CHECK(r->slice.weight.cpu_ns <= WIRE_TIME_MAX);
		watch_seen(w, &r->slice.seen);
		break;
	case RECORD_STAND:
		CHECK(r->stand.thread < w->threads);
		watch_seen(w, &r->stand.seen);
		break;
	case RECORD_THREAD_END:
		CHECK(r->thread_end.thread < w->threads);
		break;
	case RECORD_PROCESS_END:
		CHECK(r->process_end.process < w->processes);
		break;
	case RECORD_SUMMARY:
		watch_bytes(w, &r->bytes);
		break;
	default:
		break;
	}
}

static int watch(void *ctx, const struct record *record)
{
	watch_definition(ctx, record);
	watch_event(ctx, record);
	return 0;
}

/* Nothing that is handed out names what was not defined before. */
static void read_it(const uint8_t *bytes, size_t len)
{
	struct recording_reader *reader = NULL;
	enum recording_end end = RECORDING_WHOLE;
	struct watch w = { 0 };
	size_t good = 0;
	int r = recording_open(&reader, (const char *)bytes, len);

	CHECK(r == 0 ? reader != NULL : r == -EINVAL || r == -ENOTSUP);
	if (r != 0)
		return;
	CHECK(recording_read(reader, UINT32_MAX, watch, &w, &end, &good) == 0);
	CHECK(good >= WIRE_FILE_SIZE && good <= len);
	CHECK(good == len || end == RECORDING_CUT || end == RECORDING_DAMAGED);
	recording_close(reader);
}

/*
 * The bytes as a file; and as the records of a plain block under a checksum that
 * is right, where a fuzzer would hardly get otherwise.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct bytes file = { 0 };

	read_it(bytes, len);
	if (len && len <= WIRE_PLAIN_MAX) {
		CHECK(block_put_header(&file, WIRE_PLAIN));
		CHECK(block_pack(&file, bytes, len, WIRE_PLAIN));
		read_it(file.at, file.n);
	}
	vec_free(&file);
	return 0;
}
