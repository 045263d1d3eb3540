/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/colour.h"
#include "cli/messages.h"
#include "cli/record.h"
#include "cli/stopping.h"
#include "cli/targets.h"

/* Where the word that says what happened stands in a line. */
#define WORD_AT 12

struct tree {
	const struct options *options;
	struct forkflame *ff;
	struct stopping stopping;
	FILE *to;
	bool terminal, colour;
	int status;
};

static void on_notice(void *ctx, const char *line)
{
	(void)ctx;
	message_say("%s", line);
}

/* How much of a line there is room for; never within a UTF-8 character. */
static size_t fitting(FILE *to, const char *line, size_t len)
{
	struct winsize size = { 0 };
	size_t columns = 0, i = 0;

	if (ioctl(fileno(to), TIOCGWINSZ, &size) < 0 || size.ws_col < 40)
		return len;
	for (; i < len; i++) {
		bool within = ((unsigned char)line[i] & 0xc0) == 0x80;

		if (!within && columns++ == size.ws_col)
			break;
	}
	return i;
}

static const char *colour_of(const char *line, size_t len)
{
	const char *word = line + WORD_AT;

	if (len < WORD_AT + 6)
		return "";
	if (!strncmp(word, "exit", 4))
		return memmem(line, len, " status 0 ", 10) ? "\033[2m"
							   : "\033[31m";
	if (!strncmp(word, "lost", 4))
		return "\033[33m";
	return memmem(line, len, " Python ", 8) ? "\033[32m" : "";
}

/* A line as it happens: nobody waits for a buffer to be full. */
static int put_line(void *ctx, const char *line, size_t len)
{
	const struct tree *tree = ctx;
	const char *colour = "";
	size_t most = len - 1;

	if (tree->terminal && !tree->options->json)
		most = fitting(tree->to, line, len - 1);
	if (tree->colour)
		colour = colour_of(line, len);
	errno = 0;
	if (fprintf(tree->to, "%s%.*s%s\n", colour, (int)most, line,
		    *colour ? "\033[m" : "") < 0 ||
	    fflush(tree->to) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

/* Standard output is the command's, where there is one. */
static FILE *open_sink(const struct options *options)
{
	if (!options->output)
		return options->command ? stderr : stdout;
	if (!strcmp(options->output, "-"))
		return stdout;
	return fopen(options->output, "we");
}

static int take_in(struct tree *tree)
{
	const struct options *options = tree->options;
	int r;

	if (!options->command)
		return targets_take_in(tree->ff, options, &tree->status);
	r = forkflame_start(tree->ff, options->command, &tree->stopping.before);
	if (r == 0)
		return 0;
	message_say("%s: %s", forkflame_strerror(tree->ff), strerror(-r));
	tree->status = r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	return r;
}

static int run(struct tree *tree)
{
	enum forkflame_summary_format format =
		tree->options->json ? FORKFLAME_JSON : FORKFLAME_TEXT;
	int r;

	/* A reader that goes away is an error of ours, not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	tree->stopping.ff = tree->ff;
	r = stopping_begin(&tree->stopping);
	if (r < 0) {
		message_say("cannot wait for signals: %s", strerror(-r));
		return EXIT_NOTHING;
	}
	r = forkflame_watch(tree->ff, format, put_line, tree);
	if (r < 0) {
		/* Whoever has read enough need not be told. */
		if (r != -EPIPE)
			message_say("%s", strerror(-r));
		tree->status = EXIT_OUTPUT;
	}
	if (tree->options->command)
		tree->status = stopping_status(&tree->stopping, tree->status);
	stopping_end(&tree->stopping);
	return tree->status;
}

int tree_run(const struct options *options)
{
	struct tree tree = { .options = options, .to = open_sink(options) };
	struct forkflame_options run_options = options->run;
	int r;

	if (!tree.to) {
		message_say("cannot write %s: %s", options->output,
			    strerror(errno));
		return EXIT_OUTPUT;
	}
	tree.terminal = isatty(fileno(tree.to));
	tree.colour = !options->json && colour_wanted(fileno(tree.to));
	run_options.notice = options->quiet ? NULL : on_notice;
	/* Who runs on which CPU is nothing to a tree. */
	run_options.oncpu = FORKFLAME_ONCPU_RUNCOUNTS;
	stopping_block(&tree.stopping);
	/* Ends of children must be kept for us, whoever started us. */
	(void)signal(SIGCHLD, SIG_DFL);
	r = forkflame_new(&tree.ff, &run_options);
	if (r < 0) {
		message_say("%s", tree.ff ? forkflame_strerror(tree.ff)
					  : strerror(-r));
		tree.status = r == -EPERM || r == -EACCES ? EXIT_DENIED
							  : EXIT_NOTHING;
	} else if (take_in(&tree) == 0) {
		tree.status = run(&tree);
	}
	forkflame_free(tree.ff);
	if (tree.to != stdout && tree.to != stderr)
		(void)fclose(tree.to);
	return tree.status;
}
