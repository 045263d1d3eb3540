/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/output.h"
#include "cli/stopping.h"
#include "cli/store.h"
#include "cli/targets.h"
#include "cli/view.h"
#include "cli/words.h"
#include "ui/progress.h"

/*
 * One recording, from the options to the files. What happens goes into a recording
 * as it happens, whatever is wanted in the end: the user's own file, or one without
 * a name that a view is then made of.
 * USR1 makes a view of what there is so far: the sampling goes on.
 */
struct record {
	const struct options *options;
	struct forkflame *ff;
	struct progress_line line;
	struct store store;
	char *pattern; /* name of the output */
	struct stopping stopping;
	int status; /* the exit status so far */
};

/* Views of what is in the recording by now. 0 or -errno, which was said. */
static int write_views(struct record *rec)
{
	struct forkflame_report *report = NULL;
	struct mapped mapped = { .bytes = "" };
	int r = forkflame_report_new(&report);

	if (r == 0)
		r = store_map(&rec->store, &mapped);
	if (r == 0)
		r = forkflame_report_add(report, mapped.bytes, mapped.len,
					 false);
	if (r < 0)
		message_say("cannot read the recording: %s", strerror(-r));
	else
		r = view_write_all(report, rec->options, rec->pattern);
	forkflame_report_free(report);
	mapped_close(&mapped);
	return r;
}

static void say_wrote(const struct record *rec)
{
	if (!rec->options->quiet && strcmp(rec->pattern, "-"))
		message_say("wrote %s%s", rec->pattern,
			    rec->options->split ? " (a file a process)" : "");
}

static void write_so_far(void *ctx)
{
	struct record *rec = ctx;

	/* A recording is on the disk already, up to a second ago. */
	if (rec->options->recording || write_views(rec) == 0)
		say_wrote(rec);
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
	int r;

	if (options->command) {
		r = forkflame_start(rec->ff, options->command,
				    &rec->stopping.before);
		if (r == 0)
			return 0;
		message_say("%s: %s", forkflame_strerror(rec->ff),
			    strerror(-r));
		rec->status = r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
		return r;
	}
	return targets_take_in(rec->ff, options, &rec->status);
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
				      rec->options->view.value, output_write,
				      &out);
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
	} else if (progress.processes_seen &&
		   progress.processes_seen == progress.processes_left_out) {
		message_say("nothing was sampled: none of %llu processes is "
			    "what was asked for",
			    (unsigned long long)progress.processes_seen);
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

/* The name of the output. To be freed; NULL when memory is gone. */
static char *name_output(const struct options *options)
{
	const char *ending =
		options->recording ? "ff" : words_ending(options->view.format);
	char word[32];

	if (options->output && options->recording &&
	    strcmp(options->output, "-"))
		return output_name(options->output, 0, 0, 0);
	if (options->output)
		return strdup(options->output);
	if (options->command)
		return output_made_up(options->command[0], ending);
	if (options->all)
		(void)snprintf(word, sizeof(word), "all");
	else
		(void)snprintf(word, sizeof(word), "%d", options->pids[0]);
	return output_made_up(word, ending);
}

/* The recording, and where it goes, before anything is started. */
static int open_sink(struct record *rec)
{
	const struct options *options = rec->options;
	int r;

	rec->pattern = name_output(options);
	if (!rec->pattern)
		return -ENOMEM;
	r = store_open(&rec->store, options->recording ? rec->pattern : NULL);
	if (r < 0)
		message_say("cannot write %s: %s",
			    options->recording ? rec->pattern
					       : "a temporary file",
			    strerror(-r));
	return r;
}

static void write_all(struct record *rec)
{
	const struct options *options = rec->options;
	bool sampled = judge(rec);
	int r = 0;

	/* A view without a sample would look as if all were well. */
	if (sampled && !options->recording)
		r = write_views(rec);
	if (r == 0 && (sampled || options->recording))
		say_wrote(rec);
	if (r < 0 || write_stats(rec) < 0)
		rec->status = EXIT_OUTPUT;
	if (!options->quiet)
		(void)forkflame_summary(rec->ff, FORKFLAME_TEXT,
					options->view.value, to_stderr, NULL);
}

static int run(struct record *rec)
{
	int r;

	/* A reader that goes away is an error of ours, not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	rec->stopping.ff = rec->ff;
	r = stopping_begin(&rec->stopping);
	if (r < 0) {
		message_say("cannot wait for signals: %s", strerror(-r));
		return EXIT_NOTHING;
	}
	r = forkflame_run(rec->ff);
	progress_erase(&rec->line);
	if (r < 0) {
		message_say("%s: %s", forkflame_strerror(rec->ff),
			    strerror(-r));
		rec->status = EXIT_NOTHING;
	}
	write_all(rec);
	if (r < 0 && rec->options->recording)
		rec->status = EXIT_OUTPUT;
	r = store_close(&rec->store);
	if (r < 0) {
		message_say("cannot write %s: %s", rec->pattern, strerror(-r));
		rec->status = EXIT_OUTPUT;
	}
	r = rec->options->command ? stopping_status(&rec->stopping, rec->status)
				  : rec->status;
	stopping_end(&rec->stopping);
	return r;
}

/* What is recorded, for a person. To be freed; NULL: nothing is said. */
static char *make_title(const struct options *options)
{
	char *title = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&title, &len);

	if (!to)
		return NULL;
	for (size_t i = 0; options->command && options->command[i]; i++)
		(void)fprintf(to, "%s%s", i ? " " : "", options->command[i]);
	for (size_t i = 0; i < options->n_pids; i++)
		(void)fprintf(to, "%s%d", i ? ", " : "process ",
			      options->pids[i]);
	if (options->all)
		(void)fputs("all processes", to);
	if (fclose(to) == 0)
		return title;
	free(title);
	return NULL;
}

int record_run(const struct options *options)
{
	struct record rec = { .options = options,
			      .line = { .to = stderr },
			      .store = STORE_NONE };
	struct forkflame_options run_options = options->run;
	char *title = make_title(options);
	int r;

	run_options.notice = on_notice;
	run_options.notice_ctx = &rec;
	run_options.progress_ctx = &rec;
	run_options.recording = store_write;
	run_options.recording_ctx = &rec.store;
	run_options.title = options->view.title ? options->view.title : title;
	if (run_options.rotate_ns || run_options.rotate_bytes)
		run_options.rotate = store_rotate;
	if (!options->quiet && isatty(STDERR_FILENO))
		run_options.progress = on_progress;
	rec.stopping.on_usr1 = write_so_far;
	rec.stopping.ctx = &rec;
	stopping_block(&rec.stopping);
	/* Ends of children must be kept for us, whoever started us. */
	(void)signal(SIGCHLD, SIG_DFL);
	r = open_sink(&rec);
	if (r < 0) {
		free(rec.pattern);
		free(title);
		return EXIT_OUTPUT;
	}
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
	(void)store_close(&rec.store);
	free(rec.pattern);
	free(title);
	return rec.status;
}
