/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_REMOTE_H
#define LINUX_REMOTE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/mem.h"

/* As many ranges as the kernel takes in one call (UIO_MAXIOV). */
#define REMOTE_BATCH 1024

/*
 * The memory of a live process, by process_vm_readv. One of these serves any
 * number of processes, one at a time: set `pid`. It only ever reads.
 *
 * It is large: keep it in something that is allocated once.
 */
struct remote {
	pid_t pid;      /* of any thread of the process */
	uint64_t calls; /* system calls made */
	struct iovec local[REMOTE_BATCH];
	struct iovec far[REMOTE_BATCH];
};

/*
 * The memory to read through, as base/mem.h describes. It borrows @remote.
 * A process that exec'd is not noticed: its numbers stay the same.
 */
struct mem remote_mem(struct remote *remote);

#endif
