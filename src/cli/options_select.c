/* SPDX-License-Identifier: Apache-2.0 */
#include <pwd.h>
#include <stdlib.h>

#include "cli/options_parse.h"
#include "cli/words.h"

/* A whole number up to @most; false when it is none. */
static bool take_whole(const char *value, double most, int64_t *ret)
{
	double number;

	if (!words_number(value, false, &number) || number < 0 ||
	    number > most || number != (double)(int64_t)number)
		return false;
	*ret = (int64_t)number;
	return true;
}

/* A name of a user, or his number. */
static const char *take_user(struct options *ret, const char *value)
{
	const struct passwd *user = getpwnam(value);

	if (user)
		ret->run.uid = user->pw_uid;
	else if (!take_whole(value, UINT32_MAX - 1.0, &ret->run.uid))
		return "is no user";
	return NULL;
}

bool options_is_selection(int opt)
{
	return opt == 'p' || opt == 'a' ||
	       (opt >= OPT_NO_CHILDREN && opt <= OPT_EXE);
}

const char *options_take_selection(struct options *ret, int opt,
				   const char *value)
{
	switch (opt) {
	case 'p':
		return words_pids(value, ret->pids, &ret->n_pids)
			       ? NULL
			       : "is no process number";
	case 'a':
		ret->all = true;
		return NULL;
	case OPT_NO_CHILDREN:
		ret->run.depth = 0;
		return NULL;
	case OPT_DEPTH:
		return take_whole(value, 1e6, &ret->run.depth)
			       ? NULL
			       : "is no number of generations";
	case OPT_INCLUDE_COMMAND:
		ret->run.include_command = value;
		return NULL;
	case OPT_EXCLUDE_COMMAND:
		ret->run.exclude_command = value;
		return NULL;
	case OPT_USER:
		return take_user(ret, value);
	default:
		ret->run.exe = value;
		return NULL;
	}
}

const char *options_settle_selection(struct options *ret)
{
	/* Whose processes, or those of which program: no others were named. */
	if (!ret->command && !ret->n_pids &&
	    (ret->run.uid >= 0 || ret->run.exe))
		ret->all = true;
	if (ret->command && ret->n_pids)
		return "either a command or -p PID, not both";
	if (ret->all && (ret->command || ret->n_pids))
		return "either -a, or a command or -p PID, not both";
	if (ret->all && ret->run.depth >= 0)
		return "a depth is one below a command or -p PID, not with -a";
	return NULL;
}
