/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/output.h"
#include "ui/progress.h"

/*
 * One recording, from the options to the files.
 *
 * Signals are waited for by a thread of their own, so that no handler needs to
 * know the run: the first INT, TERM or HUP ends it, the second ends forkflame at
 * once. Either way the kernel lets go of whatever is held.
 */
struct record {
	const struct options *options;
	struct forkflame *ff;
	struct progress_line line;
	sigset_t set;    /* the signals that end a run */
	sigset_t before; /* the mask that the command gets */
	int first;       /* the signal that ended it; 0: none */
	int status;      /* the exit status so far */
};

static void *wait_for_signals(void *ctx)
{
	struct record *rec = ctx;
	int sig;

	if (sigwait(&rec->set, &sig) != 0)
		return NULL;
	__atomic_store_n(&rec->first, sig, __ATOMIC_RELEASE);
	forkflame_stop(rec->ff);
	if (sigwait(&rec->set, &sig) == 0)
		_exit(128 + sig);
	return NULL;
}

/* Those that were ignored when we were started (nohup, a job of a script) stay so. */
static void block_signals(struct record *rec)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	(void)sigemptyset(&rec->set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		if (sigaction(ending[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			(void)sigaddset(&rec->set, ending[i]);
	(void)pthread_sigmask(SIG_BLOCK, &rec->set, &rec->before);
}

static void on_progress(void *ctx, struct forkflame *ff)
{
	struct record *rec = ctx;
	struct forkflame_progress progress = { .size = sizeof(progress) };

	forkflame_progress(ff, &progress);
	progress_show(&rec->line, &progress);
}

static void on_notice(void *ctx, const char *line)
{
	struct record *rec = ctx;

	progress_erase(&rec->line);
	message_say("%s", line);
}

/* Take in what is to be profiled. Returns 0, or sets the exit status. */
static int take_in(struct record *rec)
{
	const struct options *options = rec->options;
	int r = 0;

	if (options->command) {
		r = forkflame_start(rec->ff, options->command, &rec->before);
		if (r == 0)
			return 0;
		message_say("%s: %s", forkflame_strerror(rec->ff),
			    strerror(-r));
		rec->status = r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
		return r;
	}
	for (size_t i = 0; r == 0 && i < options->n_pids; i++)
		r = forkflame_add_pid(rec->ff, options->pids[i]);
	if (r < 0) {
		message_say("%s", forkflame_strerror(rec->ff));
		rec->status = r == -EACCES || r == -EPERM ? EXIT_DENIED
							  : EXIT_NOTHING;
	}
	return r;
}

static int write_view(struct record *rec, const char *path, int64_t only)
{
	const struct options *options = rec->options;
	struct forkflame_view view = FORKFLAME_VIEW;
	struct output out;
	int r = output_open(&out, path);

	view.format = options->format;
	view.value = options->value;
	view.only = only;
	view.title = options->command ? options->command[0] : NULL;
	if (r == 0)
		r = forkflame_write(rec->ff, &view, output_write, &out);
	if (r == 0)
		r = output_commit(&out);
	else
		output_abandon(&out);
	if (r < 0) {
		message_say("cannot write %s: %s", path, strerror(-r));
		rec->status = EXIT_OUTPUT;
	}
	return r;
}

/* How many processes before @index had the same pid. */
static unsigned same_pid_before(struct forkflame *ff, uint32_t index, pid_t pid)
{
	struct forkflame_process process = { .size = sizeof(process) };
	unsigned n = 0;

	for (uint32_t i = 0; i < index && forkflame_process(ff, i, &process);
	     i++)
		n += process.pid == pid && process.has_samples;
	return n;
}

static int write_views(struct record *rec, const char *pattern)
{
	struct forkflame_process process = { .size = sizeof(process) };
	char *name;
	int r = 0;

	if (!rec->options->split) {
		name = strcmp(pattern, "-") ? output_name(pattern, 0, 0, 0)
					    : strdup("-");
		r = name ? write_view(rec, name, -1) : -ENOMEM;
		free(name);
		return r;
	}
	for (uint32_t i = 0; r == 0 && forkflame_process(rec->ff, i, &process);
	     i++) {
		if (!process.has_samples)
			continue;
		name = output_name(pattern, 1, process.pid,
				   same_pid_before(rec->ff, i, process.pid));
		r = name ? write_view(rec, name, i) : -ENOMEM;
		free(name);
	}
	return r;
}

static int write_stats(struct record *rec)
{
	const char *path = rec->options->stats;
	struct output out;
	int r;

	if (!path)
		return 0;
	r = output_open(&out, path);
	if (r == 0)
		r = forkflame_summary(rec->ff, FORKFLAME_JSON,
				      rec->options->value, output_write, &out);
	if (r == 0)
		r = output_commit(&out);
	else
		output_abandon(&out);
	if (r < 0) {
		message_say("cannot write %s: %s", path, strerror(-r));
		rec->status = EXIT_OUTPUT;
	}
	return r;
}

static int to_stderr(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	return fwrite(bytes, 1, len, stderr) == len ? 0 : -EIO;
}

/* Was anything sampled? Where not, say so, and why. */
static bool judge(struct record *rec)
{
	struct forkflame_progress progress = { .size = sizeof(progress) };

	forkflame_progress(rec->ff, &progress);
	if (progress.processes_sampled)
		return true;
	if (progress.processes_denied) {
		message_say("nothing could be sampled: access was denied");
		rec->status = EXIT_DENIED;
	} else if (progress.processes_unknown) {
		message_say("nothing could be sampled: no Python version that "
			    "is known here");
		rec->status = EXIT_NOT_PYTHON;
	} else if (progress.processes_seen) {
		message_say("nothing was sampled: no Python process among %llu",
			    (unsigned long long)progress.processes_seen);
		rec->status = EXIT_NOT_PYTHON;
	} else {
		message_say("nothing was sampled");
		rec->status = EXIT_NOTHING;
	}
	return false;
}

static char *made_up_name(const struct options *options)
{
	const char *ending = options->format == FORKFLAME_COLLAPSED ? "folded"
								    : "html";
	char word[32];

	if (options->command)
		return output_made_up(options->command[0], ending);
	(void)snprintf(word, sizeof(word), "%d", options->pids[0]);
	return output_made_up(word, ending);
}

static void write_all(struct record *rec)
{
	const struct options *options = rec->options;
	char *pattern = options->output ? strdup(options->output)
					: made_up_name(options);
	bool sampled = judge(rec);

	if (!pattern) {
		rec->status = EXIT_OUTPUT;
		return;
	}
	/* A file without a sample would look as if all were well. */
	if (sampled && write_views(rec, pattern) == 0 && !options->quiet &&
	    strcmp(pattern, "-"))
		message_say("wrote %s%s", pattern,
			    options->split ? " (a file a process)" : "");
	(void)write_stats(rec);
	if (!options->quiet)
		(void)forkflame_summary(rec->ff, FORKFLAME_TEXT, options->value,
					to_stderr, NULL);
	free(pattern);
}

/*
 * The command's end decides about ours. It may outlive the run; after Ctrl-C,
 * which it got as well, and after the duration it is waited for.
 */
static int command_status(struct record *rec)
{
	struct forkflame_progress progress = { .size = sizeof(progress) };
	int first = __atomic_load_n(&rec->first, __ATOMIC_ACQUIRE);
	int status;

	forkflame_progress(rec->ff, &progress);
	status = progress.command_status;
	if (!progress.command_ended) {
		int flags = first && first != SIGINT ? WNOHANG : 0;
		pid_t pid;

		do {
			pid = waitpid(progress.command_pid, &status, flags);
		} while (pid < 0 && errno == EINTR);
		if (pid != progress.command_pid)
			return rec->status;
	}
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(struct record *rec)
{
	pthread_t waiter;
	int r;

	/* A reader that goes away is an error of ours, not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = -pthread_create(&waiter, NULL, wait_for_signals, rec);
	if (r < 0) {
		message_say("cannot wait for signals: %s", strerror(-r));
		return EXIT_NOTHING;
	}
	r = forkflame_run(rec->ff);
	progress_erase(&rec->line);
	if (r < 0) {
		message_say("%s", forkflame_strerror(rec->ff));
		rec->status = EXIT_NOTHING;
	}
	write_all(rec);
	r = rec->options->command ? command_status(rec) : rec->status;
	(void)pthread_cancel(waiter);
	(void)pthread_join(waiter, NULL);
	return r;
}

int record_run(const struct options *options)
{
	struct record rec = { .options = options, .line = { .to = stderr } };
	struct forkflame_options run_options = options->run;
	int r;

	run_options.notice = on_notice;
	run_options.notice_ctx = &rec;
	run_options.progress_ctx = &rec;
	if (!options->quiet && isatty(STDERR_FILENO))
		run_options.progress = on_progress;
	block_signals(&rec);
	/* Ends of children must be kept for us, whoever started us. */
	(void)signal(SIGCHLD, SIG_DFL);
	r = forkflame_new(&rec.ff, &run_options);
	if (r < 0) {
		message_say("%s",
			    rec.ff ? forkflame_strerror(rec.ff) : strerror(-r));
		rec.status = r == -EPERM || r == -EACCES ? EXIT_DENIED
							 : EXIT_NOTHING;
	} else if (take_in(&rec) == 0) {
		rec.status = run(&rec);
	}
	forkflame_free(rec.ff);
	return rec.status;
}
