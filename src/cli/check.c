/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/colour.h"
#include "cli/messages.h"
#include "cli/record.h"
#include "forkflame/forkflame.h"

/* A forkflame_write_fn for one line, which begins with its mark; @ctx: bool. */
static int print_line(void *ctx, const char *line, size_t len)
{
	const bool *colour = ctx;
	const char *begin = "";
	size_t mark = 0;

	if (*colour && len > 2) {
		mark = 2;
		begin = line[0] == 'o'   ? "\033[32m"
			: line[0] == 'n' ? "\033[31m"
					 : "\033[33m";
	}
	errno = 0;
	if (fprintf(stdout, "%s%.*s%s%.*s", begin, (int)mark, line,
		    mark ? "\033[m" : "", (int)(len - mark), line + mark) < 0)
		return errno ? -errno : -EIO;
	return 0;
}

int check_run(void)
{
	bool colour = colour_wanted(STDOUT_FILENO);
	bool able = false;
	int r = forkflame_check(print_line, &colour, &able);

	if (fflush(stdout) != 0 && r == 0)
		r = -errno;
	if (r < 0) {
		message_say("check: %s", strerror(-r));
		return EXIT_OUTPUT;
	}
	return able ? EXIT_SAMPLED : EXIT_DENIED;
}
