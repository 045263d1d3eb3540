/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli/options.h"

/* Exit statuses; a command's own comes before all of them. */
enum {
	EXIT_SAMPLED = 0,
	EXIT_NOTHING = 1, /* nothing was sampled */
	EXIT_USAGE = 2,
	EXIT_DENIED = 3,
	EXIT_NOT_PYTHON = 4, /* or a version that is not known */
	EXIT_OUTPUT = 5,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/*
 * `forkflame record`. Returns the exit status, or minus the number of the signal
 * that the command died of.
 */
int record_run(const struct options *options);

#endif
