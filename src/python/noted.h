/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_NOTED_H
#define PYTHON_NOTED_H

#include "base/mem.h"
#include "python/stackhint.h"

/*
 * A memory in front of a memory that remembers what is read through it, to be
 * fetched with the next stack: in the steady state those reads cost no call of
 * their own. Plain data; what it points to is borrowed.
 */
struct noted {
	const struct mem *behind;
	struct stackhint *hint;
};

/* Good for as long as @noted is there. */
struct mem noted_mem(struct noted *noted);

#endif
