/* SPDX-License-Identifier: Apache-2.0 */
#include "python/layout.h"

#include <stddef.h>

#include "python/layout_table.h"

const struct layout *layout_find(unsigned major, unsigned minor,
				 bool free_threaded)
{
	const size_t n = sizeof(layout_rows) / sizeof(*layout_rows);

	for (size_t i = 0; i < n; i++) {
		const struct layout *row = &layout_rows[i];

		if (row->major == major && row->minor == minor &&
		    row->free_threaded == free_threaded)
			return row;
	}
	return NULL;
}

const char *layout_known(void)
{
	return LAYOUT_KNOWN;
}
