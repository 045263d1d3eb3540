/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZMEM_H
#define TESTS_FUZZMEM_H

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/outcome.h"

/* A target whose memory is the input, at @base; holes are everywhere else. */
struct fuzzmem {
	uint64_t base;
	const uint8_t *at;
	size_t len;
};

static inline int fuzzmem_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	const struct fuzzmem *fm = ctx;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = ranges[i].addr - fm->base;
		size_t len = ranges[i].len;

		ranges[i].got = 0;
		if (ranges[i].addr >= fm->base && from < fm->len) {
			size_t left = fm->len - (size_t)from;

			ranges[i].got = len < left ? len : left;
			memcpy(ranges[i].buf, fm->at + from, ranges[i].got);
		}
		if (ranges[i].got < len)
			r = OUT_TORN;
	}
	return r;
}

static inline struct mem fuzzmem_mem(struct fuzzmem *fm)
{
	return (struct mem){ .readv = fuzzmem_readv, .ctx = fm };
}

#endif
