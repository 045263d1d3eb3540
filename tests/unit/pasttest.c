/* SPDX-License-Identifier: Apache-2.0 */
#include "pasttest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/summary.h"

#define STEP_MS 10

/* A test cannot go on without what it is made of. */
static void need(bool it, const char *what)
{
	if (it)
		return;
	fprintf(stderr, "pasttest: cannot %s\n", what);
	abort();
}

static int take_bytes(void *ctx, const char *bytes, size_t len)
{
	struct maker *m = ctx;

	need(vec_reserve(&m->bytes, len), "keep bytes");
	memcpy(m->bytes.at + m->bytes.n, bytes, len);
	m->bytes.n += len;
	return 0;
}

void maker_begin(struct maker *m, const char *host, uint64_t unix_ns)
{
	struct record_run run = { .unix_ns = unix_ns,
				  .interval_ns = STEP_MS * PAST_MS,
				  .cpus = 4 };

	*m = (struct maker){ .strings = strtab_new(), .stacks = stacks_new() };
	need(m->strings && m->stacks, "make tables");
	m->rec = recorder_new(m->strings, m->stacks, RECORDER_ZLIB);
	need(m->rec, "make a recorder");
	run.host = maker_string(m, host);
	run.version = maker_string(m, "0.1.0");
	run.title = maker_string(m, PAST_APP);
	run.events = maker_string(m, "connector");
	run.oncpu = maker_string(m, "switches");
	recorder_run(m->rec, &run);
}

void maker_free(struct maker *m)
{
	recorder_free(m->rec);
	stacks_free(m->stacks);
	strtab_free(m->strings);
	vec_free(&m->bytes);
	*m = (struct maker){ 0 };
}

uint32_t maker_string(struct maker *m, const char *text)
{
	uint32_t id = strtab_id(m->strings, text, strlen(text));

	need(id != STRTAB_NONE, "keep a string");
	return id;
}

uint32_t maker_process(struct maker *m, uint32_t parent, int32_t pid,
		       uint64_t born_ms)
{
	struct record_process process = { .parent = parent,
					  .pid = pid,
					  .born_ns = born_ms * PAST_MS,
					  .uid = 1000 };

	return recorder_process(m->rec, &process);
}

uint32_t maker_image(struct maker *m, uint32_t process, uint64_t at_ms,
		     const char *command, const char *python)
{
	struct record_image image = { .process = process,
				      .at_ns = at_ms * PAST_MS,
				      .command = maker_string(m, command),
				      .python = maker_string(m, python) };

	return recorder_image(m->rec, &image);
}

uint32_t maker_thread(struct maker *m, uint32_t process, uint32_t image,
		      int32_t tid, uint64_t born_ms, const char *name)
{
	struct record_thread thread = { .process = process,
					.image = image,
					.tid = tid,
					.born_ns = born_ms * PAST_MS };
	uint32_t number = recorder_thread(m->rec, &thread);

	if (name)
		recorder_thread_name(m->rec, number, maker_string(m, name));
	return number;
}

void maker_process_end(struct maker *m, uint32_t process, uint64_t at_ms,
		       int verdict, int status)
{
	struct record_process_end end = { .process = process,
					  .at_ns = at_ms * PAST_MS,
					  .verdict = (uint8_t)verdict,
					  .left = status >= 0,
					  .has_status = status >= 0,
					  .status = status >= 0 ? status : 0 };

	recorder_process_end(m->rec, &end);
}

uint32_t maker_push(struct maker *m, uint32_t parent, const char *file,
		    const char *function, int32_t line)
{
	struct frame frame = { .function = maker_string(m, function),
			       .file = maker_string(m, file),
			       .line = line };
	uint32_t number = stacks_frame(m->stacks, &frame);
	uint32_t stack = stacks_push(m->stacks, parent, number);

	need(number != STACKS_NONE && stack != STACKS_NONE, "keep a stack");
	return stack;
}

uint32_t maker_stack(struct maker *m, const char *text)
{
	uint32_t stack = STACKS_EMPTY;
	char file[64], function[64];
	int line, len;

	while (*text) {
		need(sscanf(text, "%63[^:]:%63[^:]:%d%n", file, function, &line,
			    &len) == 3,
		     "read a stack");
		stack = maker_push(m, stack, file, function, line);
		text += len;
		text += *text == ';';
	}
	return stack;
}

void maker_slice(struct maker *m, const struct slice *slice)
{
	recorder_slice(m->rec, slice);
}

void maker_busy(struct maker *m, uint32_t thread, uint64_t from_ms,
		uint64_t wall_ms, uint32_t stack)
{
	struct slice slice = {
		.thread = thread,
		.start_ns = from_ms * PAST_MS,
		.seen = { .stack = stack, .run = RUN_ON_CPU, .gil = GIL_HELD },
		.weight = { .wall_ns = wall_ms * PAST_MS,
			    .cpu_ns = wall_ms * PAST_MS,
			    .samples = wall_ms / STEP_MS }
	};

	recorder_slice(m->rec, &slice);
}

void maker_idle(struct maker *m, uint32_t thread, uint64_t from_ms,
		uint64_t wall_ms, uint32_t stack, enum wait_kind wait)
{
	struct slice slice = {
		.thread = thread,
		.start_ns = from_ms * PAST_MS,
		.seen = { .stack = stack,
			  .run = RUN_IDLE,
			  .gil = wait == WAIT_GIL ? GIL_WAITED : GIL_NONE,
			  .wait = (uint8_t)wait },
		.weight = { .wall_ns = wall_ms * PAST_MS,
			    .samples = wall_ms / STEP_MS },
	};

	recorder_slice(m->rec, &slice);
}

void maker_flush(struct maker *m, uint64_t now_ms)
{
	need(!recorder_flush(m->rec, now_ms * PAST_MS, take_bytes, m),
	     "write a recording");
}

int past_add(struct past *p, const char *bytes, size_t len)
{
	/* Of the very length, so that a read beyond it is found out. */
	char *copy = malloc(len ? len : 1);

	need(copy, "copy bytes");
	if (len)
		memcpy(copy, bytes, len);
	if (!p->h)
		p->h = history_new();
	need(p->h && vec_push(&p->bytes, copy), "make a history");
	return history_add(p->h, copy, len);
}

void past_take(struct past *p, struct maker *m)
{
	need(!past_add(p, m->bytes.at, m->bytes.n), "read a recording");
	maker_free(m);
}

void past_free(struct past *p)
{
	history_free(p->h);
	for (size_t i = 0; i < p->bytes.n; i++)
		free(p->bytes.at[i]);
	vec_free(&p->bytes);
	p->h = NULL;
}

uint32_t past_string(const struct past *p, const char *text)
{
	for (uint32_t i = 0; i < strtab_count(p->h->strings); i++) {
		size_t len;
		const char *at = strtab_get(p->h->strings, i, &len);

		if (len == strlen(text) && !memcmp(at, text, len))
			return i;
	}
	need(false, "find a string");
	return STRTAB_NONE;
}

#define MAIN "app.py:<module>:41;app.py:main:12;"
#define RUN "threading.py:run:5;"

static void small_members(struct maker *m)
{
	struct record_process second = { .parent = 0,
					 .pid = 102,
					 .ns_pid = 7,
					 .born_ns = 100 * PAST_MS,
					 .pid_ns = 4026532000,
					 .uid = 1000 };
	struct record_process third = {
		.parent = 0, .pid = 103, .born_ns = 200 * PAST_MS, .uid = 1000
	};

	maker_process(m, RECORD_NONE, 100, 0);
	maker_image(m, 0, 0, PAST_APP, "3.11.2");
	maker_thread(m, 0, 0, 100, 0, "python3");
	maker_process(m, 0, 101, 100);
	maker_image(m, 1, 100, PAST_APP, "3.11.2");
	recorder_process(m->rec, &second);
	maker_image(m, 2, 100, PAST_APP, "3.11.2");
	third.cgroup = maker_string(m, "/system.slice/app.service");
	recorder_process(m->rec, &third);
	maker_image(m, 3, 200, PAST_APP, "3.11.2");
	maker_process(m, 0, 104, 300);
	maker_image(m, 4, 300, PAST_APP, "3.11.2");
	maker_thread(m, 0, 0, 110, 100, PAST_FEEDER);
	maker_thread(m, 1, 1, 101, 100, "MainThread");
	maker_thread(m, 2, 2, 102, 100, "MainThread");
	maker_thread(m, 3, 3, 103, 200, "MainThread");
	maker_thread(m, 4, 4, 104, 300, "MainThread");
	/* Its name becomes known after a while. */
	recorder_thread_name(m->rec, 0, maker_string(m, "MainThread"));
}

static void small_first_second(struct maker *m)
{
	maker_busy(m, 0, 0, 100, maker_stack(m, "app.py:<module>:40"));
	maker_busy(m, 2, 100, 400, maker_stack(m, MAIN "app.py:work:30"));
	maker_busy(m, 5, 300, 200, maker_stack(m, MAIN "os.py:exec:600"));
	recorder_thread_end(m->rec, 5, 500 * PAST_MS);
	maker_image(m, 4, 500, PAST_SH, "");
	maker_idle(m, 4, 200, 500, maker_stack(m, MAIN "pool.py:get:51"),
		   WAIT_SOCKET);
	maker_idle(m, 2, 500, 200, maker_stack(m, MAIN "app.py:work:30"),
		   WAIT_GIL);
	maker_idle(m, 2, 700, 200, maker_stack(m, MAIN "pool.py:get:50"),
		   WAIT_PIPE);
	recorder_thread_end(m->rec, 2, 900 * PAST_MS);
	maker_process_end(m, 1, 900, VERDICT_SAMPLED, 1 << 8);
	/* What has not ended yet: a crash would leave no more than this. */
	recorder_stand(m->rec,
		       &(struct record_stand){
			       .thread = 0,
			       .start_ns = 100 * PAST_MS,
			       .seen = { .stack = maker_stack(
						 m, MAIN "pool.py:wait:90"),
					 .run = RUN_IDLE,
					 .gil = GIL_NONE,
					 .wait = WAIT_PROCESS } });
	maker_flush(m, 1000);
}

static void small_evil(struct maker *m)
{
	uint32_t stack = maker_push(m, STACKS_EMPTY, "evil.py", PAST_NAIVE, 1);
	struct slice slice = { .thread = 6,
			       .start_ns = 1000 * PAST_MS,
			       .seen = { .stack = stack, .run = RUN_ON_CPU },
			       .weight = { .wall_ns = 400 * PAST_MS,
					   .cpu_ns = 400 * PAST_MS,
					   .samples = 40 } };

	maker_process(m, 3, 101, 1000);
	maker_image(m, 5, 1000, PAST_EVIL, "");
	recorder_image_python(m->rec, 6, maker_string(m, "3.12.1"));
	maker_thread(m, 5, 6, 101, 1000, NULL);
	maker_slice(m, &slice);
	slice.start_ns = 1400 * PAST_MS;
	slice.seen.run = RUN_STOPPED;
	slice.weight =
		(struct weight){ .wall_ns = 200 * PAST_MS, .samples = 20 };
	maker_slice(m, &slice);
	maker_idle(m, 6, 1600, 200, STACKS_EMPTY, WAIT_TIME);
	recorder_thread_end(m->rec, 6, 1800 * PAST_MS);
	maker_process_end(m, 5, 1800, VERDICT_SAMPLED, 0);
}

static void small_last_second(struct maker *m)
{
	uint32_t run = maker_stack(m, "threading.py:run:5");
	struct slice slice = {
		.thread = 4,
		.start_ns = 900 * PAST_MS,
		.seen = { .stack = maker_stack(m, MAIN "app.py:work:30"),
			  .run = RUN_ON_CPU,
			  .gil = GIL_HELD },
		.weight = { .wall_ns = 600 * PAST_MS,
			    .cpu_ns = 600 * PAST_MS,
			    .samples = 40 },
	};

	maker_idle(m, 0, 100, 1900, maker_stack(m, MAIN "pool.py:wait:90"),
		   WAIT_PROCESS);
	maker_idle(m, 1, 100, 1000, maker_stack(m, RUN "pool.py:feed:20"),
		   WAIT_POLL);
	maker_busy(m, 1, 1100, 100,
		   maker_push(m, run, PAST_FILE, PAST_FUNCTION, 7));
	maker_idle(m, 1, 1200, 800, maker_stack(m, RUN "pool.py:feed:21"),
		   WAIT_GIL);
	maker_slice(m, &slice);
	maker_busy(m, 4, 1300, 700, maker_stack(m, MAIN "app.py:work:31"));
	slice.thread = 3;
	slice.start_ns = 100 * PAST_MS;
	slice.seen.stack = maker_stack(m, MAIN "app.py:work:31");
	slice.weight = (struct weight){ .wall_ns = 1000 * PAST_MS,
					.cpu_ns = 900 * PAST_MS,
					.samples = 100 };
	maker_slice(m, &slice);
	maker_idle(m, 3, 1100, 400, maker_stack(m, MAIN "pool.py:get:50"),
		   WAIT_LOCK);
	recorder_thread_end(m->rec, 3, 1500 * PAST_MS);
	maker_process_end(m, 2, 1500, VERDICT_SAMPLED, 9);
	maker_process_end(m, 4, 1200, VERDICT_SAMPLED, 0);
}

void maker_small(struct maker *m, const char *host, uint64_t unix_ns)
{
	struct record_note note = { .kind = NOTE_LOST,
				    .at_ns = 1250 * PAST_MS,
				    .value = 3 };

	maker_begin(m, host, unix_ns);
	small_members(m);
	small_first_second(m);
	small_evil(m);
	recorder_note(m->rec, &note);
	small_last_second(m);
	for (uint32_t thread = 0; thread <= 4; thread++)
		if (thread != 2 && thread != 3)
			recorder_thread_end(m->rec, thread, 2000 * PAST_MS);
	maker_process_end(m, 3, 2000, VERDICT_SAMPLED, -1);
	maker_process_end(m, 0, 2000, VERDICT_SAMPLED, 0);
	recorder_summary(m->rec, PAST_SUMMARY, sizeof(PAST_SUMMARY) - 1);
	maker_flush(m, 2000);
}

void past_small(struct past *p)
{
	struct maker m;

	*p = (struct past){ 0 };
	maker_small(&m, "host", PAST_UNIX_NS);
	past_take(p, &m);
}

void past_reborn(struct past *p)
{
	struct maker m;

	*p = (struct past){ 0 };
	maker_begin(&m, "host", PAST_UNIX_NS);
	maker_process(&m, RECORD_NONE, 1, 0);
	for (uint32_t i = 0; i < 2; i++) {
		maker_image(&m, 0, i * 1000, PAST_APP, "3.11.2");
		maker_thread(&m, 0, i, 5 + (int32_t)i, i * 1000, "Thread-7");
	}
	maker_busy(&m, 0, 0, 1000, maker_stack(&m, "a.py:f:1"));
	/* Half of it is of before, when no sample had hit: it has no place. */
	maker_busy(&m, 1, 1500, 1000, maker_stack(&m, "a.py:f:1"));
	recorder_thread_end(m.rec, 0, 1000 * PAST_MS);
	recorder_thread_end(m.rec, 1, 2000 * PAST_MS);
	maker_flush(&m, 3000);
	past_take(p, &m);
}

int past_setup(void **state)
{
	struct past *p = calloc(1, sizeof(*p));

	*state = p;
	if (!p)
		return -1;
	past_small(p);
	return 0;
}

int past_teardown(void **state)
{
	past_free(*state);
	free(*state);
	return 0;
}
