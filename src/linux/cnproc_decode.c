/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <limits.h>
#include <string.h>

#include "base/outcome.h"
#include "linux/cnproc.h"
#include "linux/cnproc_wire.h"

static uint32_t get_u32(const void *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)bytes + at, sizeof(value));
	return value;
}

static uint16_t get_u16(const void *bytes, size_t at)
{
	uint16_t value;

	memcpy(&value, (const char *)bytes + at, sizeof(value));
	return value;
}

/*
 * The headers: 0 and where the message ends; OUT_UNKNOWN when it is another
 * one's; OUT_TORN when its lengths do not fit into each other or into @len.
 */
static int check_headers(const void *bytes, size_t len, size_t *ret_end)
{
	size_t message;

	if (len < NLMSG_HDRLEN)
		return OUT_TORN;
	message = get_u32(bytes, WIRE_NL_LEN);
	if (message < NLMSG_HDRLEN || message > len)
		return OUT_TORN;
	/* Events come as NLMSG_DONE, which ends a list elsewhere in netlink. */
	if (get_u16(bytes, WIRE_NL_TYPE) != NLMSG_DONE)
		return OUT_UNKNOWN;
	if (message < WIRE_EVENT)
		return OUT_TORN;
	if (get_u32(bytes, WIRE_CN_IDX) != CN_IDX_PROC ||
	    get_u32(bytes, WIRE_CN_VAL) != CN_VAL_PROC)
		return OUT_UNKNOWN;
	if (get_u16(bytes, WIRE_CN_LEN) > message - WIRE_EVENT)
		return OUT_TORN;
	/* Kernels may add to the end of an event; what we know stays. */
	*ret_end = WIRE_EVENT + get_u16(bytes, WIRE_CN_LEN);
	return *ret_end < WIRE_UNION ? OUT_TORN : 0;
}

bool cnproc_is_ack(const void *bytes, size_t len, uint32_t ack,
		   uint32_t *ret_err)
{
	size_t end;

	if (check_headers(bytes, len, &end) || end < WIRE_ACK_ERR + 4 ||
	    get_u32(bytes, WIRE_WHAT) != WIRE_WHAT_ACK ||
	    get_u32(bytes, WIRE_CN_ACK) != ack + 1)
		return false;
	*ret_err = get_u32(bytes, WIRE_ACK_ERR);
	return true;
}

static int decode_fork(const void *bytes, size_t end, struct event *event)
{
	if (end < WIRE_FORK_END)
		return OUT_TORN;
	/*
	 * A thread: and its parent_* would not be its creator but the parent
	 * of the process.
	 */
	if (get_u32(bytes, WIRE_FORK_CHILD_PID) !=
	    get_u32(bytes, WIRE_FORK_CHILD_TGID))
		return OUT_UNKNOWN;
	event->kind = EVENT_FORK;
	event->pid = (pid_t)get_u32(bytes, WIRE_FORK_CHILD_TGID);
	event->parent = (pid_t)get_u32(bytes, WIRE_FORK_PARENT_TGID);
	event->parent_tid = (pid_t)get_u32(bytes, WIRE_FORK_PARENT_PID);
	return 0;
}

static int decode_exec(const void *bytes, size_t end, struct event *event)
{
	if (end < WIRE_EXEC_END)
		return OUT_TORN;
	event->kind = EVENT_EXEC;
	event->pid = (pid_t)get_u32(bytes, WIRE_EXEC_TGID);
	return 0;
}

static int decode_exit(const void *bytes, size_t end, struct event *event)
{
	if (end < WIRE_EXIT_END)
		return OUT_TORN;
	if (get_u32(bytes, WIRE_EXIT_PID) != get_u32(bytes, WIRE_EXIT_TGID))
		return OUT_UNKNOWN;
	event->kind = EVENT_EXIT;
	event->pid = (pid_t)get_u32(bytes, WIRE_EXIT_TGID);
	event->status = get_u32(bytes, WIRE_EXIT_CODE);
	return 0;
}

int cnproc_decode(const void *bytes, size_t len, struct event *ret)
{
	struct event event = { .kind = EVENT_NONE };
	size_t end;
	int r;

	*ret = event;
	r = check_headers(bytes, len, &end);
	if (r)
		return r;
	switch (get_u32(bytes, WIRE_WHAT)) {
	case WIRE_WHAT_FORK:
		r = decode_fork(bytes, end, &event);
		break;
	case WIRE_WHAT_EXEC:
		r = decode_exec(bytes, end, &event);
		break;
	case WIRE_WHAT_EXIT:
		r = decode_exit(bytes, end, &event);
		break;
	default:
		return OUT_UNKNOWN;
	}
	if (r)
		return r;
	/* No process has such a number; as an index it would do harm. */
	if (event.pid <= 0 || event.parent < 0 || event.parent_tid < 0)
		return OUT_TORN;
	memcpy(&event.time_ns, (const char *)bytes + WIRE_TIME,
	       sizeof(event.time_ns));
	*ret = event;
	return 0;
}
