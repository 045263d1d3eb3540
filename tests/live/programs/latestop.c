/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Put in front of the profiler (LD_PRELOAD): a kernel in which no thread stops in
 * time. Each wait for a stop lasts until it is interrupted, whatever the thread
 * does, and no look finds one that was waited for less than 20 ms ago. On a real
 * machine this is a thread that lost its CPU, or entered an uninterruptible sleep,
 * when it was asked to stop.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATE_NS 20000000

static long long now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static _Thread_local long long waited_ns;
	struct timespec wait = { .tv_sec = 1 };

	/* Only the profiler's stops are waited for with both. */
	if ((options & __WALL) && (options & __WNOTHREAD)) {
		if (!(options & WNOHANG)) {
			(void)nanosleep(&wait, NULL);
			waited_ns = now_ns();
			errno = EINTR;
			return -1;
		}
		if (now_ns() - waited_ns < LATE_NS) {
			info->si_pid = 0;
			return 0;
		}
	}
	return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}
