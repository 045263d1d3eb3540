/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "cli/options.h"

/*
 * `forkflame tree`: the lives of a tree on standard output, as they happen.
 * Returns as record_run.
 */
int tree_run(const struct options *options);

#endif
