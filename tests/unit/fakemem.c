/* SPDX-License-Identifier: Apache-2.0 */
#include "fakemem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"

#define PAGE_BYTES 4096u

struct fakemem_page {
	struct fakemem_page *next;
	uint64_t addr;
	bool there[PAGE_BYTES];
	uint8_t bytes[PAGE_BYTES];
};

static struct fakemem_page *page_find(const struct fakemem *fm, uint64_t addr)
{
	struct fakemem_page *page = fm->pages;

	while (page && page->addr != addr / PAGE_BYTES * PAGE_BYTES)
		page = page->next;
	return page;
}

static struct fakemem_page *page_get(struct fakemem *fm, uint64_t addr)
{
	struct fakemem_page *page = page_find(fm, addr);

	if (page)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		abort();
	page->addr = addr / PAGE_BYTES * PAGE_BYTES;
	page->next = fm->pages;
	fm->pages = page;
	return page;
}

/* How much of @len bytes at @addr lies in one page. */
static size_t in_page(uint64_t addr, size_t len)
{
	size_t room = PAGE_BYTES - addr % PAGE_BYTES;

	return len < room ? len : room;
}

void fakemem_put(struct fakemem *fm, uint64_t addr, const void *bytes,
		 size_t len)
{
	const uint8_t *from = bytes;

	while (len) {
		struct fakemem_page *page = page_get(fm, addr);
		size_t n = in_page(addr, len);

		memcpy(page->bytes + addr % PAGE_BYTES, from, n);
		memset(page->there + addr % PAGE_BYTES, true, n);
		addr += n;
		from += n;
		len -= n;
	}
}

void fakemem_put_u64(struct fakemem *fm, uint64_t addr, uint64_t value)
{
	fakemem_put(fm, addr, &value, sizeof(value));
}

void fakemem_put_u32(struct fakemem *fm, uint64_t addr, uint32_t value)
{
	fakemem_put(fm, addr, &value, sizeof(value));
}

void fakemem_put_u8(struct fakemem *fm, uint64_t addr, uint8_t value)
{
	fakemem_put(fm, addr, &value, sizeof(value));
}

void fakemem_zero(struct fakemem *fm, uint64_t addr, size_t len)
{
	static const uint8_t zeroes[PAGE_BYTES];

	while (len) {
		size_t n = in_page(addr, len);

		fakemem_put(fm, addr, zeroes, n);
		addr += n;
		len -= n;
	}
}

const struct layout *fakemem_row(unsigned version, bool free_threaded)
{
	const struct layout *row =
		version == 27 ? layout_find(2, 7, free_threaded)
			      : layout_find(3, version, free_threaded);

	if (!row)
		abort();
	return row;
}

void fakemem_unmap(struct fakemem *fm, uint64_t addr, size_t len)
{
	while (len) {
		struct fakemem_page *page = page_find(fm, addr);
		size_t n = in_page(addr, len);

		if (page)
			memset(page->there + addr % PAGE_BYTES, false, n);
		addr += n;
		len -= n;
	}
}

/* Copy until the first byte that is not there. */
static void range_read(const struct fakemem *fm, struct mem_range *range)
{
	range->got = 0;
	while (range->got < range->len) {
		uint64_t addr = range->addr + range->got;
		const struct fakemem_page *page = page_find(fm, addr);
		size_t at = addr % PAGE_BYTES;

		if (!page || !page->there[at])
			return;
		((uint8_t *)range->buf)[range->got++] = page->bytes[at];
	}
}

static int fake_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	struct fakemem *fm = ctx;
	int r = OUT_OK;

	fm->calls++;
	fm->ranges += (unsigned)n;
	if (fm->hook)
		fm->hook(fm, fm->hook_arg);
	for (size_t i = 0; i < n; i++)
		ranges[i].got = 0;
	if (fm->fail)
		return fm->fail;
	for (size_t i = 0; i < n; i++) {
		range_read(fm, &ranges[i]);
		if (ranges[i].got < ranges[i].len)
			r = OUT_TORN;
	}
	return r;
}

struct mem fakemem_mem(struct fakemem *fm)
{
	return (struct mem){ .readv = fake_readv, .ctx = fm };
}

void fakemem_free(struct fakemem *fm)
{
	while (fm->pages) {
		struct fakemem_page *page = fm->pages;

		fm->pages = page->next;
		free(page);
	}
	*fm = (struct fakemem){ 0 };
}
