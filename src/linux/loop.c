/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/clock.h"

/* The same number everywhere; headers before Linux 5.11 do not have it. */
#ifndef __NR_epoll_pwait2
#define __NR_epoll_pwait2 441
#endif

#define WAKES_MAX 64

/* Tokens of our own; callers' are below. */
#define TOKEN_BREAK UINT64_MAX
#define TOKEN_TIMER (UINT64_MAX - 1)

struct loop {
	int epoll;
	int timer;
	int breaker;
	uint64_t armed_ns; /* what the timer is set to */
	bool coarse;       /* epoll can wait for milliseconds only: the timer */
	unsigned breaks;
};

int loop_new(struct loop **ret, struct error *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int r = 0;

	if (!loop)
		return error_set(err, -ENOMEM, "wait for events");
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timer =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->breaker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->epoll < 0 || loop->timer < 0 || loop->breaker < 0 ||
	    loop_watch(loop, loop->timer, TOKEN_TIMER) < 0 ||
	    loop_watch(loop, loop->breaker, TOKEN_BREAK) < 0) {
		r = error_set(err, -errno, "wait for events");
		loop_free(loop);
		loop = NULL;
	}
	*ret = loop;
	return r;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->breaker >= 0)
		(void)close(loop->breaker);
	if (loop->timer >= 0)
		(void)close(loop->timer);
	if (loop->epoll >= 0)
		(void)close(loop->epoll);
	free(loop);
}

int loop_watch(struct loop *loop, int fd, uint64_t token)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = token };

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno
								     : 0;
}

void loop_unwatch(struct loop *loop, int fd)
{
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void arm(struct loop *loop, uint64_t until_ns)
{
	struct itimerspec t = { 0 };

	if (loop->armed_ns == until_ns)
		return;
	/* 0 would disarm it: the first nanosecond has passed as well. */
	if (!until_ns)
		until_ns = 1;
	t.it_value.tv_sec = (time_t)(until_ns / NSEC_PER_SEC);
	t.it_value.tv_nsec = (long)(until_ns % NSEC_PER_SEC);
	(void)timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &t, NULL);
	loop->armed_ns = until_ns;
}

/* Since Linux 5.11 a wait has a deadline of its own, and needs no timer. */
static int wait_until(struct loop *loop, uint64_t until_ns,
		      struct epoll_event *events, int max)
{
	uint64_t left = nsec_since(until_ns, clock_now());
	struct timespec t = { .tv_sec = (time_t)(left / NSEC_PER_SEC),
			      .tv_nsec = (long)(left % NSEC_PER_SEC) };
	long got = -1;

	if (!loop->coarse) {
		got = syscall(__NR_epoll_pwait2, loop->epoll, events, max,
			      until_ns == UINT64_MAX ? NULL : &t, NULL, 0);
		loop->coarse = got < 0 && errno != EINTR;
	}
	if (!loop->coarse)
		return (int)got;
	arm(loop, until_ns);
	return epoll_wait(loop->epoll, events, max, -1);
}

size_t loop_wait(struct loop *loop, uint64_t until_ns, struct wake *wakes,
		 size_t max)
{
	struct epoll_event events[WAKES_MAX];
	size_t n = 0;
	uint64_t count;
	int got;

	got = wait_until(loop, until_ns, events,
			 max < WAKES_MAX ? (int)max : WAKES_MAX);
	for (int i = 0; i < got; i++) {
		uint64_t token = events[i].data.u64;

		if (token == TOKEN_TIMER) {
			(void)!read(loop->timer, &count, sizeof(count));
			loop->armed_ns = 0;
		} else if (token == TOKEN_BREAK) {
			if (read(loop->breaker, &count, sizeof(count)) > 0)
				loop->breaks += (unsigned)count;
		} else {
			wakes[n++].token = token;
		}
	}
	return n;
}

void loop_break(struct loop *loop)
{
	uint64_t one = 1;
	int saved = errno;

	(void)!write(loop->breaker, &one, sizeof(one));
	errno = saved;
}

unsigned loop_breaks(struct loop *loop)
{
	unsigned breaks = loop->breaks;

	loop->breaks = 0;
	return breaks;
}
