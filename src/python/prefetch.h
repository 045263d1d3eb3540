/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_PREFETCH_H
#define PYTHON_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * A memory in front of a memory: what is likely to be read next is fetched in
 * one call, and reads that it covers are served without another. The reader
 * behind it walks link by link and need not know; a prediction that was wrong
 * costs a call, never a wrong answer, because what is served was read from the
 * target since prefetch_start.
 *
 * Use it within one stop (or one proven sleep) only: start, plan, fetch, read.
 * Buffers are kept from one use to the next; a zeroed one is empty.
 */
struct prefetch;

#define PREFETCH_MAX_BYTES \
	(16u << 20) /* planned in one round; more is ignored */

/* Returns NULL when memory is gone. */
struct prefetch *prefetch_new(void);
void prefetch_free(struct prefetch *p);

/* Forget all that was fetched and planned; reads go to @mem from now on. */
void prefetch_start(struct prefetch *p, const struct mem *mem);

/* Plan to fetch @len bytes at @addr. Allowed to forget it. Plans may overlap. */
void prefetch_plan(struct prefetch *p, uint64_t addr, size_t len);

/*
 * Fetch what is planned in one readv of the memory behind. A range that came
 * short is served as far as it came. Returns 0 (also when ranges came short),
 * OUT_GONE or OUT_DENIED.
 */
int prefetch_fetch(struct prefetch *p);

/*
 * The memory that the reader uses. A read that is covered is served from what
 * was fetched; all that are not go to the memory behind in one readv.
 */
const struct mem *prefetch_mem(struct prefetch *p);

/* How many readv calls went to the memory behind since prefetch_start. */
unsigned prefetch_calls(const struct prefetch *p);

#endif
