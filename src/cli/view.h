/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "forkflame/forkflame.h"

/* Files of views, written from a report as the command line wants them. */

/*
 * Write the view of @options to @path, of one process only where @only is not
 * negative. Returns 0 or a negative errno, which was said.
 */
int view_write(struct forkflame_report *report, const struct options *options,
	       const char *path, int64_t only);

/*
 * All files that are wanted: one, or one a process, named after @pattern.
 * Returns likewise.
 */
int view_write_all(struct forkflame_report *report,
		   const struct options *options, const char *pattern);

/* Say of each recording of @report what is missing of it. */
void view_say_endings(struct forkflame_report *report);

#endif
