/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PERFWATCH_H
#define LINUX_PERFWATCH_H

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"
#include "linux/perfring.h"

/*
 * The records of chosen threads, and of all that they will fork, in rings that are
 * open: as an ordinary user may have them of processes that run already. Each thread
 * takes an fd a ring, for good: with it would go those of all that it has forked. A
 * zeroed one watches nobody.
 */
struct perfwatch {
	struct VEC(int) fds;
};

/*
 * Watch @tid from now on, in all of @rings; twice, and each record comes twice.
 * Returns 0; a negative errno, and nothing has changed: -ESRCH, no such thread.
 */
int perfwatch_add(struct perfwatch *w, const struct perfring *rings, size_t n,
		  enum perfring_what what, pid_t tid);
void perfwatch_close(struct perfwatch *w);

#endif
