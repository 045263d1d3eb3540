/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_EVSOURCE_H
#define LINUX_EVSOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"

/*
 * What the listener reads: the connector or perf's task records, seen alike.
 * Functions get @self. One thread reads; the counters may be asked by another.
 */
struct evsource {
	void *self;
	/* The @i-th fd to poll for reading, -1 when there are no more. */
	int (*fd)(const void *self, size_t i);
	/*
	 * Up to @max (<= 64) events that are there, in an order in which causes
	 * come before what they caused. How many; fewer than @max: there are no
	 * more now; a negative errno when there will never be one again.
	 */
	int (*read)(void *self, struct event *events, size_t max);
	/* Messages read, and dropped by the kernel, since the opening. */
	uint64_t (*received)(const void *self);
	uint64_t (*dropped)(const void *self);
	/* Wait for what the opening has left behind: a child of ours that ends. By any
	 * thread. NULL: nothing. */
	void (*settle)(void *self);
	void (*close)(void *self);
};

#endif
