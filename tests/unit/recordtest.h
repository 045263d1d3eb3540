/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RECORDTEST_H
#define TESTS_RECORDTEST_H

/*
 * A recording told to a recorder, and what is read of its bytes as text, a line a
 * record. After the headers that cmocka needs.
 */
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "profile/recorder.h"
#include "profile/recording_block.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

#define ALL UINT32_MAX

/* --- a file in memory, and what is told of it ------------------------------- */

struct file {
	struct bytes bytes;
	size_t blocks[64]; /* where they end; the first: the header */
	size_t n_blocks;
};

static inline int file_write(void *ctx, const char *bytes, size_t len)
{
	struct file *file = ctx;

	assert_true(vec_reserve(&file->bytes, len));
	memcpy(file->bytes.at + file->bytes.n, bytes, len);
	file->bytes.n += len;
	return 0;
}

static const char *file_at(const struct file *file)
{
	return (const char *)file->bytes.at;
}

static inline void tell_run(struct str *s, const struct record_run *run)
{
	str_printf(s,
		   "run %" PRIu64 " %" PRIu64 " %" PRIu64 " cpus %u: %u %u "
		   "%u %u %u\n",
		   run->unix_ns, run->interval_ns, run->start_ns, run->cpus,
		   run->host, run->version, run->title, run->events,
		   run->oncpu);
}

static inline void tell_process(struct str *s, const struct record_process *p)
{
	str_printf(s,
		   "process %d (%d) of %d, %" PRIu64 " uid %u ns %" PRIu64
		   " cgroup %u%s\n",
		   p->pid, p->ns_pid, (int)p->parent, p->born_ns, p->uid,
		   p->pid_ns, p->cgroup, p->before ? " before" : "");
}

static inline void tell_slice(struct str *s, const struct slice *slice)
{
	str_printf(s,
		   "slice %u %" PRIu64 " stack %u %u/%u/%u weight %" PRIu64
		   " %" PRIu64 " %" PRIu64 "\n",
		   slice->thread, slice->start_ns, slice->seen.stack,
		   slice->seen.run, slice->seen.gil, slice->seen.wait,
		   slice->weight.wall_ns, slice->weight.cpu_ns,
		   slice->weight.samples);
}

/* Definitions of names and stacks. */
static inline int tell_definition(struct str *s, const struct record *r)
{
	switch (r->kind) {
	case RECORD_STRING:
		str_printf(s, "string %.*s\n", (int)r->bytes.len, r->bytes.at);
		return 1;
	case RECORD_FRAME:
		str_printf(s, "frame %u %u %d\n", r->frame.function,
			   r->frame.file, r->frame.line);
		return 1;
	case RECORD_STACK:
		str_printf(s, "stack %u %u\n", r->stack.parent, r->stack.frame);
		return 1;
	case RECORD_IMAGE:
		str_printf(s, "image of %u %" PRIu64 " %u %u\n",
			   r->image.process, r->image.at_ns, r->image.command,
			   r->image.python);
		return 1;
	case RECORD_THREAD:
		str_printf(s, "thread %d of %u %u %" PRIu64 "\n", r->thread.tid,
			   r->thread.process, r->thread.image,
			   r->thread.born_ns);
		return 1;
	default:
		return 0;
	}
}

static inline void tell_event(struct str *s, const struct record *r)
{
	switch (r->kind) {
	case RECORD_IMAGE_PYTHON:
		str_printf(s, "python %u %u\n", r->image_python.image,
			   r->image_python.python);
		break;
	case RECORD_IMAGE_TITLE:
		str_printf(s, "title %u %u\n", r->image_title.image,
			   r->image_title.title);
		break;
	case RECORD_THREAD_NAME:
		str_printf(s, "name %u %u\n", r->thread_name.thread,
			   r->thread_name.name);
		break;
	case RECORD_STAND:
		str_printf(s, "stand %u %" PRIu64 " stack %u %u/%u/%u\n",
			   r->stand.thread, r->stand.start_ns,
			   r->stand.seen.stack, r->stand.seen.run,
			   r->stand.seen.gil, r->stand.seen.wait);
		break;
	case RECORD_THREAD_END:
		str_printf(s, "thread %u ends %" PRIu64 "\n",
			   r->thread_end.thread, r->thread_end.at_ns);
		break;
	case RECORD_PROCESS_END:
		str_printf(s,
			   "process %u ends %" PRIu64 " verdict %u %d %d %d\n",
			   r->process_end.process, r->process_end.at_ns,
			   r->process_end.verdict, r->process_end.left,
			   r->process_end.has_status, r->process_end.status);
		break;
	case RECORD_NOTE:
		str_printf(s, "note %u %" PRIu64 " %" PRIu64 "\n", r->note.kind,
			   r->note.at_ns, r->note.value);
		break;
	case RECORD_SUMMARY:
		str_printf(s, "summary %.*s\n", (int)r->bytes.len, r->bytes.at);
		break;
	case RECORD_TIME:
		str_printf(s, "time %" PRIu64 "\n", r->time_ns);
		break;
	default:
		fail_msg("kind %d", r->kind);
	}
}

static inline int tell(void *ctx, const struct record *r)
{
	struct str *s = ctx;

	if (r->kind == RECORD_RUN)
		tell_run(s, &r->run);
	else if (r->kind == RECORD_PROCESS)
		tell_process(s, &r->process);
	else if (r->kind == RECORD_SLICE)
		tell_slice(s, &r->slice);
	else if (!tell_definition(s, r))
		tell_event(s, r);
	return 0;
}

struct result {
	struct str text;
	int opened;
	enum recording_end end;
	size_t good;
};

static inline void result_free(struct result *result)
{
	str_free(&result->text);
}

/* What is read of the first @len bytes. */
static inline struct result read_kinds(const char *bytes, size_t len,
				       uint32_t kinds)
{
	struct result result = { .good = 77 };
	struct recording_reader *reader = NULL;

	str_puts(&result.text, "");
	result.opened = recording_open(&reader, bytes, len);
	if (result.opened == 0)
		assert_int_equal(recording_read(reader, kinds, tell,
						&result.text, &result.end,
						&result.good),
				 0);
	recording_close(reader);
	return result;
}

static inline void expect(const struct file *file, uint32_t kinds,
			  enum recording_end end, const char *text)
{
	struct result result = read_kinds(file_at(file), file->bytes.n, kinds);

	assert_int_equal(result.opened, 0);
	assert_string_equal(result.text.at, text);
	assert_int_equal(result.end, end);
	assert_int_equal(result.good, file->bytes.n);
	result_free(&result);
}

/* --- a run ------------------------------------------------------------------ */

struct told {
	struct strtab *strings;
	struct stacks *stacks;
	struct recorder *rec;
	struct file file;
};

static inline uint32_t name(struct told *t, const char *text)
{
	return strtab_id(t->strings, text, strlen(text));
}

/* The stack of these functions, outermost first; lines count from 1. */
static inline uint32_t stack(struct told *t, const char *functions)
{
	uint32_t at = STACKS_EMPTY;
	int line = 1;

	for (; *functions; functions++) {
		struct frame frame = { .file = name(t, "f.py"),
				       .line = line++ };

		frame.function = strtab_id(t->strings, functions, 1);
		at = stacks_push(t->stacks, at,
				 stacks_frame(t->stacks, &frame));
	}
	return at;
}

static inline void told_begin(struct told *t, enum recorder_codec codec)
{
	struct record_run run = { .unix_ns = 1000 * S,
				  .interval_ns = 10 * MS,
				  .cpus = 2 };

	*t = (struct told){ .strings = strtab_new(), .stacks = stacks_new() };
	/* So that serials are not by chance the file's numbers. */
	(void)name(t, "never used");
	(void)stack(t, "xyz");
	t->rec = recorder_new(t->strings, t->stacks, codec);
	assert_non_null(t->rec);
	run.host = name(t, "host");
	run.version = name(t, "1.0");
	run.title = name(t, "python3 a.py");
	recorder_run(t->rec, &run);
}

static inline void told_end(struct told *t)
{
	recorder_free(t->rec);
	stacks_free(t->stacks);
	strtab_free(t->strings);
	vec_free(&t->file.bytes);
}

/* A process of one image and one thread. */
static inline uint32_t add(struct told *t, uint32_t parent, int pid)
{
	struct record_process process = { .parent = parent, .pid = pid };
	struct record_image image = { .process = recorder_process(t->rec,
								  &process) };
	struct record_thread thread = { .process = image.process, .tid = pid };

	thread.image = recorder_image(t->rec, &image);
	return recorder_thread(t->rec, &thread);
}

static inline void slice(struct told *t, uint32_t thread, uint64_t start_ns,
			 uint32_t stack, uint64_t wall_ns)
{
	struct slice slice = {
		.thread = thread,
		.start_ns = start_ns,
		.seen = { .stack = stack, .run = RUN_ON_CPU },
		.weight = { wall_ns, wall_ns, 1 },
	};

	recorder_slice(t->rec, &slice);
}

static inline void flush(struct told *t, uint64_t now_ns)
{
	assert_int_equal(recorder_flush(t->rec, now_ns, file_write, &t->file),
			 0);
	assert_int_equal(recorder_size(t->rec), t->file.bytes.n);
	if (t->file.n_blocks < 64)
		t->file.blocks[t->file.n_blocks++] = t->file.bytes.n;
}

/* Something of each kind, in three flushes. */
static inline void tell_a_life(struct told *t)
{
	struct record_process root = { .parent = RECORD_NONE,
				       .pid = 100,
				       .uid = 1000,
				       .cgroup = name(t, "/a.scope"),
				       .before = true };
	struct record_process child = {
		.pid = 101, .ns_pid = 7, .born_ns = 5 * MS, .pid_ns = 4026531836
	};
	struct record_image image = { .command = name(t, "python3 a.py") };
	struct record_thread thread = { .tid = 100 };
	struct slice idle = { .start_ns = 20 * MS,
			      .seen = { .run = RUN_IDLE,
					.gil = GIL_WAITED,
					.wait = WAIT_GIL },
			      .weight = { 9 * MS, 1234, 2 } };
	struct record_stand stand = { .thread = 1, .start_ns = 30 * MS };
	struct record_process_end end = { .process = 1,
					  .at_ns = 45 * MS,
					  .verdict = 1,
					  .left = true,
					  .has_status = true,
					  .status = -9 };
	struct record_note note = { NOTE_LOST, 46 * MS, 3 };

	assert_int_equal(recorder_process(t->rec, &root), 0);
	assert_int_equal(recorder_process(t->rec, &child), 1);
	assert_int_equal(recorder_image(t->rec, &image), 0);
	image.process = 1;
	image.at_ns = 5 * MS;
	assert_int_equal(recorder_image(t->rec, &image), 1);
	assert_int_equal(recorder_thread(t->rec, &thread), 0);
	thread = (struct record_thread){ 1, 1, 101, 5 * MS };
	assert_int_equal(recorder_thread(t->rec, &thread), 1);
	flush(t, 10 * MS);

	recorder_image_python(t->rec, 1, name(t, "3.11"));
	recorder_thread_name(t->rec, 0, name(t, "main"));
	slice(t, 0, 10 * MS, stack(t, "ab"), 10 * MS);
	slice(t, 1, 11 * MS, stack(t, "ac"), 7 * MS);
	idle.seen.stack = stack(t, "a");
	recorder_slice(t->rec, &idle);
	stand.seen.stack = stack(t, "ac");
	recorder_stand(t->rec, &stand);
	flush(t, 40 * MS);

	recorder_thread_end(t->rec, 1, 45 * MS);
	recorder_process_end(t->rec, &end);
	recorder_note(t->rec, &note);
	recorder_summary(t->rec, "{\"seen\":2}", 10);
	flush(t, 50 * MS);
}

static const char a_life[] __attribute__((unused)) =
	"string host\nstring 1.0\nstring python3 a.py\nstring \n"
	"run 1000000000000 10000000 0 cpus 2: 0 1 2 3 3\n"
	"string /a.scope\n"
	"process 100 (0) of -1, 0 uid 1000 ns 0 cgroup 4 before\n"
	"process 101 (7) of 0, 5000000 uid 0 ns 4026531836 cgroup 3\n"
	"image of 0 0 2 3\n"
	"image of 1 5000000 2 3\n"
	"thread 100 of 0 0 0\n"
	"thread 101 of 1 1 5000000\n"
	"time 10000000\n"
	"string 3.11\n"
	"python 1 5\n"
	"string main\n"
	"name 0 6\n"
	"string a\nstring f.py\nframe 7 8 1\nstack 0 0\n"
	"string b\nframe 9 8 2\nstack 1 1\n"
	"slice 0 10000000 stack 2 1/0/0 weight 10000000 10000000 1\n"
	"string c\nframe 10 8 2\nstack 1 2\n"
	"slice 1 11000000 stack 3 1/0/0 weight 7000000 7000000 1\n"
	"stand 1 30000000 stack 3 0/0/0\n"
	"slice 0 20000000 stack 1 0/3/1 weight 9000000 1234 2\n"
	"time 40000000\n"
	"thread 1 ends 45000000\n"
	"process 1 ends 45000000 verdict 1 1 1 -9\n"
	"note 1 46000000 3\n"
	"time 50000000\n"
	"summary {\"seen\":2}\n";

#endif
