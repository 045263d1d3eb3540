/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/options_parse.h"
#include "cli/words.h"

static const struct option long_options[] = {
	OPTIONS_OF_SELECTION,
	{ "duration", required_argument, NULL, 'd' },
	{ "events", required_argument, NULL, OPT_EVENTS },
	{ "output", required_argument, NULL, 'o' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* One option. Returns NULL, or what is wrong, for "'VALUE' %s". */
static const char *take_option(struct options *ret, int opt, const char *value)
{
	if (options_is_selection(opt))
		return options_take_selection(ret, opt, value);
	switch (opt) {
	case 'd':
		return options_take_duration(ret, value);
	case OPT_EVENTS:
		return options_take_events(ret, value);
	case 'o':
		ret->output = value;
		return NULL;
	case OPT_JSON:
		ret->json = true;
		return NULL;
	case 'q':
		ret->quiet = true;
		return NULL;
	case ':':
		return "needs a value";
	default:
		return "is not known";
	}
}

enum options_result options_tree(int argc, char *argv[], struct options *ret,
				 char *message, size_t len)
{
	const char *wrong;
	int opt;

	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+:" SHORT_OF_SELECTION "d:o:qh",
				  long_options, NULL)) != -1) {
		if (opt == 'h')
			return OPTIONS_HELP;
		wrong = take_option(ret, opt, optarg);
		if (wrong) {
			(void)snprintf(message, len, "tree: '%s' %s",
				       opt == ':' || opt == '?' || !optarg
					       ? argv[optind - 1]
					       : optarg,
				       wrong);
			return OPTIONS_BAD;
		}
	}
	if (optind < argc)
		ret->command = argv + optind;
	wrong = options_settle_selection(ret);
	if (!wrong && !ret->command && !ret->n_pids && !ret->all)
		wrong = "of what? Give a command, -p PID or -a";
	if (!wrong)
		return OPTIONS_TREE;
	(void)snprintf(message, len, "tree: %s", wrong);
	return OPTIONS_BAD;
}
