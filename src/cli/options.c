/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#include "cli/options_parse.h"
#include "cli/words.h"

/* A line is one on the screen. */
/* clang-format off */
static const char help[] =
	"Usage: forkflame record [OPTIONS] [--] COMMAND [ARGUMENT...]\n"
	"       forkflame record [OPTIONS] -p PID [-p PID]... | -a\n"
	"       forkflame report [OPTIONS] RECORDING...\n"
	"       forkflame dump [--json] [-o FILE] -p PID [-p PID]... | -a\n"
	"       forkflame tree [--json] [-d SECS] [-o FILE] COMMAND... | -p PID... | -a\n"
	"       forkflame check\n"
	"\n"
	"Profile a Python program and every process that it ever forks; report makes\n"
	"views of a recording; dump prints every stack of a running tree, now; tree\n"
	"tells births, programs and ends as they happen; check says what this machine\n"
	"offers, what it refuses, and what helps.\n"
	"\n"
	"What to profile (record, dump, tree)\n"
	"  COMMAND              start it, profile it from its first instruction\n"
	"  -p, --pid PID        a running process and its descendants; repeatable,\n"
	"                       or PID,PID,...\n"
	"  -a, --all            every Python of the machine, now and later; of one's\n"
	"                       own user when not root\n"
	"      --no-children    no descendants; --depth N: only so many generations\n"
	"      --user USER      only processes of this user (a name or a number)\n"
	"      --exe PATH       only processes that run this file; as --user, -a when\n"
	"                       nothing else is named\n"
	"      --include-command REGEX, --exclude-command REGEX\n"
	"                       only those whose command line fits, or does not\n"
	"\n"
	"How to record\n"
	"  -d, --duration SECS  for so long (wall time); else until the last process\n"
	"                       of the tree has gone, or Ctrl-C\n"
	"  -r, --rate HZ        samples a second of each thread; 100 (also 1k)\n"
	"      --max-overhead PERCENT\n"
	"                       of one core: lower the rate rather than take more\n"
	"      --rotate WHEN    begin another recording after a time (60s, 5m) or at\n"
	"                       a size (100M): NAME.ff, NAME.1.ff, ...\n"
	"      --events SOURCE  births and ends from: auto, connector, perf, children,\n"
	"                       scan\n"
	"      --event-buffer SIZE  that the kernel may queue of them; 8M\n"
	"      --oncpu SOURCE   who runs from: auto, switches, runcounts\n"
	"      --sampler HOW    running threads are read by: auto, stop, kernel\n"
	"      --samplers N     threads that sample, at most; auto: as many as CPUs on\n"
	"                       which a member runs\n"
	"      --nonblocking    stop no thread, ever: what runs is read as it runs\n"
	"      --stats FILE     the summary as JSON\n"
	"\n"
	"What to write (record, report)\n"
	"  -o, --output FILE    '-' for standard output; %p in it: a file a process\n"
	"                       (its pid), %t: the time; else a name is made up;\n"
	"                       NAME.ff is the recording itself, of which report\n"
	"                       makes any view later\n"
	"  -f, --format FORMAT  html, svg, collapsed, speedscope, pprof, firefox,\n"
	"                       chrome, callgrind, pstats, jsonl, flamechart, table,\n"
	"                       ff; else as FILE ends: .html .svg .folded .json\n"
	"                       .pb.gz .firefox.json .trace.json .callgrind .pstats\n"
	"                       .jsonl .flamechart .txt .ff\n"
	"  -ff                  a file a process, named FILE.PID\n"
	"      --mode MODE      what weights are: wall (time, the default), cpu, gil\n"
	"                       (time with the interpreter's lock held), samples\n"
	"      --counts         the same as --mode samples\n"
	"      --title TEXT     of a page\n"
	"      --source         show lines of the source files in a page\n"
	"      --rows N         of each table\n"
	"      --color WHEN     auto, always, never\n"
	"      --diff RECORDING compare with this one (report)\n"
	"  -q, --quiet          no progress, no summary on standard error\n"
	"\n"
	"Which part of it (record, report)\n"
	"  -p, --pid PID        only these processes (report)\n"
	"      --tree PID       only these and their descendants\n"
	"      --thread NAME    only threads of this number, or with this in their name\n"
	"      --since, --until SECS\n"
	"                       only this time, from the start\n"
	"      --include REGEX  only stacks with a FILE:FUNCTION that fits\n"
	"      --exclude REGEX  leave out frames that fit\n"
	"      --no-idle        no time off a CPU (-i, --idle: with it, the default)\n"
	"  -g, --gil            only while the interpreter's lock was held\n"
	"      --by WHAT        process, thread, role (equal command lines), all\n"
	"  -t, --threads        the same as --by thread\n"
	"      --merge-workers  the same as --by role\n"
	"  -F, --function       functions instead of lines; --file: files\n"
	"\n"
	"  -h, --help           this\n"
	"      --version\n"
	"\n"
	"The exit status of record is the command's; of check, 0 when a command can be\n"
	"recorded. See forkflame(1).\n";
/* clang-format on */

const char *options_help(void)
{
	return help;
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

bool options_take(const struct option_table *table, struct parsing *parsing,
		  int argc, char *argv[], char *message, size_t len,
		  enum options_result *ret)
{
	const char *wrong = NULL;
	int opt;

	optind = 0; /* glibc and musl: begin anew */
	opterr = 0;
	*ret = OPTIONS_BAD;
	while (!wrong && (opt = getopt_long(argc, argv, table->brief,
					    table->names, NULL)) != -1) {
		if (opt == 'h' || opt == OPT_HELP) {
			*ret = OPTIONS_HELP;
			return false;
		}
		if (opt == OPT_VERSION) {
			*ret = OPTIONS_VERSION;
			return false;
		}
		if (opt == ':')
			wrong = "needs a value";
		else if (opt == '?')
			wrong = "is not known";
		else
			wrong = table->take(parsing, opt, optarg);
		if (wrong)
			(void)snprintf(message, len, "%s: '%s' %s", table->told,
				       opt == ':' || opt == '?' || !optarg
					       ? argv[optind - 1]
					       : optarg,
				       wrong);
	}
	return !wrong;
}

enum options_result options_parse(int argc, char *argv[], struct options *ret,
				  char *message, size_t len)
{
	const char *word = argc > 1 ? argv[1] : "";

	*ret = (struct options){ .run = FORKFLAME_OPTIONS,
				 .view = FORKFLAME_VIEW };
	if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
	    !strcmp(word, "help"))
		return OPTIONS_HELP;
	if (!strcmp(word, "--version") || !strcmp(word, "version"))
		return OPTIONS_VERSION;
	/* "r" and "re" are the older one's. */
	if (is_subcommand(word, "record"))
		return options_record(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "report"))
		return options_report(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "dump"))
		return options_dump(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "tree"))
		return options_tree(argc - 1, argv + 1, ret, message, len);
	if (is_subcommand(word, "check"))
		return parse_check(argc - 1, argv + 1, message, len);
	if (*word)
		(void)snprintf(message, len,
			       "'%s' is no subcommand; did you mean "
			       "'forkflame record %s'?",
			       word, word);
	else
		(void)snprintf(message, len,
			       "a subcommand is missing: record, report, dump, "
			       "tree or check");
	return OPTIONS_BAD;
}
