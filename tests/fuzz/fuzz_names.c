/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose memory is the input: 1 byte chooses the version, 7 are not used, the
 * rest lies at BASE. There are the pointer to sys.modules, and ACTIVE bytes on the
 * dictionary of threads. Whatever they are, looking for a name ends, and gives none
 * unless it says so.
 */
#include <stdlib.h>

#include "base/outcome.h"
#include "fuzzmem.h"
#include "python/pydict.h"
#include "python/threadname.h"

#define BASE 0x100000u
#define ACTIVE 64u
#define PTHREAD 0x7f1234567840u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct layout *choose(uint8_t byte)
{
	unsigned minor = 5 + byte % 11;

	if (minor == 5)
		return layout_find(2, 7, false);
	return layout_find(3, minor, byte & 0x80 && minor >= 13);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzzmem bytes;
	const struct mem mem = fuzzmem_mem(&bytes);
	const struct layout *layout;
	struct str name = { 0 };
	uint64_t active = 0;
	int r;

	if (size < 8)
		return 0;
	bytes = (struct fuzzmem){ .base = BASE,
				  .at = data + 8,
				  .len = size - 8 };
	layout = choose(data[0]);
	r = threadname_active(&mem, layout, BASE - layout->interp.modules,
			      &active);
	if ((r == 0) != (active != 0))
		abort();
	r = threadname_read(&mem, layout, BASE + ACTIVE, PTHREAD, &name);
	if ((r == 0) != (name.len != 0))
		abort();
	str_free(&name);
	return 0;
}
