/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose memory is the input: 1 byte chooses the version, 7 are not used,
 * the rest lies at BASE, and a thread state at its start. All that goes on in a
 * sample is done with it: the walk, link by link and batched (cold, and with what
 * was learnt), which must come to the same; and the code objects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "fuzzmem.h"
#include "python/code.h"
#include "python/frame.h"

#define BASE 0x1000u
#define MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct layout *choose(uint8_t byte)
{
	unsigned minor = 8 + byte % 8;
	bool free_threaded = byte & 0x80 && minor >= 13;

	/* The oldest ones, of which 2.7 has other strings. */
	if (byte & 0x40)
		return byte % 3 ? layout_find(3, 5 + byte % 3, false)
				: layout_find(2, 7, false);

	return layout_find(3, minor, free_threaded);
}

static void walk(const struct mem *mem, const struct layout *layout,
		 struct rawframe *frames, int *ret_r, size_t *ret_n)
{
	struct prefetch *p = prefetch_new();
	struct stackhint hint = { 0 };
	struct rawframe again[MAX];

	*ret_n = 0;
	*ret_r = frame_walk(mem, layout, BASE, frames, MAX, ret_n);
	if (*ret_n > MAX)
		abort();
	for (int i = 0; p && i < 3; i++) {
		size_t n = 0;
		int r = frame_walk_batched(mem, layout, BASE, p, &hint, again,
					   MAX, &n);

		/* Beyond MAX only the second goes on, and may not like it. */
		if (*ret_r == OUT_FULL && r != *ret_r)
			continue;
		if (*ret_r == OUT_FULL)
			n = n < MAX / 2 ? n : MAX / 2;
		if (r != *ret_r || (r == 0 && n != *ret_n) ||
		    memcmp(frames, again, n * sizeof(*frames)) != 0)
			abort();
	}
	stackhint_free(&hint);
	prefetch_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzzmem bytes;
	const struct mem mem = fuzzmem_mem(&bytes);
	struct rawframe frames[MAX];
	uint32_t ids[MAX];
	struct strtab *strings;
	struct codecache *cache;
	const struct layout *layout;
	size_t n;
	int r;

	if (size < 8)
		return 0;
	bytes = (struct fuzzmem){ .base = BASE,
				  .at = data + 8,
				  .len = size - 8 };
	layout = choose(data[0]);
	if (!layout)
		return 0;
	memset(frames, 0, sizeof(frames));
	walk(&mem, layout, frames, &r, &n);
	strings = strtab_new();
	cache = codecache_new(strings);
	for (int i = 0; strings && cache && i < 2; i++) {
		if (codecache_capture(cache, NULL, &mem, layout, frames, n,
				      ids))
			break;
		for (size_t k = 0; k < n; k++)
			if (codecache_frame(cache, ids[k], &frames[k]).line < 0)
				abort();
	}
	codecache_free(cache);
	strtab_free(strings);
	return 0;
}
