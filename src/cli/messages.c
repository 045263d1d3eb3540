/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/messages.h"

#include <stdarg.h>
#include <stdio.h>

void message_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	/* One write: the command may be writing to the same terminal. */
	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	(void)fprintf(stderr, "forkflame: %s\n", line);
}
