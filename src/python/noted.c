/* SPDX-License-Identifier: Apache-2.0 */
#include "python/noted.h"

static int noted_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	const struct noted *noted = ctx;

	for (size_t i = 0; i < n; i++)
		stackhint_also(noted->hint, ranges[i].addr, ranges[i].len);
	return noted->behind->readv(noted->behind->ctx, ranges, n);
}

struct mem noted_mem(struct noted *noted)
{
	return (struct mem){ .readv = noted_readv, .ctx = noted };
}
