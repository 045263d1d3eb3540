/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line table of any bytes. Input: which kind (1 byte), the first line (4), the
 * table. No answer may be negative, and asking twice gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "python/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t far[] = { INT64_MIN, -1, 65534, INT32_MAX,
				       INT64_MAX };
	enum lines_kind kind;
	int32_t first;

	if (size < 5)
		return 0;
	kind = (enum lines_kind)(data[0] % 4);
	memcpy(&first, data + 1, sizeof(first));
	data += 5;
	size -= 5;
	for (int64_t at = -2; at < 300; at += 2)
		if (linetable_line(kind, data, size, first, at) < 0)
			abort();
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++)
		if (linetable_line(kind, data, size, first, far[i]) !=
		    linetable_line(kind, data, size, first, far[i]))
			abort();
	return 0;
}
