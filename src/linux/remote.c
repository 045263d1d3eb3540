/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/remote.h"

#include <errno.h>
#include <stdbool.h>

#include "base/outcome.h"

/*
 * Note how far @bytes reach into the ranges from @first to @end. Returns the
 * index of the first that is not whole.
 */
static size_t credit(struct mem_range *ranges, size_t first, size_t end,
		     size_t bytes)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (bytes < ranges[i].len) {
			ranges[i].got = bytes;
			return i;
		}
		ranges[i].got = ranges[i].len;
		bytes -= ranges[i].len;
	}
	return i;
}

/*
 * One system call for the ranges from @first up to @n. The kernel stops at the
 * first address that it cannot read: the bytes before it count, also within a
 * range. EFAULT means that not even the first byte could be read.
 *
 * Returns 0 with *@ret_next the index to go on from; an outcome otherwise.
 */
static int read_some(struct remote *remote, struct mem_range *ranges, size_t n,
		     size_t first, size_t *ret_next, bool *ret_short)
{
	size_t end = n - first > REMOTE_BATCH ? first + REMOTE_BATCH : n;
	size_t bad;
	ssize_t got;

	for (size_t i = first; i < end; i++) {
		remote->local[i - first] =
			(struct iovec){ .iov_base = ranges[i].buf,
					.iov_len = ranges[i].len };
		remote->far[i - first] = (struct iovec){
			.iov_base = (void *)(uintptr_t)ranges[i].addr,
			.iov_len = ranges[i].len
		};
	}
	remote->calls++;
	got = process_vm_readv(remote->pid, remote->local, end - first,
			       remote->far, end - first, 0);
	if (got < 0 && errno == ESRCH)
		return OUT_GONE;
	if (got < 0 && (errno == EPERM || errno == EACCES))
		return OUT_DENIED;
	if (got < 0 && errno != EFAULT)
		return -errno;
	bad = credit(ranges, first, end, got < 0 ? 0 : (size_t)got);
	*ret_short |= bad < end;
	*ret_next = bad < end ? bad + 1 : end;
	return 0;
}

static int remote_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	struct remote *remote = ctx;
	bool any_short = false;
	size_t next = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		ranges[i].got = 0;
	while (next < n && r == 0)
		r = read_some(remote, ranges, n, next, &next, &any_short);
	if (r == 0 && any_short)
		r = OUT_TORN;
	return r;
}

struct mem remote_mem(struct remote *remote)
{
	return (struct mem){ .readv = remote_readv, .ctx = remote };
}
