/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UI_PROGRESS_H
#define UI_PROGRESS_H

#include <stdio.h>

#include "forkflame/forkflame.h"

/* One line on a terminal that says how a run goes, written over itself. */
struct progress_line {
	FILE *to;            /* a terminal */
	uint64_t elapsed_ns; /* at the last time */
	uint64_t samples;
	int shown; /* there is a line to be erased */
};

/* Make the text: pure. At most @len bytes with the NUL. */
void progress_format(const struct progress_line *line,
		     const struct forkflame_progress *progress, char *text,
		     size_t len);

void progress_show(struct progress_line *line,
		   const struct forkflame_progress *progress);
void progress_erase(struct progress_line *line);

#endif
