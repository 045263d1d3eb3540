/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of perf, one after the other as they lie in a ring: what is
 * decoded becomes events, in the order of their times.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "linux/taskevents.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct taskevents *t = taskevents_new();
	struct evsource source = taskevents_source(t);
	struct perf_event_header header;
	struct perf_record record;
	struct event events[64];
	uint64_t last_ns = 0;
	int n;

	if (!t)
		return 0;
	while (len >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		if (header.size < sizeof(header) || header.size > len)
			header.size = (uint16_t)(len < 128 ? len : 128);
		if (perfring_decode(bytes, header.size, &record))
			taskevents_feed(t, &record);
		bytes += header.size;
		len -= header.size;
	}
	while ((n = taskevents_give(t, UINT64_MAX, events, 64)) > 0)
		for (int i = 0; i < n; i++) {
			if (events[i].kind == EVENT_LOST)
				continue;
			if (events[i].pid <= 0 || events[i].parent < 0 ||
			    events[i].time_ns < last_ns)
				abort();
			last_ns = events[i].time_ns;
		}
	source.close(source.self);
	return 0;
}
