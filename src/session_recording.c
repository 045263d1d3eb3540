/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "linux/clock.h"
#include "linux/task.h"
#include "session_internal.h"

/*
 * What happened, told to the recorder: in its numbers, and in time since the start
 * of the run. Everything is told as late as it can be: a process that turns out to
 * be on its way to an exec never was its parent's worker, and an image may become
 * a Python. Once a second all that is known by then is told and handed on.
 */

#define FLUSH_NS NSEC_PER_SEC

/* An image without a command line may still get one, for so long. */
#define IMAGE_WAIT_NS NSEC_PER_SEC

/* Names of threads may change; so often they are looked at again. */
#define NAME_NS (30 * NSEC_PER_SEC)

/*
 * To look for one takes some tens of microseconds. Of many new threads, so many are
 * named in a tick that the next tick is not late.
 */
#define NAMES_SHARE 8

static uint64_t since_start(const struct forkflame *ff, uint64_t at_ns)
{
	return nsec_since(at_ns, ff->start_ns);
}

/* Tell all processes up to @serial: numbers of the recording are serials. */
static void record_processes(struct forkflame *ff, uint32_t serial)
{
	for (; ff->processes_told <= serial &&
	       ff->processes_told < ff->processes.n;
	     ff->processes_told++) {
		const struct process *p = ff->processes.at[ff->processes_told];
		struct record_process told = { .parent = RECORD_NONE };

		if (p)
			told = (struct record_process){
				.parent = p->parent < ff->processes_told
						  ? p->parent
						  : RECORD_NONE,
				.pid = p->pid,
				.ns_pid = p->place.ns_pid == p->pid
						  ? 0
						  : p->place.ns_pid,
				.born_ns = since_start(ff, p->born_ns),
				.pid_ns = p->place.pid_ns,
				.uid = p->place.uid,
				.cgroup = p->cgroup,
				.before = process_was_there(ff, p),
			};
		(void)recorder_process(ff->recorder, &told);
	}
}

void record_image(struct forkflame *ff, struct process *p)
{
	const struct image *image = process_image(p);
	struct record_image told = { .process = p->serial,
				     .at_ns = since_start(ff, p->image_ns),
				     .command = image->command,
				     .python = image->python };

	if (!ff->recorder || p->waiting || p->started)
		return;
	if (p->rec_image == RECORD_NONE) {
		record_processes(ff, p->serial);
		p->rec_image = recorder_image(ff->recorder, &told);
	} else if (p->rec_python != image->python) {
		recorder_image_python(ff->recorder, p->rec_image,
				      image->python);
	}
	p->rec_python = image->python;
	record_title(ff, p);
}

void record_title(struct forkflame *ff, struct process *p)
{
	if (ff->recorder && p->title && p->rec_image != RECORD_NONE)
		recorder_image_title(ff->recorder, p->rec_image, p->title);
}

static uint32_t new_thread(struct forkflame *ff, struct process *p, pid_t tid,
			   uint64_t born_ns)
{
	struct record_thread told = { .process = p->serial,
				      .tid = tid,
				      .born_ns = since_start(ff, born_ns) };

	record_image(ff, p);
	told.image = p->rec_image;
	return recorder_thread(ff->recorder, &told);
}

static void tell_slice(struct forkflame *ff, uint32_t thread,
		       const struct charge *charge)
{
	struct slice slice = { .thread = thread,
			       .start_ns = since_start(ff, charge->start_ns),
			       .seen = charge->seen,
			       .weight = charge->weight };

	recorder_slice(ff->recorder, &slice);
}

void record_slice(struct forkflame *ff, struct thread *t,
		  const struct charge *charge)
{
	if (!ff->recorder)
		return;
	if (t->rec == RECORD_NONE)
		t->rec = new_thread(ff, t->process, t->tid, t->born_ns);
	tell_slice(ff, t->rec, charge);
}

void record_thread_end(struct forkflame *ff, struct thread *t, uint64_t end_ns)
{
	struct process *p = t->process;

	if (p->waiting && t->held != SIZE_MAX)
		p->held_threads.at[t->held].ended_ns = end_ns;
	else if (ff->recorder && t->rec != RECORD_NONE)
		recorder_thread_end(ff->recorder, t->rec,
				    since_start(ff, end_ns));
}

void record_held(struct forkflame *ff, struct process *p)
{
	for (size_t k = 0; ff->recorder && k < p->held_threads.n; k++) {
		const struct held_thread *held = &p->held_threads.at[k];
		uint32_t rec = new_thread(ff, p, held->tid, held->born_ns);

		for (size_t i = 0; i < p->held.n; i++)
			if (p->held.at[i].thread == k)
				tell_slice(ff, rec, &p->held.at[i].charge);
		for (size_t i = 0; i < p->threads.n; i++)
			if (p->threads.at[i]->held == k)
				p->threads.at[i]->rec = rec;
		if (held->ended_ns)
			recorder_thread_end(ff->recorder, rec,
					    since_start(ff, held->ended_ns));
	}
	for (size_t i = 0; i < p->threads.n; i++)
		p->threads.at[i]->held = SIZE_MAX;
}

void record_process_end(struct forkflame *ff, struct process *p,
			uint64_t end_ns)
{
	struct record_process_end told = {
		.process = p->serial,
		.at_ns = since_start(ff, end_ns),
		.verdict = (uint8_t)process_verdict(p),
		.left = p->left,
		.has_status = p->has_status,
		.status = p->status,
	};

	if (!ff->recorder)
		return;
	record_processes(ff, p->serial);
	record_image(ff, p);
	recorder_process_end(ff->recorder, &told);
}

void record_note(struct forkflame *ff, enum note_kind kind, uint64_t value)
{
	struct record_note note = { .kind = (uint8_t)kind,
				    .at_ns = since_start(ff, clock_now()),
				    .value = value };

	if (ff->recorder)
		recorder_note(ff->recorder, &note);
}

static void tell_name(struct forkflame *ff, struct thread *t)
{
	struct str name = { 0 };
	uint32_t id;

	session_thread_name(ff, t, &name);
	id = strtab_id(ff->strings, name.at ? name.at : "", name.len);
	str_free(&name);
	if (id == STRTAB_NONE || id == t->name)
		return;
	t->name = id;
	recorder_thread_name(ff->recorder, t->rec, id);
}

/* Without memory it is asked again the next time. */
static void want_name(struct forkflame *ff, struct thread *t, uint64_t now_ns)
{
	if (t->named_ns && now_ns < t->named_ns + NAME_NS)
		return;
	if (vec_push(&ff->nameless, t->tid))
		t->named_ns = now_ns;
}

static void tell_names(struct forkflame *ff, uint64_t until_ns)
{
	while (ff->nameless.n && clock_now() < until_ns) {
		struct thread *t =
			thread_of(ff, ff->nameless.at[--ff->nameless.n]);

		if (t && t->rec != RECORD_NONE)
			tell_name(ff, t);
	}
}

/* What is known of a thread by now, beyond its slices. */
static void tell_thread(struct forkflame *ff, struct thread *t, uint64_t now_ns)
{
	struct record_stand stand = {
		.start_ns = since_start(ff, t->weigh.begin_ns),
		.seen = t->weigh.seen,
	};

	if (!weigh_has(&t->weigh) || t->process->waiting)
		return;
	if (t->rec == RECORD_NONE)
		t->rec = new_thread(ff, t->process, t->tid, t->born_ns);
	want_name(ff, t, now_ns);
	stand.thread = t->rec;
	recorder_stand(ff->recorder, &stand);
}

static void tell_all(struct forkflame *ff, uint64_t now_ns)
{
	for (size_t i = 0; i < ff->processes.n; i++) {
		struct process *p = ff->processes.at[i];

		if (!p || p->left || !p->images.n)
			continue;
		if (process_image(p)->command ||
		    now_ns > p->image_ns + IMAGE_WAIT_NS)
			record_image(ff, p);
		for (size_t k = 0; k < p->threads.n; k++)
			tell_thread(ff, p->threads.at[k], now_ns);
	}
	if (ff->processes.n)
		record_processes(ff, (uint32_t)ff->processes.n - 1);
}

/* The first words of a recording. */
static void tell_run(struct forkflame *ff)
{
	const char *title = ff->options.title ? ff->options.title : "";
	const char *events = source_name(ff);
	const char *oncpu = ff->oncpu ? "switches" : "runcounts";
	const char *version = forkflame_version();
	struct utsname name = { 0 };
	struct record_run run = {
		.unix_ns =
			clock_ns(CLOCK_REALTIME) - (clock_now() - ff->start_ns),
		.interval_ns = ff->options.interval_ns,
		.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
	};

	(void)uname(&name);
	run.host = strtab_id(ff->strings, name.nodename, strlen(name.nodename));
	run.version = strtab_id(ff->strings, version, strlen(version));
	run.title = strtab_id(ff->strings, title, strlen(title));
	run.events = strtab_id(ff->strings, events, strlen(events));
	run.oncpu = strtab_id(ff->strings, oncpu, strlen(oncpu));
	recorder_run(ff->recorder, &run);
}

int session_begin_recording(struct forkflame *ff)
{
	if (!ff->options.recording || ff->dumping)
		return 0;
	if (!ff->recorder)
		ff->recorder =
			recorder_new(ff->strings, ff->stacks, RECORDER_ZSTD);
	if (!ff->recorder)
		return error_set(&ff->err, -ENOMEM, "begin a recording");
	tell_run(ff);
	ff->file_ns = ff->start_ns;
	ff->flush_ns = ff->start_ns + FLUSH_NS;
	return 0;
}

/* Is it time for another file? */
static bool is_full(const struct forkflame *ff, uint64_t now_ns)
{
	const struct forkflame_options *options = &ff->options;

	if (!options->rotate || ff->done)
		return false;
	return (options->rotate_ns &&
		now_ns >= ff->file_ns + options->rotate_ns) ||
	       (options->rotate_bytes &&
		recorder_size(ff->recorder) >= options->rotate_bytes);
}

static int rotate(struct forkflame *ff, uint64_t now_ns)
{
	int r = ff->options.rotate(ff->options.recording_ctx);

	if (r < 0)
		return error_set(&ff->err, r, "begin another recording");
	recorder_rotate(ff->recorder, since_start(ff, now_ns));
	ff->file_ns = now_ns;
	return 0;
}

int session_flush(struct forkflame *ff, bool end)
{
	uint64_t now_ns = clock_now();
	int r;

	if (!ff->recorder)
		return 0;
	tell_names(ff, end ? UINT64_MAX
			   : now_ns + ff->budget.interval_ns / NAMES_SHARE);
	if (!end && now_ns < ff->flush_ns)
		return 0;
	ff->flush_ns = now_ns + FLUSH_NS;
	if (!end)
		tell_all(ff, now_ns);
	r = recorder_flush(ff->recorder, since_start(ff, now_ns),
			   ff->options.recording, ff->options.recording_ctx);
	if (r < 0)
		return error_set(&ff->err, r, "write the recording");
	return !end && is_full(ff, now_ns) ? rotate(ff, now_ns) : 0;
}

/* The last words: how everybody ended, and the summary. */
int session_end_recording(struct forkflame *ff)
{
	struct str text = { 0 };

	if (!ff->recorder)
		return 0;
	for (size_t i = 0; i < ff->processes.n; i++)
		if (ff->processes.at[i] && !ff->processes.at[i]->left)
			record_process_end(ff, ff->processes.at[i], ff->end_ns);
	session_summary_json(ff, FORKFLAME_WALL, false, &text);
	if (!text.failed)
		recorder_summary(ff->recorder, text.at, text.len);
	str_free(&text);
	return session_flush(ff, true);
}
