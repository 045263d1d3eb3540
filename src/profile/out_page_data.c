/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "profile/roles.h"

/*
 * The data that the page's script reads (see page_data.js), a JSON object.
 * Times are in microseconds of the history's time unless a key says otherwise;
 * texts are indices of "strings"; -1 is none.
 *
 *   title, value, group, frames_as  what was run; how it is first shown
 *   from, until, tick_ns            the time that is shown, and a span's unit
 *   runs       objects: host, version, title, how it ended, its summary's text
 *   notes      objects: kind, at, value
 *   processes, images, threads      objects of arrays of the same length
 *   frames, stacks, spans, base     see out_page_columns.c
 *   roles      see roles.h
 *   source     see out_page_source.c
 *   strings    every text
 */

static void put_string(struct page *page, struct json *j, const char *key,
		       uint32_t string)
{
	const struct strtab *strings = page->own.history->strings;
	const char *bytes = "";
	size_t len = 0;

	if (string < strtab_count(strings))
		bytes = strtab_get(strings, string, &len);
	json_key(j, key);
	json_string(j, bytes, len);
}

static uint64_t micros(uint64_t ns)
{
	return ns / NSEC_PER_USEC;
}

static void put_head(struct page *page, struct json *j)
{
	static const char *const values[] = { [OUT_WALL] = "wall",
					      [OUT_CPU] = "cpu",
					      [OUT_SAMPLES] = "samples",
					      [OUT_GIL] = "gil" };
	static const char *const groups[] = { [GROUP_PROCESS] = "process",
					      [GROUP_THREAD] = "thread",
					      [GROUP_ROLE] = "role",
					      [GROUP_ALL] = "all" };
	static const char *const frames[] = { [FRAMES_LINES] = "line",
					      [FRAMES_FUNCTIONS] = "function",
					      [FRAMES_FILES] = "file" };
	const struct history *h = page->own.history;
	const struct query *query = page->query;
	uint64_t until = query->until_ns < h->end_ns ? query->until_ns
						     : h->end_ns;

	json_put_text(j, "title", page->options->title);
	json_put_text(j, "value", values[page->options->value]);
	json_put_text(j, "group", groups[query->group]);
	json_put_text(j, "frames_as", frames[query->frames]);
	json_put_u64(j, "from", micros(query->since_ns));
	json_put_u64(j, "until", micros(until));
	json_put_u64(j, "tick_ns", page->spans.tick_ns);
	json_key(j, "has_gil");
	json_bool(j, h->has_gil);
}

static void put_run(struct page *page, struct json *j,
		    const struct past_run *run)
{
	static const char *const ends[] = { [RECORDING_WHOLE] = "whole",
					    [RECORDING_RUNNING] = "running",
					    [RECORDING_CUT] = "cut",
					    [RECORDING_DAMAGED] = "damaged" };

	json_open(j, '{');
	put_string(page, j, "host", run->run.host);
	put_string(page, j, "version", run->run.version);
	put_string(page, j, "title", run->run.title);
	put_string(page, j, "events", run->run.events);
	put_string(page, j, "oncpu", run->run.oncpu);
	json_put_u64(j, "unix_ms", run->run.unix_ns / NSEC_PER_MSEC);
	json_put_u64(j, "interval", micros(run->run.interval_ns));
	json_put_u64(j, "cpus", run->run.cpus);
	json_put_u64(j, "shift", micros(run->shift_ns));
	json_put_u64(j, "end_at", micros(run->end_ns));
	json_put_text(j, "end", ends[run->end]);
	json_put_u64(j, "good", run->good);
	json_put_u64(j, "size", run->size);
	/* As a text: it is somebody else's JSON, and may be none. */
	json_put_text(j, "summary", run->summary);
	json_close(j, '}');
}

static void put_runs(struct page *page, struct json *j)
{
	const struct history *h = page->own.history;

	json_key(j, "runs");
	json_open(j, '[');
	for (size_t i = 0; i < h->runs.n; i++)
		put_run(page, j, &h->runs.at[i]);
	json_close(j, ']');
	json_key(j, "notes");
	json_open(j, '[');
	for (size_t i = 0; i < h->notes.n; i++) {
		json_open(j, '{');
		json_put_u64(j, "kind", h->notes.at[i].kind);
		json_put_u64(j, "at", micros(h->notes.at[i].at_ns));
		json_put_u64(j, "value", h->notes.at[i].value);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* A number that stands for something which may not be shown, or be none. */
static int64_t number(const uint32_t *numbers, uint32_t old)
{
	if (old == HISTORY_NONE || numbers[old] == HISTORY_NONE)
		return -1;
	return numbers[old];
}

enum process_column {
	PROCESS_NUMBER, /* in the recordings, as roles name them */
	PROCESS_PID,
	PROCESS_NS_PID,
	PROCESS_AGAIN,
	PROCESS_RUN,
	PROCESS_PARENT,
	PROCESS_BORN,
	PROCESS_LEFT,
	PROCESS_ENDED,
	PROCESS_STATUS,
	PROCESS_BEFORE,
	PROCESS_VERDICT,
	PROCESS_COLUMNS,
};

static int64_t process_value(const struct page *page,
			     const struct past_process *process,
			     enum process_column column)
{
	switch (column) {
	case PROCESS_NUMBER:
		return process - page->own.history->processes.at;
	case PROCESS_PID:
		return process->pid;
	case PROCESS_NS_PID:
		return process->ns_pid;
	case PROCESS_AGAIN:
		return process->again;
	case PROCESS_RUN:
		return process->run;
	case PROCESS_PARENT:
		return number(page->processes, process->parent);
	case PROCESS_BORN:
		return (int64_t)micros(process->born_ns);
	case PROCESS_LEFT:
		return (int64_t)micros(process->left_ns);
	case PROCESS_ENDED:
		return process->left;
	case PROCESS_STATUS:
		return process->has_status ? process->status : -1;
	case PROCESS_BEFORE:
		return process->before;
	case PROCESS_VERDICT:
		return process->verdict;
	case PROCESS_COLUMNS:
		break;
	}
	return 0;
}

static void put_processes(struct page *page, struct json *j)
{
	static const char *const keys[PROCESS_COLUMNS] = {
		[PROCESS_NUMBER] = "number", [PROCESS_PID] = "pid",
		[PROCESS_NS_PID] = "ns_pid", [PROCESS_AGAIN] = "again",
		[PROCESS_RUN] = "run",       [PROCESS_PARENT] = "parent",
		[PROCESS_BORN] = "born",     [PROCESS_LEFT] = "left",
		[PROCESS_ENDED] = "ended",   [PROCESS_STATUS] = "status",
		[PROCESS_BEFORE] = "before", [PROCESS_VERDICT] = "verdict",
	};
	const struct history *h = page->own.history;

	json_key(j, "processes");
	json_open(j, '{');
	for (int column = 0; column < PROCESS_COLUMNS; column++) {
		json_key(j, keys[column]);
		json_open(j, '[');
		for (size_t i = 0; i < h->processes.n; i++)
			if (page->processes[i] != HISTORY_NONE)
				json_i64(j, process_value(page,
							  &h->processes.at[i],
							  column));
		json_close(j, ']');
	}
	json_close(j, '}');
}

enum image_column {
	IMAGE_PROCESS,
	IMAGE_AT,
	IMAGE_UNTIL,
	IMAGE_COMMAND,
	IMAGE_PYTHON,
	IMAGE_COLUMNS,
};

static int64_t image_value(struct page *page, const struct past_image *image,
			   enum image_column column)
{
	switch (column) {
	case IMAGE_PROCESS:
		return number(page->processes, image->process);
	case IMAGE_AT:
		return (int64_t)micros(image->at_ns);
	case IMAGE_UNTIL:
		return (int64_t)micros(image->until_ns);
	case IMAGE_COMMAND:
		return page_text(page, &page->own, image->command);
	case IMAGE_PYTHON:
		return page_text(page, &page->own, image->python);
	case IMAGE_COLUMNS:
		break;
	}
	return 0;
}

/* Only those of processes that are shown: in their order, so neighbours. */
static void put_images(struct page *page, struct json *j)
{
	static const char *const keys[IMAGE_COLUMNS] = {
		[IMAGE_PROCESS] = "process", [IMAGE_AT] = "at",
		[IMAGE_UNTIL] = "until",     [IMAGE_COMMAND] = "command",
		[IMAGE_PYTHON] = "python",
	};
	const struct history *h = page->own.history;
	const struct past_image *image;

	json_key(j, "images");
	json_open(j, '{');
	for (int column = 0; column < IMAGE_COLUMNS; column++) {
		json_key(j, keys[column]);
		json_open(j, '[');
		for (size_t i = 0; i < h->images.n; i++) {
			image = &h->images.at[i];
			if (page->processes[image->process] != HISTORY_NONE)
				json_i64(j, image_value(page, image, column));
		}
		json_close(j, ']');
	}
	json_close(j, '}');
}

enum thread_column {
	THREAD_PROCESS,
	THREAD_COMMAND,
	THREAD_TID,
	THREAD_NAME,
	THREAD_BORN,
	THREAD_LEFT,
	THREAD_MAIN,
	THREAD_COLUMNS,
};

static int64_t thread_value(struct page *page, const struct past_thread *thread,
			    enum thread_column column)
{
	const struct history *h = page->own.history;

	switch (column) {
	case THREAD_PROCESS:
		return number(page->processes, thread->process);
	case THREAD_COMMAND:
		return page_text(page, &page->own,
				 h->images.at[thread->image].command);
	case THREAD_TID:
		return thread->tid;
	case THREAD_NAME:
		return page_text(page, &page->own, thread->name);
	case THREAD_BORN:
		return (int64_t)micros(thread->born_ns);
	case THREAD_LEFT:
		return (int64_t)micros(thread->end_ns);
	case THREAD_MAIN:
		return thread->main;
	case THREAD_COLUMNS:
		break;
	}
	return 0;
}

static void put_threads(struct page *page, struct json *j)
{
	static const char *const keys[THREAD_COLUMNS] = {
		[THREAD_PROCESS] = "process", [THREAD_COMMAND] = "command",
		[THREAD_TID] = "tid",         [THREAD_NAME] = "name",
		[THREAD_BORN] = "born",       [THREAD_LEFT] = "left",
		[THREAD_MAIN] = "main",
	};
	const struct history *h = page->own.history;

	json_key(j, "threads");
	json_open(j, '{');
	for (int column = 0; column < THREAD_COLUMNS; column++) {
		json_key(j, keys[column]);
		json_open(j, '[');
		for (size_t i = 0; i < h->threads.n; i++)
			if (page->threads[i] != HISTORY_NONE)
				json_i64(j,
					 thread_value(page, &h->threads.at[i],
						      column));
		json_close(j, ']');
	}
	json_close(j, '}');
}

static int put_roles(struct page *page, struct json *j)
{
	struct roles roles = { 0 };
	int r = roles_make(&roles, page->own.history, page->query);

	if (!r) {
		json_key(j, "roles");
		roles_json(&roles, page->own.history, j);
	}
	roles_free(&roles);
	return r;
}

static void put_strings(const struct page *page, struct json *j)
{
	json_key(j, "strings");
	json_open(j, '[');
	for (uint32_t i = 0; i < strtab_count(page->texts); i++) {
		size_t len;
		const char *bytes = strtab_get(page->texts, i, &len);

		json_string(j, bytes, len);
	}
	json_close(j, ']');
}

int page_data(struct page *page)
{
	struct json j = { .to = &page->data };
	int r;

	json_open(&j, '{');
	put_head(page, &j);
	put_runs(page, &j);
	put_processes(page, &j);
	put_images(page, &j);
	put_threads(page, &j);
	r = page_columns(page, &j);
	if (!r)
		r = put_roles(page, &j);
	if (!r)
		r = page_source(page, &j);
	/* The last: what is above has given them their numbers. */
	if (!r)
		put_strings(page, &j);
	json_close(&j, '}');
	if (!r && page->data.failed)
		r = -ENOMEM;
	return r;
}
