/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/urgency.h"
#include "session_internal.h"
#include "session_tids.h"

/* How often the caller is told of the progress. */
#define PROGRESS_NS (200 * NSEC_PER_MSEC)

/* Ticks that were missed for so long are a gap in the recording. */
#define GAP_NS (NSEC_PER_SEC / 2)

/* How often a thread that has not stopped in time is looked after. */
#define STUCK_NS (500 * NSEC_PER_USEC)

#define WAKES 64

const char *forkflame_version(void)
{
	return PACKAGE_VERSION;
}

void session_notice(struct forkflame *ff, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!ff->options.notice)
		return;
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ff->options.notice(ff->options.notice_ctx, line);
}

/* For what is opened for a moment: maps, directories, programs. */
#define FILES_SPARE 64

/* Many members need many files. What cannot be had is opened for each reading. */
static void raise_files_limit(struct forkflame *ff)
{
	struct rlimit limit;

	ff->files_kept = INT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < (rlim_t)INT_MAX)
		ff->files_kept = (int)limit.rlim_cur - FILES_SPARE;
}

int session_keep_fd(const struct forkflame *ff, int fd)
{
	/* The lowest number that is free is given out. */
	if (fd < ff->files_kept)
		return fd;
	(void)close(fd);
	return -1;
}

static int allocate(struct forkflame *ff)
{
	ff->remote = calloc(1, sizeof(*ff->remote));
	ff->tree = proctree_new();
	ff->strings = strtab_new();
	ff->prefetch = prefetch_new();
	ff->raw = calloc(FRAMES_MAX, sizeof(*ff->raw));
	ff->ids = calloc(FRAMES_MAX, sizeof(*ff->ids));
	ff->frames = calloc(FRAMES_MAX + FRAMES_MARKS, sizeof(*ff->frames));
	ff->stacks = stacks_new();
	if (!ff->remote || !ff->tree || !ff->strings || !ff->stacks ||
	    !ff->prefetch || !ff->raw || !ff->ids || !ff->frames)
		return error_set(&ff->err, -ENOMEM, "begin");
	ff->mem = remote_mem(ff->remote);
	ff->deeper = strtab_id(ff->strings, "[deeper frames left out]", 24);
	return 0;
}

static int open_outside(struct forkflame *ff)
{
	int r;

	ff->fs.root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ff->fs.live = true;
	if (ff->fs.root < 0)
		return error_set(&ff->err, -errno, "open /proc");
	r = loop_new(&ff->loop, &ff->err);
	if (r == 0)
		r = source_open(ff);
	return r;
}

int forkflame_new(struct forkflame **ret,
		  const struct forkflame_options *options)
{
	struct forkflame *ff = calloc(1, sizeof(*ff));
	size_t known = options->size < sizeof(*options) ? options->size
							: sizeof(*options);
	int r;

	*ret = ff;
	if (!ff)
		return -ENOMEM;
	ff->options = (struct forkflame_options)FORKFLAME_OPTIONS;
	memcpy(&ff->options, options, known);
	ff->fs.root = -1;
	ff->spawn = SPAWN_NONE;
	if (!ff->options.interval_ns)
		return error_set(&ff->err, -EINVAL, "an interval of 0");
	r = selection_open(&ff->selection, &ff->options, &ff->err);
	if (r < 0)
		return r;
	ff->budget.interval_ns = ff->options.interval_ns;
	ff->random = ff->options.seed ? ff->options.seed : clock_now();
	raise_files_limit(ff);
	r = allocate(ff);
	if (r == 0)
		r = open_outside(ff);
	return r;
}

void forkflame_free(struct forkflame *ff)
{
	if (!ff)
		return;
	urgency_restore(&ff->before);
	posts_close(ff);
	for (size_t i = 0; i < ff->processes.n; i++)
		process_free(ff, ff->processes.at[i]);
	spawn_close(&ff->spawn);
	kernel_close(ff);
	session_close_oncpu(ff);
	listener_stop(ff->listener);
	children_free(ff->children);
	loop_free(ff->loop);
	proctree_free(ff->tree);
	recorder_free(ff->recorder);
	stacks_free(ff->stacks);
	prefetch_free(ff->prefetch);
	strtab_free(ff->strings);
	vec_free(&ff->roots);
	vec_free(&ff->adopted);
	vec_free(&ff->looked);
	vec_free(&ff->procs);
	vec_free(&ff->processes);
	vec_free(&ff->todo);
	vec_free(&ff->elves);
	vec_free(&ff->told);
	vec_free(&ff->due);
	vec_free(&ff->list);
	vec_free(&ff->batch);
	vec_free(&ff->to_stop);
	vec_free(&ff->turns);
	vec_free(&ff->fresh);
	vec_free(&ff->moved);
	vec_free(&ff->nameless);
	vec_free(&ff->to_bury);
	vec_free(&ff->active);
	map_free(&ff->threads);
	map_free(&ff->elf_by_file);
	map_free(&ff->elf_by_stat);
	selection_close(&ff->selection);
	free(ff->remote);
	free(ff->raw);
	free(ff->ids);
	free(ff->frames);
	if (ff->fs.root >= 0)
		(void)close(ff->fs.root);
	free(ff);
}

const char *forkflame_strerror(const struct forkflame *ff)
{
	return ff->err.text;
}

int forkflame_start(struct forkflame *ff, char *const argv[], const void *mask)
{
	sigset_t own;
	int r;

	ff->err = ERROR_NONE;
	if (ff->command || ff->everybody)
		return error_set(&ff->err, -EBUSY, "start a second command");
	(void)pthread_sigmask(SIG_SETMASK, NULL, &own);
	r = spawn_prepare(&ff->spawn, argv, mask ? mask : &own, &ff->err);
	if (r < 0)
		return r;
	ff->command = ff->spawn.pid;
	r = session_open_oncpu(ff, ff->command);
	if (r == 0 && !ff->watch.write)
		r = kernel_open(ff);
	if (r == 0)
		r = source_settle(ff, ff->command);
	/* What it takes to get ready, it waits. */
	ff->start_ns = clock_now();
	if (r == 0 && proctree_add(ff->tree, ff->command, 0, clock_now(),
				   true) == PROCTREE_NONE)
		r = error_set(&ff->err, -ENOMEM, "take in the command");
	if (r == 0)
		r = session_take_events(ff);
	/* From its first instruction on there is news of it. */
	urgency_raise(&ff->before);
	if (r == 0)
		r = spawn_go(&ff->spawn, argv, &ff->err);
	if (r < 0)
		ff->command = 0;
	return r;
}

void forkflame_stop(struct forkflame *ff)
{
	loop_break(ff->loop);
}

uint64_t session_random(struct forkflame *ff, uint64_t below)
{
	ff->random ^= ff->random << 13;
	ff->random ^= ff->random >> 7;
	ff->random ^= ff->random << 17;
	return below ? ff->random % below : 0;
}

/*
 * When the tick after @now_ns is: near a multiple of the interval, a quarter of
 * it early or late, so that periodic programs do not fall in step. Ticks that
 * have passed are counted and never caught up.
 */
static void plan_tick(struct forkflame *ff, uint64_t now_ns)
{
	uint64_t stride = kernel_stride(ff, now_ns);
	uint64_t interval = ff->budget.interval_ns * stride;
	uint64_t late = nsec_since(now_ns, ff->tick_base_ns) / interval;

	if (late > 1)
		ff->counts.ticks_missed += (late - 1) * stride;
	/* Stopped by a signal, or the machine slept: nothing is made up for. */
	if (late > 1 && (late - 1) * interval > GAP_NS)
		record_note(ff, NOTE_GAP, (late - 1) * interval);
	ff->tick_base_ns += interval * (late > 1 ? late : 1);
	ff->next_tick_ns = ff->tick_base_ns - interval / 4 +
			   ff->jitter % (interval / 2 + 1);
	if (ff->next_tick_ns <= now_ns)
		ff->next_tick_ns = now_ns + 1;
	ff->jitter = session_random(ff, interval / 2);
	ff->after_tick_ns =
		ff->tick_base_ns + interval - interval / 4 + ff->jitter;
}

/* The moment to wake up for. */
static uint64_t next_moment(const struct forkflame *ff)
{
	uint64_t at = ff->watch.write ? UINT64_MAX : ff->next_tick_ns;

	if (session_oncpu_ns(ff) < at)
		at = session_oncpu_ns(ff);
	if (session_todo_ns(ff) < at)
		at = session_todo_ns(ff);
	if (kernel_next_ns(ff) < at)
		at = kernel_next_ns(ff);
	if (posts_next_ns(ff) < at)
		at = posts_next_ns(ff);
	if (source_look_ns(ff) < at)
		at = source_look_ns(ff);
	if (ff->reconcile_ns < at)
		at = ff->reconcile_ns;
	if (ff->rescan && ff->rescan_ns < at)
		at = ff->rescan_ns;
	if (ff->end_ns && ff->end_ns < at)
		at = ff->end_ns;
	/* One that stops late stands until it is let go. */
	if (stopper_stuck(ff->stopper) && clock_now() + STUCK_NS < at)
		at = clock_now() + STUCK_NS;
	return at;
}

static void on_wake(struct forkflame *ff, const struct wake *wake)
{
	if (wake->token < ff->processes.n && ff->processes.at[wake->token])
		process_gone(ff, ff->processes.at[wake->token]);
	/* The listener's and the rings' news are taken in by the turn itself. */
}

/* Once around: wait, take in what happened, do what is due. */
static int turn(struct forkflame *ff)
{
	struct wake wakes[WAKES];
	size_t n = loop_wait(ff->loop, next_moment(ff), wakes, WAKES);
	uint64_t now_ns = clock_now();
	int r;

	stopper_reap(ff->stopper);
	ff->counts.calls_failed += stopper_failed_late(ff->stopper);
	r = session_take_oncpu(ff);
	if (r == 0)
		r = source_look(ff, now_ns);
	if (r == 0)
		r = session_take_events(ff);
	if (r == 0)
		r = session_reconcile(ff, now_ns);
	for (size_t i = 0; i < n; i++)
		on_wake(ff, &wakes[i]);
	session_todo(ff, now_ns);
	if (r == 0)
		r = session_take_events(ff);
	if (r == 0)
		r = session_flush(ff, false);
	now_ns = clock_now();
	if (now_ns >= kernel_next_ns(ff))
		kernel_drain(ff);
	if (now_ns >= posts_next_ns(ff))
		posts_collect(ff);
	if (now_ns >= ff->next_tick_ns && !ff->watch.write) {
		session_tick(ff);
		plan_tick(ff, clock_now());
		posts_ask(ff);
	}
	if (ff->options.progress && now_ns >= ff->progress_ns) {
		ff->options.progress(ff->options.progress_ctx, ff);
		ff->progress_ns = now_ns + PROGRESS_NS;
	}
	return r;
}

static int watch_sources(struct forkflame *ff)
{
	int r = 0;

	if (ff->listener)
		r = loop_watch(ff->loop, listener_fd(ff->listener),
			       TOKEN_LISTENER);
	if (r == 0)
		r = session_watch_oncpu(ff);
	return r < 0 ? error_set(&ff->err, r, "wait for events") : 0;
}

/* What there is at the start: listen (since long), scan, drain. */
static int begin(struct forkflame *ff)
{
	int r = stopper_new(&ff->stopper, ff->command, &ff->err);

	if (r == 0 && !ff->command && !ff->watch.write)
		r = session_begin_oncpu(ff);
	if (r == 0 && !ff->command && !ff->watch.write && !ff->dumping)
		r = kernel_open(ff);
	if (r == 0 && !ff->command)
		r = source_settle(ff, 0);
	if (r == 0)
		r = watch_sources(ff);
	if (!ff->command)
		ff->start_ns = clock_now();
	if (r == 0)
		r = session_begin_recording(ff);
	if (r == 0 && !ff->command)
		r = session_scan_roots(ff);
	ff->cpu_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	budget_begin(&ff->budget, ff->options.budget_ns,
		     ff->options.interval_ns, ff->start_ns, ff->cpu_start_ns);
	ff->tick_base_ns = ff->start_ns;
	ff->look_ns = ff->start_ns;
	/* Between being seen and being watched, members may have forked. */
	ff->reconcile_ns =
		ff->start_ns + (ff->tasks ? 250 * NSEC_PER_MSEC : NSEC_PER_SEC);
	ff->progress_ns = ff->start_ns + PROGRESS_NS;
	ff->end_ns = ff->options.duration_ns
			     ? ff->start_ns + ff->options.duration_ns
			     : 0;
	ff->running = true;
	ff->jitter = session_random(ff, ff->budget.interval_ns / 2);
	plan_tick(ff, ff->start_ns);
	return r;
}

/* Settle every account, stop listening. */
static int finish(struct forkflame *ff)
{
	ff->end_ns = clock_now();
	if (ff->oncpu)
		(void)oncpu_drain(ff->oncpu);
	kernel_drain(ff);
	kernel_close(ff);
	posts_close(ff);
	for (size_t i = 0; i < ff->processes.n; i++)
		if (ff->processes.at[i] && !ff->processes.at[i]->left)
			process_settle(ff, ff->processes.at[i], ff->end_ns);
	for (size_t i = 0; i < ff->processes.n; i++)
		if (ff->processes.at[i])
			ff->counts.verdicts[process_verdict(
				ff->processes.at[i])]++;
	ff->cpu_used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ff->cpu_start_ns;
	source_close(ff);
	ff->oncpu_was = ff->oncpu != NULL;
	session_close_oncpu(ff);
	ff->running = false;
	ff->done = true;
	return session_end_recording(ff);
}

/*
 * The run, in a thread of its own. ptrace wants that one thread does all stops;
 * and when this one ends, the kernel lets go of those that it still waits for,
 * which nothing else can do (a thread in uninterruptible sleep neither stops nor
 * can be detached from).
 */
static void *run_main(void *ctx)
{
	struct forkflame *ff = ctx;
	struct urgency before = { 0 };
	sigset_t all;
	int r, ended;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	/* While we wait for a CPU, a thread may stand stopped. */
	urgency_raise(&before);
	/* Behind others on its CPU, we would come too late. */
	if (before.first)
		(void)perch_new(&ff->perch, NULL);
	r = begin(ff);
	if (r == 0 && ff->dumping)
		r = session_dump(ff);
	watch_begin(ff);
	while (r == 0 && !ff->dumping && loop_breaks(ff->loop) == 0 &&
	       !(ff->end_ns && clock_now() >= ff->end_ns)) {
		r = session_take_events(ff);
		if (r == 0 && !ff->wanted && !ff->everybody) {
			r = session_find_left(ff);
			if (r <= 0)
				break;
			r = 0;
		}
		if (r < 0)
			break;
		r = turn(ff);
		if (r == 0)
			r = ff->watch.failed;
	}
	if (r < 0)
		(void)error_set(&ff->err, r, "%s", strerror(-r));
	ended = finish(ff);
	watch_end(ff);
	r = r < 0 ? r : ended;
	if (ff->stopper && !ff->command_ended)
		ff->command_ended =
			stopper_taken(ff->stopper, &ff->command_status);
	stopper_free(ff->stopper);
	ff->stopper = NULL;
	perch_free(ff->perch);
	ff->perch = NULL;
	ff->result = r;
	return NULL;
}

int forkflame_run(struct forkflame *ff)
{
	pthread_t thread;
	int r;

	ff->err = ERROR_NONE;
	r = -pthread_create(&thread, NULL, run_main, ff);
	if (r < 0)
		return error_set(&ff->err, r, "start the sampling thread");
	(void)pthread_join(thread, NULL);
	urgency_restore(&ff->before);
	return ff->result;
}
