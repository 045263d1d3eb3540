/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "cli/options.h"

/* `forkflame dump`. Returns the exit status. */
int dump_run(const struct options *options);

#endif
