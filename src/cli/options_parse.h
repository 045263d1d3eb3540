/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_PARSE_H
#define CLI_OPTIONS_PARSE_H

#include <getopt.h>

#include "cli/options.h"

/* The parsers of the subcommands; options_parse chooses. All return as it does. */

enum {
	OPT_MODE = 256,
	OPT_COUNTS,
	OPT_EVENTS,
	OPT_EVENT_BUFFER,
	OPT_ONCPU,
	OPT_SAMPLER,
	OPT_SAMPLERS,
	OPT_STATS,
	OPT_ROTATE,
	OPT_NONBLOCKING,
	OPT_OVERHEAD,
	OPT_JSON,
	OPT_TREE,
	OPT_THREAD,
	OPT_SINCE,
	OPT_UNTIL,
	OPT_INCLUDE,
	OPT_EXCLUDE,
	OPT_BY,
	OPT_MERGE,
	OPT_FILE,
	OPT_NO_IDLE,
	OPT_TITLE,
	OPT_SOURCE,
	OPT_ROWS,
	OPT_COLOR,
	OPT_DIFF,
	OPT_NO_CHILDREN,
	OPT_DEPTH,
	OPT_INCLUDE_COMMAND,
	OPT_EXCLUDE_COMMAND,
	OPT_USER,
	OPT_EXE,
	OPT_HELP,
	OPT_VERSION,
};

/* The options of views, for the tables of the subcommands that write some. */
#define OPTIONS_OF_VIEWS                                             \
	{ "output", required_argument, NULL, 'o' },                  \
		{ "format", required_argument, NULL, 'f' },          \
		{ "mode", required_argument, NULL, OPT_MODE },       \
		{ "counts", no_argument, NULL, OPT_COUNTS },         \
		{ "tree", required_argument, NULL, OPT_TREE },       \
		{ "thread", required_argument, NULL, OPT_THREAD },   \
		{ "since", required_argument, NULL, OPT_SINCE },     \
		{ "until", required_argument, NULL, OPT_UNTIL },     \
		{ "include", required_argument, NULL, OPT_INCLUDE }, \
		{ "exclude", required_argument, NULL, OPT_EXCLUDE }, \
		{ "by", required_argument, NULL, OPT_BY },           \
		{ "threads", no_argument, NULL, 't' },               \
		{ "merge-workers", no_argument, NULL, OPT_MERGE },   \
		{ "function", no_argument, NULL, 'F' },              \
		{ "file", no_argument, NULL, OPT_FILE },             \
		{ "idle", no_argument, NULL, 'i' },                  \
		{ "no-idle", no_argument, NULL, OPT_NO_IDLE },       \
		{ "gil", no_argument, NULL, 'g' },                   \
		{ "title", required_argument, NULL, OPT_TITLE },     \
		{ "source", no_argument, NULL, OPT_SOURCE },         \
		{ "rows", required_argument, NULL, OPT_ROWS },       \
		{ "color", required_argument, NULL, OPT_COLOR },     \
		{ "quiet", no_argument, NULL, 'q' },                 \
		{ "help", no_argument, NULL, OPT_HELP },             \
	{                                                            \
		"version", no_argument, NULL, OPT_VERSION            \
	}

#define SHORT_OF_VIEWS "o:f:tFigqh"

/* The options that say which processes, for those that look at running ones. */
#define OPTIONS_OF_SELECTION                                           \
	{ "pid", required_argument, NULL, 'p' },                       \
		{ "all", no_argument, NULL, 'a' },                     \
		{ "no-children", no_argument, NULL, OPT_NO_CHILDREN }, \
		{ "depth", required_argument, NULL, OPT_DEPTH },       \
		{ "include-command", required_argument, NULL,          \
		  OPT_INCLUDE_COMMAND },                               \
		{ "exclude-command", required_argument, NULL,          \
		  OPT_EXCLUDE_COMMAND },                               \
		{ "user", required_argument, NULL, OPT_USER },         \
	{                                                              \
		"exe", required_argument, NULL, OPT_EXE                \
	}

#define SHORT_OF_SELECTION "p:a"

/* Is it one of these? */
bool options_is_selection(int opt);

/*
 * Take one of these. Returns NULL; or what is wrong with its value, for
 * "'VALUE' %s".
 */
const char *options_take_selection(struct options *ret, int opt,
				   const char *value);

/* All were taken. Returns NULL; or what does not go together, as a sentence. */
const char *options_settle_selection(struct options *ret);

/* -d and --events, of record and of tree; likewise. */
const char *options_take_duration(struct options *ret, const char *value);
const char *options_take_events(struct options *ret, const char *value);

/* What parsing goes along with. */
struct parsing {
	struct options *options;
	bool format; /* -f was given */
	bool group;  /* --by, -t or --merge-workers was given */
};

/*
 * Take one option of views. Returns NULL; or what is wrong with its value, for
 * "'VALUE' %s".
 */
const char *options_take_view(struct parsing *parsing, int opt,
			      const char *value);

/* All were taken: the format by the output's name, if not given; @otherwise. */
void options_settle_view(struct parsing *parsing,
			 enum forkflame_format otherwise);

/* The options of a subcommand. */
struct option_table {
	const char *told;  /* before what is wrong: "dump" */
	const char *brief; /* as getopt's; begins with ':' or "+:" */
	const struct option *names;
	/* Take one. Returns NULL; or what is wrong with its value, for "'VALUE' %s". */
	const char *(*take)(struct parsing *parsing, int opt,
			    const char *value);
};

/*
 * Take all options of @argv; optind is behind them then. Returns false when that is
 * the end of it: -h, --help and --version, or a wrong one, with @message; *@ret says
 * which.
 */
bool options_take(const struct option_table *table, struct parsing *parsing,
		  int argc, char *argv[], char *message, size_t len,
		  enum options_result *ret);

/* Let the view point to the lists of @options. */
void options_point_view(struct options *options);

enum options_result options_record(int argc, char *argv[], struct options *ret,
				   char *message, size_t len);
enum options_result options_report(int argc, char *argv[], struct options *ret,
				   char *message, size_t len);
enum options_result options_tree(int argc, char *argv[], struct options *ret,
				 char *message, size_t len);
enum options_result options_dump(int argc, char *argv[], struct options *ret,
				 char *message, size_t len);

#endif
