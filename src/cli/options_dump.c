/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/options_parse.h"

static const struct option long_options[] = {
	OPTIONS_OF_SELECTION,
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
	if (opt == 'o')
		ret->output = value;
	else if (opt == 'q')
		ret->quiet = true;
	else if (opt == 'j' || opt == OPT_JSON)
		ret->json = true;
	return NULL;
}

enum options_result options_dump(int argc, char *argv[], struct options *ret,
				 char *message, size_t len)
{
	static const struct option_table table = {
		.told = "dump",
		.brief = "+:" SHORT_OF_SELECTION "o:jqh",
		.names = long_options,
		.take = take_option,
	};
	struct parsing parsing = { .options = ret };
	enum options_result result;
	const char *wrong;

	if (!options_take(&table, &parsing, argc, argv, message, len, &result))
		return result;
	wrong = options_settle_selection(ret);
	if (!wrong && optind < argc)
		wrong = "a command cannot be dumped, only -p PID or -a";
	else if (!wrong && !ret->n_pids && !ret->all)
		wrong = "of what? Give -p PID or -a";
	if (!wrong)
		return OPTIONS_DUMP;
	(void)snprintf(message, len, "dump: %s", wrong);
	return OPTIONS_BAD;
}
