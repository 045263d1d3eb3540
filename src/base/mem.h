/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/*
 * The memory of a target, whoever it is: a live process, a recording, a test's
 * array. Readers of Python structures know nothing else of their target.
 *
 * Everything read is hostile: a length, a count or an address from the target
 * is checked before it is used.
 */

/* One piece to read: @len bytes at @addr of the target into @buf. */
struct mem_range {
	uint64_t addr;
	void *buf;
	size_t len;
	size_t got; /* set by every read: bytes that arrived, from the start */
};

struct mem {
	/*
	 * Read @n ranges, in as few system calls as can be. A range that cannot
	 * be read does not keep those after it from being read.
	 *
	 * Returns 0 when all came whole; OUT_TORN when at least one came short
	 * (look at `got`); OUT_GONE when the target no longer exists or has
	 * another address space now; OUT_DENIED when the kernel refuses.
	 * Allocates nothing.
	 */
	int (*readv)(void *ctx, struct mem_range *ranges, size_t n);
	void *ctx;
};

/* Read @len bytes at @addr, or nothing: 0, OUT_TORN, OUT_GONE, OUT_DENIED. */
static inline int mem_read(const struct mem *mem, uint64_t addr, void *buf,
			   size_t len)
{
	struct mem_range range = { .addr = addr, .buf = buf, .len = len };

	return mem->readv(mem->ctx, &range, 1);
}

/* Read one pointer. */
static inline int mem_read_u64(const struct mem *mem, uint64_t addr,
			       uint64_t *ret)
{
	return mem_read(mem, addr, ret, sizeof(*ret));
}

#endif
