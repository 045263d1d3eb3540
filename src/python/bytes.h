/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_BYTES_H
#define PYTHON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fields of what was read of a target: nothing of it is aligned, or to be believed. */

/* The 8 bytes at @at of @bytes, which has them. */
static inline uint64_t bytes_u64(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* May an object that has pointers be at @addr? */
static inline bool bytes_is_pointer(uint64_t addr)
{
	return addr && addr % 8 == 0;
}

#endif
