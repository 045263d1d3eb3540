/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NSEC_H
#define BASE_NSEC_H

#include <stdint.h>

/* Time is CLOCK_MONOTONIC in nanoseconds since boot, always unsigned. */
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull

/* @a - @b, or 0 where that would be negative. */
static inline uint64_t nsec_since(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The moment halfway between @a and @b, whichever is first. */
static inline uint64_t nsec_middle(uint64_t a, uint64_t b)
{
	return a < b ? a + (b - a) / 2 : b + (a - b) / 2;
}

#endif
