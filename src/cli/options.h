/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "forkflame/forkflame.h"

/* How many -p there may be; more are better found by their common parent. */
#define OPTIONS_PIDS 256

enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/*
 * What the command line asks for. Texts are those of argv. Not to be copied: the
 * view points into it.
 */
struct options {
	pid_t pids[OPTIONS_PIDS]; /* -p: whom to record; whom to show */
	size_t n_pids;
	bool all;           /* -a: everybody */
	char **command;     /* NULL: none; else NULL-terminated */
	char **files;       /* of report: NULL-terminated */
	const char *diff;   /* of report: what to compare with; NULL: nothing */
	const char *output; /* NULL: a name is made up; "-": stdout */
	const char *stats;  /* NULL: not asked for */
	bool recording;     /* the output is the recording itself */
	bool split;         /* a file a process */
	bool source;        /* show lines of source files */
	bool quiet;
	bool json; /* dump, tree */
	enum color color;
	int32_t trees[OPTIONS_PIDS];
	size_t n_trees;
	const char *threads[OPTIONS_PIDS];
	size_t n_threads;
	struct forkflame_view view;
	struct forkflame_options run;
};

enum options_result {
	OPTIONS_RECORD,
	OPTIONS_REPORT,
	OPTIONS_DUMP,
	OPTIONS_TREE,
	OPTIONS_CHECK,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_BAD, /* the message says what */
};

/*
 * Understand the command line. Pure but for getopt's own variables, which are
 * reset: may be called again.
 *
 * @message  room for @len: what is wrong, and what might have been meant
 */
enum options_result options_parse(int argc, char *argv[], struct options *ret,
				  char *message, size_t len);

/* What `forkflame --help` prints. */
const char *options_help(void);

#endif
