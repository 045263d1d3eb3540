/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool colour_wanted(int fd)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return (!no || !*no) && isatty(fd) && term && strcmp(term, "dumb");
}
