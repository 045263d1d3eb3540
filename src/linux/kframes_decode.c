/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "linux/kframes.h"

int kframes_decode(const void *record, size_t len, struct kframes_sample *ret)
{
	struct kframes_head head;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, record, sizeof(head));
	if (head.status >= KFRAMES_STATUSES || head.n > KFRAMES_MAX ||
	    head.n > (len - sizeof(head)) / sizeof(struct kframes_frame) ||
	    (head.n && head.status != KFRAMES_WHOLE) || !head.pid ||
	    head.pid > INT_MAX || !head.tid || head.tid > INT_MAX)
		return 0;
	*ret = (struct kframes_sample){
		.time_ns = head.time_ns,
		.cpu_ns = head.cpu_ns,
		.tstate = head.tstate,
		.pid = (pid_t)head.pid,
		.tid = (pid_t)head.tid,
		.cpu = head.cpu,
		.generation = head.generation,
		.status = (enum kframes_status)head.status,
		.frames = (const struct kframes_frame
				   *)((const struct kframes_head *)record + 1),
		.n = head.n,
		.gil = head.gil <= KFRAMES_GIL_HELD ? (enum kframes_gil)head.gil
						    : KFRAMES_GIL_UNKNOWN,
	};
	return 1;
}
