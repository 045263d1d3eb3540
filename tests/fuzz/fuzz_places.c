/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose memory is the input, at BASE: it is taken for an image of an ELF
 * file, for the texts and the data of a program with an interpreter in it, and for
 * thread structures of a C library. Whatever it is, all of that ends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "fuzzmem.h"
#include "linux/elfmem.h"
#include "python/runtime.h"
#include "python/search.h"

#define BASE 0x10000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_name(void *ctx, const char *name)
{
	size_t *names = ctx;

	*names += strlen(name);
}

static void on_bytes(void *ctx, const void *bytes, size_t len)
{
	search_text(ctx, bytes, len);
}

static void search(const struct mem *mem, size_t size)
{
	static const uint8_t versions[][2] = {
		{ 2, 7 }, { 3, 6 }, { 3, 8 }, { 3, 12 }
	};
	uint64_t at;

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		struct runtime rt = { .layout = *layout_find(versions[i][0],
							     versions[i][1],
							     false) };

		/* Nothing is beyond the input, so it cannot be found there. */
		if (search_interp(mem, BASE, size, &rt) == 0 &&
		    (rt.address + rt.layout.runtime.interp_head < BASE ||
		     rt.address > BASE + size))
			abort();
	}
	(void)search_cookie(mem, BASE, size, &at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const pid_t tids[] = { 1, 2, 77 };
	static const uint64_t pthreads[] = { BASE, BASE + 64 };
	struct fuzzmem bytes = { .base = BASE, .at = data, .len = size };
	const struct mem mem = fuzzmem_mem(&bytes);
	struct elf_symbol symbols[] = { { .name = "_PyRuntime" },
					{ .name = "Py_Version" } };
	struct elf_summary summary;
	struct search_tag tag = { 0 };
	size_t names = 0;
	uint16_t offset = 0;

	if (elfmem_read(&mem, BASE, symbols, 2, &summary, on_name, &names) < 0)
		abort();
	if (memchr(summary.soname, '\0', sizeof(summary.soname)) == NULL)
		abort();
	(void)elfmem_data(&mem, BASE, SEARCH_OVERLAP, on_bytes, &tag);
	search(&mem, size);
	if (runtime_find_tid(&mem, pthreads, 2, tids, 3, &offset) == 0 &&
	    offset > 1020)
		abort();
	return 0;
}
