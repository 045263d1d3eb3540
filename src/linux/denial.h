/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_DENIAL_H
#define LINUX_DENIAL_H

#include <sys/types.h>

#include "base/error.h"
#include "linux/procfs.h"

/*
 * Why may we not read the memory of @pid? Tells @err the cause and the remedy, in
 * the order in which they are likely: traced by another, another user's, Yama,
 * capabilities. Returns -EACCES.
 */
int denial_explain(const struct procfs *fs, pid_t pid, struct error *err);

#endif
