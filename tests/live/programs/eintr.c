/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the kernel never restarts after a stop: they come back with EINTR
 * (signal(7), "Interruption of system calls ... by stop signals"). Each function
 * sleeps in one of them for @seconds and returns how often that happened.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int eintr_epoll(double seconds);
int eintr_recv(double seconds);
int eintr_brief(double seconds, long *calls);

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int eintr_epoll(double seconds)
{
	double end = now() + seconds;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	int n = 0;

	while (now() < end)
		if (epoll_wait(fd, &event, 1, 200) < 0 && errno == EINTR)
			n++;
	close(fd);
	return n;
}

int eintr_recv(double seconds)
{
	double end = now() + seconds;
	struct timeval limit = { 0, 200000 };
	int pair[2];
	int n = 0;
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	/* With a time limit recv is not restarted; without one it would be. */
	if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		n = -1;
	while (n >= 0 && now() < end)
		if (recv(pair[0], &c, 1, 0) < 0 && errno == EINTR)
			n++;
	close(pair[0]);
	close(pair[1]);
	return n;
}

/*
 * The same for one that is nearly always on its way into such a call or out of it:
 * waits of 1, 20, 200 and 2000 us in turn (epoll_pwait2, whose number is the same on
 * all processors). Puts the number of calls in *@calls; -1 where there is none.
 */
int eintr_brief(double seconds, long *calls)
{
	static const long waits[] = { 1000, 20000, 200000, 2000000 };
	double end = now() + seconds;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	int n = 0;

	*calls = 0;
	while (now() < end) {
		struct timespec wait = { 0, waits[*calls % 4] };

		++*calls;
		if (syscall(441, fd, &event, 1, &wait, NULL, 0) >= 0)
			continue;
		if (errno != EINTR) {
			n = -1;
			break;
		}
		n++;
	}
	close(fd);
	return n;
}
