/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TARGETS_H
#define CLI_TARGETS_H

#include "cli/options.h"

/*
 * Take in the running processes that the command line names. One that is not
 * there or may not be read is named on standard error, and the others are taken in.
 *
 * @ret_status  set to the exit status when none is left
 *
 * Returns 0 or a negative errno.
 */
int targets_take_in(struct forkflame *ff, const struct options *options,
		    int *ret_status);

#endif
