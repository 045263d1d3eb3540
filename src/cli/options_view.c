/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "cli/options_parse.h"
#include "cli/words.h"

/* The options of views: which part of a recording, and how it is shown. */

static const struct word modes[] = {
	{ "wall", FORKFLAME_WALL },
	{ "cpu", FORKFLAME_CPU },
	{ "gil", FORKFLAME_GIL },
	{ "samples", FORKFLAME_SAMPLES },
	{ NULL, 0 },
};

static const struct word groups[] = {
	{ "process", FORKFLAME_BY_PROCESS },
	{ "thread", FORKFLAME_BY_THREAD },
	{ "role", FORKFLAME_BY_ROLE },
	{ "all", FORKFLAME_BY_NOTHING },
	{ NULL, 0 },
};

static const struct word colors[] = {
	{ "auto", COLOR_AUTO },
	{ "always", COLOR_ALWAYS },
	{ "never", COLOR_NEVER },
	{ NULL, 0 },
};

static const char *take_format(struct parsing *parsing, const char *value)
{
	struct options *options = parsing->options;
	int format;

	/* -ff, as strace has it, comes as -f with the argument "f". */
	if (!strcmp(value, "f")) {
		options->split = true;
		return NULL;
	}
	format = words_format(value, &options->recording);
	if (format < 0)
		return "is no format: html, svg, collapsed, speedscope, pprof, "
		       "firefox, chrome, callgrind, pstats, jsonl, flamechart, "
		       "table or ff (children are always followed; -ff writes "
		       "a file a process)";
	options->view.format = format;
	parsing->format = true;
	return NULL;
}

/* Options whose value is one of some words. */
static const char *take_word(struct parsing *parsing, int opt,
			     const char *value)
{
	struct options *options = parsing->options;
	int word;

	if (opt == OPT_MODE) {
		word = words_value(modes, value);
		options->view.value = word;
		return word >= 0 ? NULL
				 : "is no mode: wall, cpu, gil or samples";
	}
	if (opt == OPT_BY) {
		word = words_value(groups, value);
		options->view.group = word;
		parsing->group = true;
		return word >= 0 ? NULL
				 : "is nothing to go by: process, thread, role "
				   "or all";
	}
	word = words_value(colors, value);
	options->color = word;
	return word >= 0 ? NULL : "is none of auto, always and never";
}

/* Options whose value is a number or a time. */
static const char *take_number(struct options *options, int opt,
			       const char *value)
{
	double number;

	switch (opt) {
	case OPT_SINCE:
		return words_seconds(value, &options->view.since_ns)
			       ? NULL
			       : "is no time in seconds";
	case OPT_UNTIL:
		return words_seconds(value, &options->view.until_ns) &&
				       options->view.until_ns
			       ? NULL
			       : "is no time in seconds";
	case OPT_TREE:
		return words_pids(value, options->trees, &options->n_trees)
			       ? NULL
			       : "is no process number";
	default:
		if (!words_number(value, true, &number) || number < 1 ||
		    number > INT_MAX)
			return "is no number of rows";
		options->view.rows = (unsigned)number;
		return NULL;
	}
}

static const char *take_thread(struct options *options, const char *value)
{
	if (options->n_threads == OPTIONS_PIDS)
		return "is one --thread too many";
	options->threads[options->n_threads++] = value;
	return NULL;
}

/* Those without a value, and those whose value is a text. */
static const char *take_rest(struct parsing *parsing, int opt,
			     const char *value)
{
	struct options *options = parsing->options;
	struct forkflame_view *view = &options->view;

	switch (opt) {
	case 'o':
		options->output = value;
		break;
	case 'q':
		options->quiet = true;
		break;
	case 't':
		view->group = FORKFLAME_BY_THREAD;
		parsing->group = true;
		break;
	case OPT_MERGE:
		view->group = FORKFLAME_BY_ROLE;
		parsing->group = true;
		break;
	case 'F':
		view->frames = FORKFLAME_FUNCTIONS;
		break;
	case OPT_FILE:
		view->frames = FORKFLAME_FILES;
		break;
	case 'i':
		view->busy = false;
		break;
	case OPT_NO_IDLE:
		view->busy = true;
		break;
	case 'g':
		view->holding = true;
		break;
	case OPT_COUNTS:
		view->value = FORKFLAME_SAMPLES;
		break;
	case OPT_INCLUDE:
		view->include = value;
		break;
	case OPT_EXCLUDE:
		view->exclude = value;
		break;
	case OPT_TITLE:
		view->title = value;
		break;
	case OPT_SOURCE:
		options->source = true;
		break;
	default:
		return "is not known";
	}
	return NULL;
}

const char *options_take_view(struct parsing *parsing, int opt,
			      const char *value)
{
	switch (opt) {
	case 'f':
		return take_format(parsing, value);
	case OPT_MODE:
	case OPT_BY:
	case OPT_COLOR:
		return take_word(parsing, opt, value);
	case OPT_SINCE:
	case OPT_UNTIL:
	case OPT_TREE:
	case OPT_ROWS:
		return take_number(parsing->options, opt, value);
	case OPT_THREAD:
		return take_thread(parsing->options, value);
	default:
		return take_rest(parsing, opt, value);
	}
}

void options_point_view(struct options *options)
{
	struct forkflame_view *view = &options->view;

	view->trees = options->trees;
	view->n_trees = options->n_trees;
	view->threads = options->threads;
	view->n_threads = options->n_threads;
}

void options_settle_view(struct parsing *parsing,
			 enum forkflame_format otherwise)
{
	struct options *options = parsing->options;
	int format = -1;

	if (options->output && !parsing->format)
		format = words_format_of(options->output, &options->recording);
	if (!parsing->format)
		options->view.format =
			format >= 0 ? (enum forkflame_format)format : otherwise;
	/* Its readers add all processes up, whatever is told apart. */
	if (options->view.format == FORKFLAME_CALLGRIND && !parsing->group)
		options->view.group = FORKFLAME_BY_ROLE;
	if (options->output && strstr(options->output, "%p"))
		options->split = true;
	options_point_view(options);
}
