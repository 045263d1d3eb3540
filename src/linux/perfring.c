/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/perfring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * 64 pages of 4 KiB hold 6500 switches, 10 ms of a CPU that switches 650,000
 * times a second; and an ordinary user may lock 129 a CPU (perf_event_mlock_kb).
 */
#define RING_BYTES (256u << 10)

/*
 * With sample_id_all, every record ends in the values of sample_type that apply,
 * in the kernel's order: TID, TIME, CPU.
 */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static int open_event(enum perfring_what what, pid_t pid, int cpu, size_t bytes)
{
	bool tasks = what == PERFRING_TASKS;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.context_switch = !tasks,
		.task = tasks,
		.comm = 1,
		.comm_exec = 1,
		.exclude_hv = 1,
		/* What happens in the kernel is not for ordinary users. */
		.exclude_kernel = pid >= 0,
		.inherit = pid > 0,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = tasks ? 1 : (uint32_t)(bytes / 2),
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perfring_open(struct perfring *ret, enum perfring_what what, pid_t pid,
		  int cpu, size_t size, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const char *name = what == PERFRING_TASKS ? "task" : "switch";
	int r;

	*ret = PERFRING_NONE;
	ret->cpu = cpu;
	ret->size = size ? size : RING_BYTES;
	r = open_event(what, pid, cpu, ret->size);
	if (r < 0)
		return error_set(err, r, "open the %s records of CPU %d", name,
				 cpu);
	ret->fd = r;
	ret->map = mmap(NULL, page + ret->size, PROT_READ | PROT_WRITE,
			MAP_SHARED, ret->fd, 0);
	if (ret->map == MAP_FAILED) {
		ret->map = NULL;
		r = error_set(err, -errno, "map the %s records of CPU %d", name,
			      cpu);
		perfring_close(ret);
		ret->refused_map = true;
		return r;
	}
	ret->data = (const char *)ret->map + page;
	return 0;
}

int perfring_also(const struct perfring *ring, enum perfring_what what,
		  pid_t tid)
{
	int fd = open_event(what, tid, ring->cpu, ring->size);
	int r = fd;

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)) {
		r = -errno;
		(void)close(fd);
	}
	return r;
}

void perfring_close(struct perfring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (ring->map)
		(void)munmap(ring->map, page + ring->size);
	if (ring->fd >= 0)
		(void)close(ring->fd);
	*ring = PERFRING_NONE;
}

/*
 * A name: behind two numbers, padded with NULs up to the trailer. The kernel tells
 * of every change of a name; those at an exec are marked (since Linux 3.16).
 */
static int decode_comm(const void *record, size_t len,
		       const struct perf_event_header *header,
		       struct perf_record *ret)
{
	size_t at = sizeof(*header) + 2 * sizeof(uint32_t);
	size_t end = len - sizeof(struct trailer);

	if (end <= at)
		return 0;
	ret->kind = header->misc & PERF_RECORD_MISC_COMM_EXEC ? PERF_EXEC
							      : PERF_NAME;
	if (end - at > sizeof(ret->comm) - 1)
		end = at + sizeof(ret->comm) - 1;
	memcpy(ret->comm, (const char *)record + at, end - at);
	return 1;
}

/*
 * A birth or an end: pid, parent's pid, tid, parent's tid, time. Its pids may be -1
 * in the trailer: there they are those of whoever was running.
 */
static int decode_task(const void *record, size_t len, enum perf_kind kind,
		       struct perf_record *ret)
{
	size_t at = sizeof(struct perf_event_header);
	struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} body;

	if (len < at + sizeof(body) + sizeof(struct trailer))
		return 0;
	memcpy(&body, (const char *)record + at, sizeof(body));
	ret->kind = kind;
	ret->pid = (pid_t)body.pid;
	ret->tid = (pid_t)body.tid;
	ret->parent = (pid_t)body.parent;
	ret->parent_tid = (pid_t)body.parent_tid;
	ret->time_ns = body.time;
	return 1;
}

/* Behind an identifier, the number of those that were dropped. */
static int decode_lost(const void *record, size_t len, struct perf_record *ret)
{
	size_t at = sizeof(struct perf_event_header) + sizeof(uint64_t);

	ret->kind = PERF_LOST;
	if (len >= at + sizeof(ret->lost) + sizeof(struct trailer))
		memcpy(&ret->lost, (const char *)record + at,
		       sizeof(ret->lost));
	return 1;
}

int perfring_decode(const void *record, size_t len, struct perf_record *ret)
{
	struct perf_event_header header;
	struct trailer trailer;

	if (len < sizeof(header) + sizeof(trailer))
		return 0;
	memcpy(&header, record, sizeof(header));
	memcpy(&trailer, (const char *)record + len - sizeof(trailer),
	       sizeof(trailer));
	*ret = (struct perf_record){ .pid = (pid_t)trailer.pid,
				     .tid = (pid_t)trailer.tid,
				     .time_ns = trailer.time,
				     .cpu = trailer.cpu };
	switch (header.type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (!(header.misc & PERF_RECORD_MISC_SWITCH_OUT))
			ret->kind = PERF_SWITCH_IN;
		else if (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
			ret->kind = PERF_SWITCH_AWAY;
		else
			ret->kind = PERF_SWITCH_OUT;
		return 1;
	case PERF_RECORD_COMM:
		return decode_comm(record, len, &header, ret);
	case PERF_RECORD_LOST:
		return decode_lost(record, len, ret);
	case PERF_RECORD_FORK:
		return decode_task(record, len, PERF_FORK, ret);
	case PERF_RECORD_EXIT:
		return decode_task(record, len, PERF_EXIT, ret);
	default:
		return 0;
	}
}

/* Copy @len bytes at @at out of the ring, which wraps. */
static void copy_out(const struct perfring *ring, uint64_t at, void *to,
		     size_t len)
{
	size_t offset = at & (ring->size - 1);
	size_t first = ring->size - offset;

	if (first > len)
		first = len;
	memcpy(to, ring->data + offset, first);
	memcpy((char *)to + first, ring->data, len - first);
}

size_t perfring_used(const struct perfring *ring)
{
	const struct perf_event_mmap_page *control = ring->map;

	return __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE) -
	       control->data_tail;
}

int perfring_next(struct perfring *ring, struct perf_record *ret)
{
	struct perf_event_mmap_page *control = ring->map;
	uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = control->data_tail;
	struct perf_event_header header;
	char record[128];
	int got = 0;

	while (!got && tail != head) {
		copy_out(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			tail = head; /* not what the kernel writes: begin anew */
			*ret = (struct perf_record){ .kind = PERF_LOST };
			got = 1;
			break;
		}
		if (header.size <= sizeof(record)) {
			copy_out(ring, tail, record, header.size);
			got = perfring_decode(record, header.size, ret);
		}
		tail += header.size;
	}
	__atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
	return got;
}
