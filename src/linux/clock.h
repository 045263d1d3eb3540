/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_CLOCK_H
#define LINUX_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/nsec.h"

/* A clock's time in nanoseconds; the clocks used here cannot fail. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC: the time of all of the program. */
static inline uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
