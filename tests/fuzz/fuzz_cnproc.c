/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/outcome.h"
#include "linux/cnproc.h"
#include "linux/cnproc_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Any bytes are decoded to an event that makes sense, or to none. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct event event;
	uint32_t answer;
	int r;

	r = cnproc_decode(bytes, len, &event);
	if (r == 0) {
		if (event.kind == EVENT_NONE || event.kind == EVENT_LOST ||
		    event.pid <= 0 || event.parent < 0 || event.parent_tid < 0)
			abort();
	} else if (event.kind != EVENT_NONE ||
		   (r != OUT_UNKNOWN && r != OUT_TORN)) {
		abort();
	}
	(void)cnproc_is_ack(bytes, len, 0x1234, &answer);
	return 0;
}
