/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HZ_MAX 20000
#define SECONDS_MAX (100.0 * 365 * 86400)

enum {
	OPT_MODE = 256,
	OPT_COUNTS,
	OPT_EVENTS,
	OPT_ONCPU,
	OPT_STATS,
	OPT_JSON,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "duration", required_argument, NULL, 'd' },
	{ "rate", required_argument, NULL, 'r' },
	{ "output", required_argument, NULL, 'o' },
	{ "format", required_argument, NULL, 'f' },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "counts", no_argument, NULL, OPT_COUNTS },
	{ "events", required_argument, NULL, OPT_EVENTS },
	{ "oncpu", required_argument, NULL, OPT_ONCPU },
	{ "stats", required_argument, NULL, OPT_STATS },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

const char *options_help(void)
{
	return "Usage: forkflame record [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
	       "       forkflame record [OPTIONS] -p PID [-p PID]...\n"
	       "       forkflame dump [--json] [-o FILE] -p PID [-p PID]...\n"
	       "       forkflame check\n"
	       "\n"
	       "Profile a Python program and every process that it ever forks; dump prints\n"
	       "every stack of a running tree, now; check says what this machine offers for\n"
	       "that, what it refuses, and what helps.\n"
	       "\n"
	       "What to profile\n"
	       "  COMMAND              start it, profile it from its first instruction\n"
	       "  -p, --pid PID        a running process and its descendants; repeatable,\n"
	       "                       or PID,PID,...\n"
	       "  -d, --duration SECS  for so long (wall time); else until the last process\n"
	       "                       of the tree has gone, or Ctrl-C\n"
	       "  -r, --rate HZ        samples a second of each thread; 100 (also 1k)\n"
	       "\n"
	       "What to write\n"
	       "  -o, --output FILE    '-' for standard output; %p in it: a file a process\n"
	       "                       (its pid), %t: the time; else a name is made up\n"
	       "  -f, --format FORMAT  flamegraph (a page for a browser) or collapsed (a line\n"
	       "                       a stack); else as FILE ends: .html, .folded\n"
	       "  -ff                  a file a process, named FILE.PID\n"
	       "      --mode MODE      what weights are: wall (time, the default) or cpu\n"
	       "      --counts         weights are numbers of samples, not microseconds\n"
	       "      --stats FILE     the summary as JSON\n"
	       "  -q, --quiet          no progress, no summary on standard error\n"
	       "\n"
	       "How to look\n"
	       "      --events SOURCE  births and ends from: auto, connector, children\n"
	       "      --oncpu SOURCE   who runs from: auto, switches, runcounts\n"
	       "\n"
	       "  -h, --help           this\n"
	       "      --version\n"
	       "\n"
	       "The exit status is the command's; of check, 0 when a command can be recorded.\n"
	       "See forkflame(1).\n";
}

struct word {
	const char *text;
	int value;
};

/* The value of one of some words, or -1. */
static int word_value(const struct word *words, const char *text)
{
	for (; words->text; words++)
		if (!strcmp(words->text, text))
			return words->value;
	return -1;
}

static const struct word formats[] = {
	{ "flamegraph", FORKFLAME_FLAMEGRAPH },
	{ "html", FORKFLAME_FLAMEGRAPH },
	{ "collapsed", FORKFLAME_COLLAPSED },
	{ "folded", FORKFLAME_COLLAPSED },
	{ NULL, 0 },
};

static const struct word modes[] = {
	{ "wall", FORKFLAME_WALL },
	{ "cpu", FORKFLAME_CPU },
	{ NULL, 0 },
};

static const struct word sources[] = {
	{ "auto", FORKFLAME_EVENTS_AUTO },
	{ "connector", FORKFLAME_EVENTS_CONNECTOR },
	{ "children", FORKFLAME_EVENTS_CHILDREN },
	{ NULL, 0 },
};

static const struct word runners[] = {
	{ "auto", FORKFLAME_ONCPU_AUTO },
	{ "switches", FORKFLAME_ONCPU_SWITCHES },
	{ "runcounts", FORKFLAME_ONCPU_RUNCOUNTS },
	{ NULL, 0 },
};

/* A number, with k for thousands where @kilo; false when it is none. */
static bool parse_number(const char *text, bool kilo, double *ret)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || errno || !isfinite(value))
		return false;
	if (kilo && (*end == 'k' || *end == 'K')) {
		value *= 1000;
		end++;
	}
	*ret = value;
	return !*end;
}

/* "PID" or "PID,PID": false when one is none, or there are too many. */
static bool parse_pids(const char *text, struct options *ret)
{
	char *end;

	for (;; text = end + 1) {
		long pid = strtol(text, &end, 10);

		if (!isdigit((unsigned char)*text) || pid <= 0 ||
		    pid > INT32_MAX || (*end && *end != ','))
			return false;
		if (ret->n_pids == OPTIONS_PIDS)
			return false;
		ret->pids[ret->n_pids++] = (pid_t)pid;
		if (!*end)
			return true;
	}
}

/* One option. Returns NULL, or what is wrong, for "%s: MESSAGE". */
static const char *take_option(int opt, const char *value, struct options *ret,
			       bool *ret_format)
{
	double number;
	int word = 0;

	switch (opt) {
	case 'p':
		return parse_pids(value, ret) ? NULL : "is no process number";
	case 'd':
		if (!parse_number(value, false, &number) || number <= 0 ||
		    number > SECONDS_MAX)
			return "is no duration in seconds";
		ret->run.duration_ns = (uint64_t)(number * 1e9);
		return NULL;
	case 'r':
		if (!parse_number(value, true, &number) || number < 0.1 ||
		    number > HZ_MAX)
			return "is no rate from 0.1 to 20000 Hz";
		ret->run.interval_ns = (uint64_t)(1e9 / number);
		return NULL;
	case 'f':
		/* -ff, as strace has it, comes as -f with the argument "f". */
		if (!strcmp(value, "f")) {
			ret->split = true;
			return NULL;
		}
		word = word_value(formats, value);
		ret->format = word;
		*ret_format = true;
		return word >= 0 ? NULL
				 : "is no format: flamegraph or collapsed "
				   "(children are always followed; -ff writes "
				   "a file a process)";
	case OPT_MODE:
		word = word_value(modes, value);
		ret->value = word;
		return word >= 0 ? NULL : "is no mode: wall or cpu";
	case OPT_EVENTS:
		word = word_value(sources, value);
		ret->run.events = word;
		return word >= 0 ? NULL
				 : "is no source: auto, connector or children";
	case OPT_ONCPU:
		word = word_value(runners, value);
		ret->run.oncpu = word;
		return word >= 0 ? NULL
				 : "is no source: auto, switches or runcounts";
	default:
		return "is not known";
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

static enum forkflame_format format_of(const char *output)
{
	static const char *const ends[] = { ".folded", ".collapsed", ".txt" };

	for (size_t i = 0; output && i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(output, ends[i]))
			return FORKFLAME_COLLAPSED;
	return output && !strcmp(output, "-") ? FORKFLAME_COLLAPSED
					      : FORKFLAME_FLAMEGRAPH;
}

/* Is @word the subcommand @name, or an unmistakable beginning of it? */
static bool is_subcommand(const char *word, const char *name)
{
	return *word && !strncmp(name, word, strlen(word));
}

/* It takes nothing but what every subcommand takes. */
static enum options_result parse_check(int argc, char *argv[], char *message,
				       size_t len)
{
	if (argc == 1)
		return OPTIONS_CHECK;
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return OPTIONS_HELP;
	if (!strcmp(argv[1], "--version"))
		return OPTIONS_VERSION;
	(void)snprintf(message, len,
		       "check: '%s' is too much: it takes nothing", argv[1]);
	return OPTIONS_BAD;
}

static enum options_result check_record(struct options *ret, char *message,
					size_t len)
{
	const char *wrong = NULL;

	if (ret->command && ret->n_pids)
		wrong = "either a command or -p PID, not both";
	else if (!ret->command && !ret->n_pids)
		wrong = "what is to be profiled? Give a command, or -p PID";
	else if (ret->split && ret->output && !strcmp(ret->output, "-"))
		wrong = "a file a process cannot go to standard output";
	if (!wrong)
		return OPTIONS_RECORD;
	(void)snprintf(message, len, "%s", wrong);
	return OPTIONS_BAD;
}

static enum options_result parse_record(int argc, char *argv[],
					struct options *ret, char *message,
					size_t len)
{
	bool counts = false, format = false;
	const char *wrong;
	int opt;

	optind = 0; /* glibc and musl: begin anew */
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:p:d:r:o:f:qh", long_options,
				  NULL)) != -1) {
		wrong = NULL;
		if (opt == 'h' || opt == OPT_HELP)
			return OPTIONS_HELP;
		if (opt == OPT_VERSION)
			return OPTIONS_VERSION;
		if (opt == 'o')
			ret->output = optarg;
		else if (opt == OPT_STATS)
			ret->stats = optarg;
		else if (opt == 'q')
			ret->quiet = true;
		else if (opt == OPT_COUNTS)
			counts = true;
		else if (opt == ':')
			wrong = "needs a value";
		else
			wrong = take_option(opt, optarg, ret, &format);
		if (wrong) {
			(void)snprintf(message, len, "%s: '%s' %s", "option",
				       opt == ':' || opt == '?' || !optarg
					       ? argv[optind - 1]
					       : optarg,
				       wrong);
			return OPTIONS_BAD;
		}
	}
	if (counts)
		ret->value = FORKFLAME_SAMPLES;
	if (!format)
		ret->format = format_of(ret->output);
	if (ret->output && strstr(ret->output, "%p"))
		ret->split = true;
	if (optind < argc)
		ret->command = argv + optind;
	return check_record(ret, message, len);
}

static const struct option dump_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "output", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static enum options_result parse_dump(int argc, char *argv[],
				      struct options *ret, char *message,
				      size_t len)
{
	const char *wrong = NULL;
	int opt;

	optind = 0;
	opterr = 0;
	while (!wrong && (opt = getopt_long(argc, argv, "+:p:o:jqh",
					    dump_options, NULL)) != -1) {
		if (opt == 'h')
			return OPTIONS_HELP;
		if (opt == 'p' && !parse_pids(optarg, ret))
			wrong = "-p wants a process number";
		else if (opt == 'o')
			ret->output = optarg;
		else if (opt == 'q')
			ret->quiet = true;
		else if (opt == 'j' || opt == OPT_JSON)
			ret->json = true;
		else if (opt == '?' || opt == ':')
			wrong = "an option is not known, or wants a value";
	}
	if (!wrong && optind < argc)
		wrong = "a command cannot be dumped, only -p PID";
	else if (!wrong && !ret->n_pids)
		wrong = "of what? Give -p PID";
	if (!wrong)
		return OPTIONS_DUMP;
	(void)snprintf(message, len, "dump: %s", wrong);
	return OPTIONS_BAD;
}

enum options_result options_parse(int argc, char *argv[], struct options *ret,
				  char *message, size_t len)
{
	const char *word = argc > 1 ? argv[1] : "";

	*ret = (struct options){ .run = FORKFLAME_OPTIONS };
	if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
	    !strcmp(word, "help"))
		return OPTIONS_HELP;
	if (!strcmp(word, "--version") || !strcmp(word, "version"))
		return OPTIONS_VERSION;
	if (is_subcommand(word, "record"))
		return parse_record(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "dump"))
		return parse_dump(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "check"))
		return parse_check(argc - 1, argv + 1, message, len);
	if (*word)
		(void)snprintf(message, len,
			       "'%s' is no subcommand; did you mean "
			       "'forkflame record %s'?",
			       word, word);
	else
		(void)snprintf(
			message, len,
			"a subcommand is missing: record, dump or check");
	return OPTIONS_BAD;
}
