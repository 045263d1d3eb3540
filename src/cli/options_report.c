/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/options_parse.h"
#include "cli/words.h"

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "diff", required_argument, NULL, OPT_DIFF },
	OPTIONS_OF_VIEWS,
	{ NULL, 0, NULL, 0 },
};

static const char *take_option(struct parsing *parsing, int opt,
			       const char *value)
{
	struct options *ret = parsing->options;

	if (opt == 'p')
		return words_pids(value, ret->pids, &ret->n_pids)
			       ? NULL
			       : "is no process number";
	if (opt == OPT_DIFF) {
		ret->diff = value;
		return NULL;
	}
	return options_take_view(parsing, opt, value);
}

/* What does not go together. NULL: nothing is wrong. */
static const char *contradiction(const struct options *ret)
{
	if (!ret->files || !*ret->files)
		return "of what? Give a recording: 'forkflame record -o run.ff' "
		       "makes one";
	if (ret->recording)
		return "a recording is what views are made of, no view";
	if (ret->split && (!ret->output || !strcmp(ret->output, "-")))
		return "a file a process wants a name: -o NAME-%p.html";
	if (ret->split && ret->diff)
		return "a comparison is of all processes, not of one";
	return NULL;
}

/*
 * Files and options may be mixed. getopt_long puts the files last, which POSIX
 * does not promise but glibc and musl do.
 */
enum options_result options_report(int argc, char *argv[], struct options *ret,
				   char *message, size_t len)
{
	static const struct option_table table = {
		.told = "report",
		.brief = ":p:" SHORT_OF_VIEWS,
		.names = long_options,
		.take = take_option,
	};
	struct parsing parsing = { .options = ret };
	enum options_result result;
	const char *wrong;

	if (!options_take(&table, &parsing, argc, argv, message, len, &result))
		return result;
	options_settle_view(&parsing, FORKFLAME_TABLE);
	ret->view.pids = ret->pids;
	ret->view.n_pids = ret->n_pids;
	ret->files = argv + optind;
	wrong = contradiction(ret);
	if (!wrong)
		return OPTIONS_REPORT;
	(void)snprintf(message, len, "report: %s", wrong);
	return OPTIONS_BAD;
}
