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

static const char *take_option(struct parsing *parsing, int opt,
			       const char *value)
{
	struct options *ret = parsing->options;

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
	default:
		return NULL;
	}
}

enum options_result options_tree(int argc, char *argv[], struct options *ret,
				 char *message, size_t len)
{
	static const struct option_table table = {
		.told = "tree",
		.brief = "+:" SHORT_OF_SELECTION "d:o:qh",
		.names = long_options,
		.take = take_option,
	};
	struct parsing parsing = { .options = ret };
	enum options_result result;
	const char *wrong;

	if (!options_take(&table, &parsing, argc, argv, message, len, &result))
		return result;
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
