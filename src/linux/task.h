/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_TASK_H
#define LINUX_TASK_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * System calls that a C library may lack (musl has no pidfd_open). The numbers
 * are the same on every architecture since Linux 5.3.
 */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* An fd for a process, close-on-exec by itself; -ESRCH when it is gone. */
static inline int task_pidfd(pid_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}

/*
 * Whether the process of a pidfd has ended: it is readable once the leader is a
 * zombie and no other thread of it is left.
 */
static inline bool task_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/*
 * Has the kernel a task of this number (still)? To be asked before a path of /proc
 * is looked up that was looked up before. Of one that has been reaped the kernel
 * finds the entry stale, and turns round and round while whoever reaps it is about
 * the same; who is kept from its CPU, if we have it at SCHED_FIFO: see urgency_reap.
 * A task is taken out of the numbers before that, so that this cannot come about
 * where it is asked on the same CPU a moment before.
 */
static inline bool task_there(pid_t pid, pid_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

/* The same of a number of a process, or of a thread of whichever process. */
static inline bool task_known(pid_t tid)
{
	return kill(tid, 0) == 0 || errno != ESRCH;
}

/*
 * How the process of a pidfd ended, as wait(2) gives it; false: not known. Linux
 * tells since 6.15, once it has been reaped, whoever did that.
 */
static inline bool task_status(int pidfd, int *ret)
{
	struct {
		uint64_t mask, cgroup;
		uint32_t ids[11];
		int32_t status;
	} info = { .mask = 1u << 3 /* PIDFD_INFO_EXIT */ };

	if (pidfd < 0 || ioctl(pidfd, _IOWR(0xff, 11, info), &info) ||
	    !(info.mask & 1u << 3))
		return false;
	*ret = info.status;
	return true;
}

/* The kernel's number of the calling thread. */
static inline pid_t task_self(void)
{
	return (pid_t)syscall(SYS_gettid);
}

#endif
