/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was planned becomes pieces: some addresses, and a place in one buffer.
 * Pieces below `fetched` hold bytes of the target, as many as `got`; those from
 * there on wait for the next fetch. A read is served by a piece that covers all
 * of it, or goes behind.
 *
 * Readers mostly go through the pieces in the order of the plan, on two tracks
 * at most (a stack in one large piece, with single frames in between), so two
 * places are remembered, and each is tried with the piece that follows. All
 * else asks an index, sorted by address when it is first needed: `reach` is the
 * piece that ends last of those that start no later. When that one does not
 * cover a read, none does, however the pieces overlap.
 */
#include "python/prefetch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "base/vec.h"

/* As many ranges as the kernel takes in one call. */
#define MISSES_MAX 1024

struct piece {
	uint64_t addr;
	size_t len;
	size_t got; /* bytes that came; 0 before the fetch */
	size_t at;  /* in the buffer */
};

struct slot {
	uint64_t addr;
	uint32_t piece;
	uint32_t reach;
};

struct prefetch {
	struct mem self;
	const struct mem *behind;
	unsigned calls;

	struct VEC(struct piece) pieces;
	size_t fetched;
	size_t planned; /* bytes of this round */
	struct VEC(char) buffer;
	struct VEC(struct mem_range) ranges;

	struct VEC(struct slot) index;
	bool sorted;
	size_t recent[2];
	unsigned older; /* which of the recent to replace */

	struct mem_range misses[MISSES_MAX];
	size_t of[MISSES_MAX]; /* which range a miss is */
};

static uint64_t piece_end(const struct piece *piece)
{
	return piece->addr + piece->got;
}

static bool covers(const struct piece *piece, uint64_t addr, size_t len)
{
	return addr >= piece->addr && addr - piece->addr <= piece->got &&
	       len <= piece->got - (addr - piece->addr);
}

static int slot_order(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void sort_index(struct prefetch *p)
{
	size_t n = p->fetched;

	for (size_t i = 0; i < n; i++)
		p->index.at[i] = (struct slot){
			.addr = p->pieces.at[i].addr,
			.piece = (uint32_t)i,
		};
	p->index.n = n;
	qsort(p->index.at, n, sizeof(*p->index.at), slot_order);
	for (size_t i = 0; i < n; i++) {
		struct slot *slot = &p->index.at[i];
		uint32_t before = i ? slot[-1].reach : slot->piece;

		slot->reach =
			piece_end(&p->pieces.at[before]) >
					piece_end(&p->pieces.at[slot->piece])
				? before
				: slot->piece;
	}
	p->sorted = true;
}

/* The fetched piece that reaches furthest of those that start by @addr. */
static size_t find_reach(struct prefetch *p, uint64_t addr)
{
	size_t low = 0, high;

	if (!p->sorted)
		sort_index(p);
	high = p->index.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->index.at[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? p->index.at[low - 1].reach : p->fetched;
}

static const struct piece *find_cover(struct prefetch *p, uint64_t addr,
				      size_t len)
{
	size_t i;

	if (!p->fetched)
		return NULL;
	for (unsigned k = 0; k < 2; k++) {
		for (i = p->recent[k]; i < p->recent[k] + 2; i++) {
			if (i >= p->fetched ||
			    !covers(&p->pieces.at[i], addr, len))
				continue;
			p->recent[k] = i;
			p->older = !k;
			return &p->pieces.at[i];
		}
	}
	i = find_reach(p, addr);
	if (i >= p->fetched || !covers(&p->pieces.at[i], addr, len))
		return NULL;
	p->recent[p->older] = i;
	p->older = !p->older;
	return &p->pieces.at[i];
}

/* A process that is gone says more than a range that came short. */
static int worse(int a, int b)
{
	return !a || a == OUT_TORN ? (b ? b : a) : a;
}

static int read_misses(struct prefetch *p, struct mem_range *ranges, size_t n)
{
	int r;

	if (!n)
		return 0;
	p->calls++;
	r = p->behind->readv(p->behind->ctx, p->misses, n);
	for (size_t i = 0; i < n; i++)
		ranges[p->of[i]].got = p->misses[i].got;
	return r;
}

static int prefetch_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	struct prefetch *p = ctx;
	size_t missed = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		struct mem_range *range = &ranges[i];
		const struct piece *piece;

		piece = find_cover(p, range->addr, range->len);
		if (piece) {
			memcpy(range->buf,
			       p->buffer.at + piece->at +
				       (range->addr - piece->addr),
			       range->len);
			range->got = range->len;
			continue;
		}
		range->got = 0;
		p->of[missed] = i;
		p->misses[missed++] = *range;
		if (missed == MISSES_MAX) {
			r = worse(r, read_misses(p, ranges, missed));
			missed = 0;
		}
	}
	return worse(r, read_misses(p, ranges, missed));
}

struct prefetch *prefetch_new(void)
{
	struct prefetch *p = calloc(1, sizeof(*p));

	if (p)
		p->self = (struct mem){ .readv = prefetch_readv, .ctx = p };
	return p;
}

void prefetch_free(struct prefetch *p)
{
	if (!p)
		return;
	vec_free(&p->pieces);
	vec_free(&p->buffer);
	vec_free(&p->ranges);
	vec_free(&p->index);
	free(p);
}

void prefetch_start(struct prefetch *p, const struct mem *mem)
{
	p->behind = mem;
	p->calls = 0;
	p->pieces.n = 0;
	p->fetched = 0;
	p->planned = 0;
	p->buffer.n = 0;
	p->sorted = false;
	p->recent[0] = 0;
	p->recent[1] = 0;
	p->older = 0;
}

void prefetch_plan(struct prefetch *p, uint64_t addr, size_t len)
{
	struct piece piece = { .addr = addr, .len = len, .at = p->buffer.n };

	if (!len || len > PREFETCH_MAX_BYTES - p->planned ||
	    addr > UINT64_MAX - len || p->pieces.n >= UINT32_MAX)
		return;
	/* All room is made here: nothing after the fetch allocates. */
	p->ranges.n = 0;
	p->index.n = 0;
	if (!vec_reserve(&p->buffer, len) || !vec_reserve(&p->pieces, 1) ||
	    !vec_reserve(&p->ranges, p->pieces.n + 1) ||
	    !vec_reserve(&p->index, p->pieces.n + 1))
		return;
	p->sorted = false;
	p->pieces.at[p->pieces.n++] = piece;
	p->buffer.n += len;
	p->planned += len;
}

int prefetch_fetch(struct prefetch *p)
{
	size_t first = p->fetched;
	size_t n = p->pieces.n - first;
	int r;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct piece *piece = &p->pieces.at[first + i];

		p->ranges.at[i] = (struct mem_range){
			.addr = piece->addr,
			.buf = p->buffer.at + piece->at,
			.len = piece->len,
		};
	}
	p->calls++;
	r = p->behind->readv(p->behind->ctx, p->ranges.at, n);
	for (size_t i = 0; i < n; i++) {
		struct piece *piece = &p->pieces.at[first + i];
		size_t got = p->ranges.at[i].got;

		piece->got = got < piece->len ? got : piece->len;
	}
	p->fetched = p->pieces.n;
	p->planned = 0;
	p->sorted = false;
	p->recent[p->older] = first;
	return r == OUT_TORN ? 0 : r;
}

const struct mem *prefetch_mem(struct prefetch *p)
{
	return &p->self;
}

unsigned prefetch_calls(const struct prefetch *p)
{
	return p->calls;
}
