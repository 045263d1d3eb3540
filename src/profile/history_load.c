/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/history.h"
#include "profile/history_internal.h"
#include "profile/history_load.h"

/* The first reading of a file: who and when. What was done is only added up. */

static uint32_t number_at(const struct numbers *numbers, uint32_t i)
{
	return i < numbers->n ? numbers->at[i] : HISTORY_NONE;
}

static uint32_t string_at(const struct loading *l, uint32_t i)
{
	return i < l->strings.n ? l->strings.at[i] : 0;
}

/* The history's thread of a file's; NULL: none. */
static struct past_thread *thread_at(const struct loading *l, uint32_t i)
{
	uint32_t thread = i < l->lanes.n ? l->run->thread_of.at[i]
					 : HISTORY_NONE;

	return thread == HISTORY_NONE ? NULL : &l->h->threads.at[thread];
}

static uint64_t time_at(const struct loading *l, uint64_t at_ns)
{
	return history_time(at_ns, l->run->shift_ns);
}

/* The file tells of this moment. Returns it in the history's time. */
static uint64_t reach(struct loading *l, uint64_t at_ns)
{
	uint64_t time_ns = time_at(l, at_ns);

	if (time_ns > l->run->end_ns)
		l->run->end_ns = time_ns;
	return time_ns;
}

static int on_run(struct loading *l, const struct record_run *told)
{
	struct record_run *run = &l->run->run;
	int r;

	if (l->begun)
		return 0; /* a second one says nothing */
	l->begun = true;
	*run = *told;
	run->host = string_at(l, told->host);
	run->version = string_at(l, told->version);
	run->title = string_at(l, told->title);
	run->events = string_at(l, told->events);
	run->oncpu = string_at(l, told->oncpu);
	r = loading_join(l);
	reach(l, run->start_ns);
	return r;
}

static int on_process(struct loading *l, const struct record_process *told)
{
	struct history *h = l->h;
	struct past_process p = {
		.run = l->number,
		.parent = number_at(&l->processes, told->parent),
		.pid = told->pid,
		.ns_pid = told->ns_pid,
		.born_ns = reach(l, told->born_ns),
		.left_ns = time_at(l, told->born_ns),
		.pid_ns = told->pid_ns,
		.uid = told->uid,
		.cgroup = string_at(l, told->cgroup),
		.before = told->before,
	};
	uint32_t i = loading_known_process(l, &p);

	if (i == HISTORY_NONE) {
		i = (uint32_t)h->processes.n;
		if (i >= HISTORY_NONE || !vec_push(&h->processes, p))
			return -ENOMEM;
	}
	return vec_push(&l->processes, i) ? 0 : -ENOMEM;
}

static int on_image(struct loading *l, const struct record_image *told)
{
	struct history *h = l->h;
	struct past_image image = {
		.process = number_at(&l->processes, told->process),
		.at_ns = reach(l, told->at_ns),
		.command = string_at(l, told->command),
		.python = string_at(l, told->python),
		.started = string_at(l, told->command),
	};
	uint32_t i = HISTORY_NONE;

	if (image.process != HISTORY_NONE)
		i = loading_known_image(l, &image);
	if (image.process != HISTORY_NONE && i == HISTORY_NONE) {
		i = (uint32_t)h->images.n;
		if (i >= HISTORY_NONE || !vec_push(&h->images, image))
			return -ENOMEM;
	}
	return vec_push(&l->images, i) ? 0 : -ENOMEM;
}

static int on_thread(struct loading *l, const struct record_thread *told)
{
	struct history *h = l->h;
	uint64_t start_ns = l->run->run.start_ns;
	struct lane lane = { .told_ns = told->born_ns > start_ns ? told->born_ns
								 : start_ns };
	struct past_thread t = {
		.process = number_at(&l->processes, told->process),
		.image = number_at(&l->images, told->image),
		.tid = told->tid,
		.born_ns = reach(l, told->born_ns),
		.end_ns = time_at(l, told->born_ns),
	};
	uint32_t i = HISTORY_NONE;

	if (t.process != HISTORY_NONE) {
		t.main = t.tid == h->processes.at[t.process].pid;
		i = loading_known_thread(l, &t);
		if (i == HISTORY_NONE) {
			i = (uint32_t)h->threads.n;
			if (i >= HISTORY_NONE || !vec_push(&h->threads, t))
				return -ENOMEM;
		}
	}
	return vec_push(&l->run->thread_of, i) && vec_push(&l->lanes, lane)
		       ? 0
		       : -ENOMEM;
}

static void on_slice(struct loading *l, struct slice slice)
{
	struct history *h = l->h;
	struct past_thread *t = thread_at(l, slice.thread);
	struct lane *lane;

	if (!t || slice.seen.stack >= l->run->stack_of.n ||
	    !history_trim(l->run->run.start_ns, &slice))
		return;
	lane = &l->lanes.at[slice.thread];
	history_add_weight(&t->total, &slice.weight);
	lane->told_ns = history_time(lane->told_ns, slice.weight.wall_ns);
	reach(l, slice.start_ns);
	/* Told later and reaching further: it is what had stood. */
	if (lane->stands && history_time(slice.start_ns, slice.weight.wall_ns) >
				    lane->stand.start_ns)
		lane->stands = false;
	h->slices++;
	if (slice.seen.gil == GIL_HELD)
		h->gil_ns += slice.weight.wall_ns;
	h->has_gil |= slice.seen.gil != GIL_UNKNOWN;
}

static void on_stand(struct loading *l, const struct record_stand *told)
{
	struct lane *lane;

	if (!thread_at(l, told->thread) ||
	    told->seen.stack >= l->run->stack_of.n)
		return;
	lane = &l->lanes.at[told->thread];
	lane->stands = true;
	lane->stand = *told;
	reach(l, told->start_ns);
}

static void on_thread_end(struct loading *l,
			  const struct record_thread_end *told)
{
	struct past_thread *t = thread_at(l, told->thread);
	uint64_t at_ns = reach(l, told->at_ns);

	if (!t)
		return;
	l->lanes.at[told->thread].ended = true;
	if (at_ns > t->end_ns)
		t->end_ns = at_ns;
}

static void on_process_end(struct loading *l,
			   const struct record_process_end *told)
{
	uint32_t number = number_at(&l->processes, told->process);
	uint64_t at_ns = reach(l, told->at_ns);
	struct past_process *p;

	if (number == HISTORY_NONE)
		return;
	p = &l->h->processes.at[number];
	p->verdict = told->verdict;
	if (!told->left)
		return;
	p->left = true;
	p->left_ns = at_ns > p->born_ns ? at_ns : p->born_ns;
	p->has_status = told->has_status;
	p->status = told->status;
}

static int on_note(struct loading *l, const struct record_note *told)
{
	struct record_note note = *told;

	note.at_ns = reach(l, told->at_ns);
	return vec_push(&l->h->notes, note) ? 0 : -ENOMEM;
}

static int on_summary(struct loading *l, const struct record_bytes *told)
{
	char *text = malloc(told->len + 1);

	if (!text)
		return -ENOMEM;
	if (told->len)
		memcpy(text, told->at, told->len);
	text[told->len] = '\0';
	free(l->run->summary);
	l->run->summary = text;
	return 0;
}

/* A string, a frame or a stack. */
static int on_name(struct loading *l, const struct record *record)
{
	struct frame frame;
	uint32_t i;

	switch (record->kind) {
	case RECORD_STRING:
		i = strtab_id(l->h->strings, record->bytes.at,
			      record->bytes.len);
		return i != STRTAB_NONE && vec_push(&l->strings, i) ? 0
								    : -ENOMEM;
	case RECORD_FRAME:
		frame = (struct frame){
			.function = string_at(l, record->frame.function),
			.file = string_at(l, record->frame.file),
			.line = record->frame.line,
		};
		i = stacks_frame(l->h->stacks, &frame);
		return i != STACKS_NONE && vec_push(&l->frames, i) ? 0
								   : -ENOMEM;
	default:
		i = record->stack.parent;
		i = i < l->run->stack_of.n ? l->run->stack_of.at[i]
					   : STACKS_EMPTY;
		i = stacks_push(l->h->stacks, i,
				number_at(&l->frames, record->stack.frame));
		return i != STACKS_NONE && vec_push(&l->run->stack_of, i)
			       ? 0
			       : -ENOMEM;
	}
}

static void on_image_python(struct loading *l,
			    const struct record_image_python *told)
{
	uint32_t image = number_at(&l->images, told->image);

	if (image != HISTORY_NONE)
		l->h->images.at[image].python = string_at(l, told->python);
}

static void on_image_title(struct loading *l,
			   const struct record_image_title *told)
{
	uint32_t image = number_at(&l->images, told->image);

	if (image != HISTORY_NONE)
		l->h->images.at[image].command = string_at(l, told->title);
}

static void on_thread_name(struct loading *l,
			   const struct record_thread_name *told)
{
	struct past_thread *t = thread_at(l, told->thread);

	if (t)
		t->name = string_at(l, told->name);
}

static int on_record(void *ctx, const struct record *record)
{
	struct loading *l = ctx;

	switch (record->kind) {
	case RECORD_SLICE:
		on_slice(l, record->slice);
		return 0;
	case RECORD_STRING:
	case RECORD_FRAME:
	case RECORD_STACK:
		return on_name(l, record);
	case RECORD_RUN:
		return on_run(l, &record->run);
	case RECORD_PROCESS:
		return on_process(l, &record->process);
	case RECORD_IMAGE:
		return on_image(l, &record->image);
	case RECORD_THREAD:
		return on_thread(l, &record->thread);
	case RECORD_NOTE:
		return on_note(l, &record->note);
	case RECORD_SUMMARY:
		return on_summary(l, &record->bytes);
	case RECORD_IMAGE_PYTHON:
		on_image_python(l, &record->image_python);
		return 0;
	case RECORD_IMAGE_TITLE:
		on_image_title(l, &record->image_title);
		return 0;
	case RECORD_THREAD_NAME:
		on_thread_name(l, &record->thread_name);
		return 0;
	case RECORD_STAND:
		on_stand(l, &record->stand);
		return 0;
	case RECORD_THREAD_END:
		on_thread_end(l, &record->thread_end);
		return 0;
	case RECORD_PROCESS_END:
		on_process_end(l, &record->process_end);
		return 0;
	case RECORD_TIME:
		reach(l, record->time_ns);
		return 0;
	}
	return 0;
}

/* What a thread stood on at the end, @end_ns of the run, as a slice. */
static int close_stand(struct loading *l, uint32_t i, uint64_t end_ns)
{
	const struct lane *lane = &l->lanes.at[i];
	uint64_t interval_ns = l->run->run.interval_ns;
	struct slice slice = {
		.thread = l->run->thread_of.at[i],
		.start_ns = lane->stand.start_ns > lane->told_ns
				    ? lane->stand.start_ns
				    : lane->told_ns,
		.seen = lane->stand.seen,
	};

	if (slice.start_ns >= end_ns)
		return 0;
	slice.seen.stack = l->run->stack_of.at[lane->stand.seen.stack];
	slice.weight.wall_ns = end_ns - slice.start_ns;
	if (slice.seen.run == RUN_ON_CPU)
		slice.weight.cpu_ns = slice.weight.wall_ns;
	if (interval_ns)
		slice.weight.samples = slice.weight.wall_ns / interval_ns;
	history_add_weight(&l->h->threads.at[slice.thread].total,
			   &slice.weight);
	l->h->slices++;
	if (slice.seen.gil == GIL_HELD)
		l->h->gil_ns += slice.weight.wall_ns;
	l->h->has_gil |= slice.seen.gil != GIL_UNKNOWN;
	return vec_push(&l->run->standing, slice) ? 0 : -ENOMEM;
}

/* The file has been read: end what it does not tell the end of. */
static int finish(struct loading *l)
{
	struct history *h = l->h;

	for (size_t i = 0; i < l->processes.n; i++) {
		struct past_process *p = &h->processes.at[l->processes.at[i]];

		if (!p->left && l->run->end_ns > p->left_ns)
			p->left_ns = l->run->end_ns;
	}
	for (uint32_t i = 0; i < l->lanes.n; i++) {
		struct past_thread *t = thread_at(l, i);
		uint64_t end_ns = l->run->end_ns;
		int r;

		if (!t || l->lanes.at[i].ended)
			continue;
		if (h->processes.at[t->process].left_ns < end_ns)
			end_ns = h->processes.at[t->process].left_ns;
		if (end_ns > t->end_ns)
			t->end_ns = end_ns;
		if (!l->lanes.at[i].stands || l->run->end == RECORDING_WHOLE ||
		    end_ns < l->run->shift_ns)
			continue;
		r = close_stand(l, i, end_ns - l->run->shift_ns);
		if (r)
			return r;
	}
	return history_settle(h);
}

int history_add(struct history *h, const char *bytes, size_t len)
{
	struct past_run run = { .size = len };
	struct loading l = { .h = h, .number = (uint32_t)h->runs.n };
	int r;

	if (!vec_reserve(&h->runs, 1))
		return -ENOMEM;
	r = recording_open(&run.reader, bytes, len);
	if (r)
		return r;
	h->runs.at[h->runs.n++] = run;
	l.run = &h->runs.at[h->runs.n - 1];
	r = vec_push(&l.run->stack_of, STACKS_EMPTY) ? 0 : -ENOMEM;
	if (!r)
		r = recording_read(l.run->reader, UINT32_MAX, on_record, &l,
				   &l.run->end, &l.run->good);
	if (!r)
		r = finish(&l);
	vec_free(&l.strings);
	vec_free(&l.frames);
	vec_free(&l.processes);
	vec_free(&l.images);
	vec_free(&l.lanes);
	loading_forget(&l);
	return r;
}
