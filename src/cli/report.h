/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/options.h"

/* Make views of recordings, as @options say. Returns the exit status. */
int report_run(const struct options *options);

#endif
