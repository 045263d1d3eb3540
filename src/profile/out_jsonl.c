/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_jsonl_internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "profile/out.h"
#include "profile/roles.h"

/*
 * JSON lines, for scripts: an object a line, whose "type" says what it is.
 * Times and weights (*_ns) are nanoseconds, times since the start of the
 * (first) recording. "process" is a number that is not used again, as pids are.
 *
 *   meta     first: format, version (1), processes, threads (how many there
 *            will be), runs (host, title, forkflame, events, oncpu, cpus,
 *            interval_ns, start_unix_ns, start_ns, end_ns, end: whole, running,
 *            cut or damaged; bytes, and bytes_good: how many of them could be
 *            read)
 *   process  a birth: process, pid, ppid, parent (a process), run (index),
 *            born_ns, before (the run), command, python, uid; where known
 *            ns_pid, pid_ns (its PID namespace), cgroup
 *   exec     process, pid, at_ns, command, python
 *   frame    a definition: id, function, file, line (0: none)
 *   stack    a definition: id, frames (their ids, the root first)
 *   slice    what a thread did for a time, and what that weighs: process, pid,
 *            ppid, tid, thread (name), start_ns, wall_ns, cpu_ns, samples,
 *            state (cpu, idle, stopped), gil (held, waited, none, null), wait
 *            (gil, lock, pipe, socket, file, poll, time, process, signal,
 *            other, null), stack
 *   note     kind (lost, rate, gap, late), at_ns, value
 *   end      process, pid, at_ns, left (false: it lived on), exit or signal
 *            (null), verdict
 *   roles    roles: the pools, as roles_json.c tells
 *   summary  last: slices, wall_ns, cpu_ns, samples, gil_ns of the slices
 *            above, end_ns, counts (of each run its own summary, JSON in a
 *            string)
 *
 * Definitions and births come before their first use. Slices of one thread are
 * in the order of time, those of different threads as they were recorded.
 * Births, execs, ends and notes are in the order of time, and stand before the
 * first slice that begins later.
 */

void jsonl_begin(struct jsonl *v, const char *type)
{
	v->sink.json.comma = false;
	json_open(&v->sink.json, '{');
	json_put_text(&v->sink.json, "type", type);
}

int jsonl_end(struct jsonl *v)
{
	json_close(&v->sink.json, '}');
	str_puts(&v->sink.text, "\n");
	return sink_pass(&v->sink);
}

void jsonl_u64(struct jsonl *v, const char *key, uint64_t value)
{
	json_key(&v->sink.json, key);
	sink_u64(&v->sink, value);
}

void jsonl_i64(struct jsonl *v, const char *key, int64_t value)
{
	json_key(&v->sink.json, key);
	sink_i64(&v->sink, value);
}

void jsonl_bool(struct jsonl *v, const char *key, bool value)
{
	json_key(&v->sink.json, key);
	json_bool(&v->sink.json, value);
}

void jsonl_id(struct jsonl *v, const char *key, uint32_t id)
{
	json_key(&v->sink.json, key);
	sink_id(&v->sink, v->tl.history->strings, id);
}

void jsonl_null(struct jsonl *v, const char *key)
{
	json_put_text(&v->sink.json, key, NULL);
}

void jsonl_process(struct jsonl *v, uint32_t process)
{
	jsonl_u64(v, "process", process);
	jsonl_i64(v, "pid", v->tl.history->processes.at[process].pid);
}

void jsonl_ppid(struct jsonl *v, uint32_t process)
{
	const struct history *h = v->tl.history;
	uint32_t parent = h->processes.at[process].parent;

	if (parent == HISTORY_NONE)
		jsonl_null(v, "ppid");
	else
		jsonl_i64(v, "ppid", h->processes.at[parent].pid);
}

static void put_weight(struct jsonl *v, struct weight weight)
{
	jsonl_u64(v, "wall_ns", weight.wall_ns);
	jsonl_u64(v, "cpu_ns", weight.cpu_ns);
	jsonl_u64(v, "samples", weight.samples);
}

static const char *end_text(enum recording_end end)
{
	switch (end) {
	case RECORDING_WHOLE:
		return "whole";
	case RECORDING_RUNNING:
		return "running";
	case RECORDING_CUT:
		return "cut";
	case RECORDING_DAMAGED:
		break;
	}
	return "damaged";
}

static void add_run(struct jsonl *v, const struct past_run *past)
{
	json_open(&v->sink.json, '{');
	jsonl_id(v, "host", past->run.host);
	jsonl_id(v, "title", past->run.title);
	jsonl_id(v, "forkflame", past->run.version);
	jsonl_id(v, "events", past->run.events);
	jsonl_id(v, "oncpu", past->run.oncpu);
	jsonl_u64(v, "cpus", past->run.cpus);
	jsonl_u64(v, "interval_ns", past->run.interval_ns);
	jsonl_u64(v, "start_unix_ns", past->run.unix_ns);
	jsonl_u64(v, "start_ns", past->shift_ns);
	jsonl_u64(v, "end_ns", past->end_ns);
	json_put_text(&v->sink.json, "end", end_text(past->end));
	jsonl_u64(v, "bytes", past->size);
	jsonl_u64(v, "bytes_good", past->good);
	json_close(&v->sink.json, '}');
}

static int add_meta(struct jsonl *v)
{
	const struct history *h = v->tl.history;
	uint64_t processes = 0, threads = 0;

	for (size_t i = 0; i < h->processes.n; i++)
		processes += v->tl.selection.processes[i];
	for (size_t i = 0; i < h->threads.n; i++)
		threads += v->tl.selection.threads[i];
	jsonl_begin(v, "meta");
	json_put_text(&v->sink.json, "format", "forkflame-jsonl");
	jsonl_u64(v, "version", 1);
	jsonl_u64(v, "processes", processes);
	jsonl_u64(v, "threads", threads);
	json_key(&v->sink.json, "runs");
	json_open(&v->sink.json, '[');
	for (size_t i = 0; i < h->runs.n; i++)
		add_run(v, &h->runs.at[i]);
	json_close(&v->sink.json, ']');
	return jsonl_end(v);
}

static int define_frame(struct jsonl *v, uint32_t number)
{
	struct frame frame;

	while (v->frames.n <= number)
		if (!vec_push(&v->frames, false))
			return -ENOMEM;
	if (v->frames.at[number])
		return 0;
	v->frames.at[number] = true;
	frame = timeline_frame(&v->tl, number);
	jsonl_begin(v, "frame");
	jsonl_u64(v, "id", number);
	jsonl_id(v, "function", frame.function);
	jsonl_id(v, "file", frame.file);
	jsonl_i64(v, "line", frame.line);
	return jsonl_end(v);
}

static int define_stack(struct jsonl *v, uint32_t stack)
{
	int r;

	while (v->stacks.n <= stack)
		if (!vec_push(&v->stacks, false))
			return -ENOMEM;
	if (v->stacks.at[stack])
		return 0;
	v->stacks.at[stack] = true;
	r = timeline_stack(&v->tl, stack);
	for (size_t i = 0; !r && i < v->tl.frames.n; i++)
		r = define_frame(v, v->tl.frames.at[i]);
	if (r)
		return r;
	jsonl_begin(v, "stack");
	jsonl_u64(v, "id", stack);
	json_key(&v->sink.json, "frames");
	json_open(&v->sink.json, '[');
	for (size_t i = 0; i < v->tl.frames.n; i++)
		sink_u64(&v->sink, v->tl.frames.at[i]);
	json_close(&v->sink.json, ']');
	return jsonl_end(v);
}

static void count(struct jsonl *v, const struct slice *slice)
{
	v->slices++;
	v->total.wall_ns += slice->weight.wall_ns;
	v->total.cpu_ns += slice->weight.cpu_ns;
	v->total.samples += slice->weight.samples;
	v->gil_ns += timeline_amount(slice, OUT_GIL);
}

/* A slice up to its "start_ns", which is the same for all of a thread. */
static int begin_slice(struct jsonl *v, uint32_t thread)
{
	const struct past_thread *t = &v->tl.history->threads.at[thread];
	struct str *to = &v->sink.text;
	size_t at = to->len;

	v->sink.json.comma = false;
	if (texts_add(&v->threads, thread, to))
		return 0;
	jsonl_begin(v, "slice");
	jsonl_process(v, t->process);
	jsonl_ppid(v, t->process);
	jsonl_i64(v, "tid", t->tid);
	jsonl_id(v, "thread", t->name);
	json_key(&v->sink.json, "start_ns");
	return texts_keep(&v->threads, thread, to, at);
}

static void put_text(struct jsonl *v, const char *key, const char *text)
{
	struct str *to = &v->sink.text;

	/* One of our own words: nothing to escape. */
	str_puts(to, key);
	str_puts(to, text ? "\"" : "null");
	if (text) {
		str_puts(to, text);
		str_puts(to, "\"");
	}
}

/* There may be millions of these: they are put together from pieces. */
static int add_slice(void *ctx, const struct slice *slice)
{
	struct jsonl *v = ctx;
	struct sink *sink = &v->sink;
	int r;

	r = jsonl_happenings(v, slice->start_ns);
	if (!r)
		r = jsonl_birth(
			v, v->tl.history->threads.at[slice->thread].process);
	if (!r)
		r = define_stack(v, slice->seen.stack);
	if (!r)
		r = begin_slice(v, slice->thread);
	if (r)
		return r;
	count(v, slice);
	sink_u64(sink, slice->start_ns);
	sink_field(sink, ",\"wall_ns\":");
	sink_u64(sink, slice->weight.wall_ns);
	sink_field(sink, ",\"cpu_ns\":");
	sink_u64(sink, slice->weight.cpu_ns);
	sink_field(sink, ",\"samples\":");
	sink_u64(sink, slice->weight.samples);
	put_text(v, ",\"state\":", timeline_run_text(slice->seen.run));
	put_text(v, ",\"gil\":", timeline_gil_text(slice->seen.gil));
	put_text(v, ",\"wait\":", timeline_wait_text(slice->seen.wait));
	sink_field(sink, ",\"stack\":");
	sink_u64(sink, slice->seen.stack);
	return jsonl_end(v);
}

/* Which processes were one pool, and how that did. */
static int add_roles(struct jsonl *v, const struct query *query)
{
	struct roles roles = { 0 };
	int r = roles_make(&roles, v->tl.history, query);

	if (!r) {
		jsonl_begin(v, "roles");
		json_key(&v->sink.json, "roles");
		roles_json(&roles, v->tl.history, &v->sink.json);
		r = jsonl_end(v);
	}
	roles_free(&roles);
	return r;
}

static int add_summary(struct jsonl *v)
{
	const struct history *h = v->tl.history;
	struct json *j = &v->sink.json;

	jsonl_begin(v, "summary");
	jsonl_u64(v, "slices", v->slices);
	put_weight(v, v->total);
	jsonl_u64(v, "gil_ns", v->gil_ns);
	jsonl_u64(v, "end_ns", h->end_ns);
	/* What the runs counted is JSON in itself, but comes from a file and
	 * need not be well-formed: it stays a string. */
	json_key(j, "counts");
	json_open(j, '[');
	for (size_t i = 0; i < h->runs.n; i++)
		json_text(j, h->runs.at[i].summary);
	json_close(j, ']');
	return jsonl_end(v);
}

int out_jsonl(const struct history *h, const struct query *query,
	      const struct out_options *options, out_write write, void *ctx)
{
	struct jsonl v = { 0 };
	int r;

	(void)options;
	sink_open(&v.sink, write, ctx);
	v.told = calloc(h->processes.n + 1, sizeof(*v.told));
	r = timeline_open(&v.tl, h, query);
	if (!r && !v.told)
		r = -ENOMEM;
	if (!r)
		r = add_meta(&v);
	if (!r)
		r = jsonl_plan(&v);
	if (!r)
		r = timeline_slices(&v.tl, add_slice, &v);
	if (!r)
		r = jsonl_happenings(&v, UINT64_MAX);
	if (!r)
		r = add_roles(&v, query);
	if (!r)
		r = add_summary(&v);
	if (!r)
		r = sink_end(&v.sink);
	timeline_close(&v.tl);
	sink_free(&v.sink);
	free(v.told);
	texts_free(&v.threads);
	vec_free(&v.happenings);
	vec_free(&v.frames);
	vec_free(&v.stacks);
	return r;
}
