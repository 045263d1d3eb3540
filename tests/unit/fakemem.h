/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKEMEM_H
#define TESTS_FAKEMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/layout.h"

/*
 * The memory of a target that does not exist: what a test put there, byte for
 * byte, and holes everywhere else. A read comes short at the first byte that
 * nobody put. A zeroed one is empty; fakemem_free makes it so again.
 */
struct fakemem {
	struct fakemem_page *pages;
	unsigned calls;  /* of readv so far, those that failed too */
	unsigned ranges; /* asked for so far, in all of these calls */
	int fail;        /* OUT_GONE or OUT_DENIED: what each call comes to */

	/* Called before each readv is served: a target that does not stand. */
	void (*hook)(struct fakemem *fm, void *arg);
	void *hook_arg;
};

struct mem fakemem_mem(struct fakemem *fm);
void fakemem_free(struct fakemem *fm);

/* Put bytes at @addr, over what was there. Aborts when memory is gone. */
void fakemem_put(struct fakemem *fm, uint64_t addr, const void *bytes,
		 size_t len);
void fakemem_put_u64(struct fakemem *fm, uint64_t addr, uint64_t value);
void fakemem_put_u32(struct fakemem *fm, uint64_t addr, uint32_t value);
void fakemem_put_u8(struct fakemem *fm, uint64_t addr, uint8_t value);

/* Zeroes at @addr: a whole structure, of which a test then fills a few fields. */
void fakemem_zero(struct fakemem *fm, uint64_t addr, size_t len);

/* The row of 3.@version, or of 2.7 for 27, which must be there. */
const struct layout *fakemem_row(unsigned version, bool free_threaded);

/* Make a hole. */
void fakemem_unmap(struct fakemem *fm, uint64_t addr, size_t len);

#endif
