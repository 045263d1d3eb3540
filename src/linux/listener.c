/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread waits in poll for its source or for a word from the consumer
 * (`wake`); it reads until the source is empty and puts what is wanted into the
 * ring.
 * Two conversations, both by counters with an eventfd to sleep on:
 *
 *   told      The ring has something. Set by the thread, which then makes
 *             `ready` readable; taken back by the consumer when it finds the
 *             ring empty, who then looks into the ring once more. So between
 *             two lulls there is one write, however many events come.
 *   asked     How many drains the consumer has asked for. The thread looks at
 *   answered  it before it reads, and says afterwards up to which it has come:
 *             what the kernel had queued before the asking is in the ring then.
 *
 * The thread never waits for the consumer: the ring drops, and says so. The lock
 * is for `following` alone, and held for a batch of events at most.
 */
#include "linux/listener.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/vec.h"
#include "linux/clock.h"
#include "linux/evring.h"
#include "linux/following.h"
#include "linux/urgency.h"

#define RING_ROOM 65536
#define BATCH 64

/* More than 5000 events a second are a rush: then it rests for so long. */
#define RUSH_EVENTS 250
#define RUSH_NS (50 * NSEC_PER_MSEC)
#define REST_NS 250000

struct listener {
	struct evsource source;
	struct VEC(struct pollfd) fds; /* the first is `wake` */
	struct evring *ring;
	pthread_mutex_t lock;
	struct following *following;
	int ready; /* eventfds; -1 none */
	int wake;
	int done;
	atomic_bool told;
	atomic_bool stop;
	atomic_uint asked;
	atomic_uint answered;
	atomic_int failure; /* why the thread no longer hears; 0 it does */
	_Atomic uint64_t wakes;
	unsigned heard;      /* the thread's own, as are those below */
	uint64_t counted_ns; /* when that began to count */
	bool rush;           /* so many came within RUSH_NS, the last time */
	bool running;
	pthread_t thread;
};

/* Neither call can fail but with EAGAIN: it is readable, or not, already. */
static void signal_fd(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n;
}

static void clear_fd(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
}

static void tell(struct listener *l)
{
	if (!atomic_exchange(&l->told, true)) {
		atomic_fetch_add(&l->wakes, 1);
		signal_fd(l->ready);
	}
}

/* Those of @n events that somebody wants, into the ring. */
static void hand_on(struct listener *l, const struct event *events, int n)
{
	bool any = false;

	(void)pthread_mutex_lock(&l->lock);
	for (int i = 0; i < n; i++)
		if (following_wants(l->following, &events[i])) {
			(void)evring_put(l->ring, &events[i]);
			any = true;
		}
	(void)pthread_mutex_unlock(&l->lock);
	if (any)
		tell(l);
}

/* All that the source has. */
static void hear(struct listener *l)
{
	struct event events[BATCH];
	int n;

	do {
		n = l->source.read(l->source.self, events, BATCH);
		if (n < 0) {
			/* Deaf from now on; what comes is lost. */
			atomic_store(&l->failure, n);
			events[0] = (struct event){ .kind = EVENT_LOST,
						    .time_ns = clock_now() };
			n = 1;
		}
		hand_on(l, events, n);
		l->heard += (unsigned)n;
	} while (n == BATCH && !atomic_load(&l->stop));
}

/*
 * To be woken costs more than to read an event. Where there are thousands a second,
 * they are left to gather for a moment, unless somebody asks for them.
 */
static void rest(struct listener *l)
{
	struct timespec moment = { .tv_nsec = REST_NS };
	uint64_t now_ns;

	if (l->heard >= RUSH_EVENTS) {
		now_ns = clock_now();
		l->rush = now_ns < l->counted_ns + RUSH_NS;
		l->counted_ns = now_ns;
		l->heard = 0;
	} else if (l->rush && clock_now() > l->counted_ns + RUSH_NS) {
		l->rush = false;
	}
	if (l->rush)
		(void)ppoll(l->fds.at, 1, &moment, NULL);
}

/*
 * poll passes over what is negative: a source that has failed, and a perf event
 * whose processes have all ended, which would be ready for ever.
 */
static void pass_over(struct listener *l)
{
	for (size_t i = 1; i < l->fds.n; i++)
		if (atomic_load(&l->failure) ||
		    (l->fds.at[i].revents & POLLHUP))
			l->fds.at[i].fd = -1;
}

static void *listener_main(void *arg)
{
	struct listener *l = arg;
	struct urgency before = { 0 };
	unsigned asked;

	urgency_raise(&before);
	while (!atomic_load(&l->stop)) {
		if (poll(l->fds.at, l->fds.n, -1) < 0)
			continue;
		if (l->fds.at[0].revents)
			clear_fd(l->wake);
		asked = atomic_load(&l->asked);
		if (!atomic_load(&l->failure))
			hear(l);
		pass_over(l);
		if (asked != atomic_load(&l->answered)) {
			atomic_store(&l->answered, asked);
			signal_fd(l->done);
		}
		rest(l);
	}
	return NULL;
}

/* With all signals blocked, so that the thread is born like that. */
static int start_thread(struct listener *l)
{
	sigset_t all;
	sigset_t before;
	int r;

	(void)sigfillset(&all);
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r)
		return -r;
	r = pthread_create(&l->thread, NULL, listener_main, l);
	l->running = r == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

/* `wake` and what the source has. */
static bool gather_fds(struct listener *l)
{
	struct pollfd fd = { .fd = l->wake, .events = POLLIN };
	size_t i = 0;

	do {
		if (!vec_push(&l->fds, fd))
			return false;
		fd.fd = l->source.fd(l->source.self, i++);
	} while (fd.fd >= 0);
	return true;
}

int listener_start(struct listener **ret, const struct evsource *source,
		   struct error *err)
{
	struct listener *l = NULL;
	int r;

	l = calloc(1, sizeof(*l));
	if (!l) {
		source->close(source->self);
		return error_set(err, -ENOMEM, "listener: no memory");
	}
	l->source = *source;
	(void)pthread_mutex_init(&l->lock, NULL);
	l->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->ready < 0 || l->wake < 0 || l->done < 0) {
		r = error_set(err, -errno, "listener: make an eventfd");
		goto out;
	}
	l->ring = evring_new(RING_ROOM);
	l->following = following_new();
	if (!l->ring || !l->following || !gather_fds(l)) {
		r = error_set(err, -ENOMEM, "listener: no memory");
		goto out;
	}
	r = start_thread(l);
	if (r) {
		(void)error_set(err, r, "listener: start its thread");
		goto out;
	}
	*ret = l;
	l = NULL;
out:
	listener_stop(l);
	return r;
}

int listener_fd(const struct listener *l)
{
	return l->ready;
}

bool listener_next(struct listener *l, struct event *ret)
{
	if (evring_get(l->ring, ret))
		return true;
	/* Nothing was told since it was taken back: there is nothing to clear. */
	if (!atomic_load(&l->told))
		return false;
	clear_fd(l->ready);
	(void)atomic_exchange(&l->told, false);
	/* What came before the exchange was not signalled; look once more. */
	if (!evring_get(l->ring, ret))
		return false;
	tell(l);
	return true;
}

int listener_drain(struct listener *l, uint64_t timeout_ns)
{
	struct pollfd fd = { .fd = l->done, .events = POLLIN };
	uint64_t deadline = clock_now() + timeout_ns;
	unsigned mine = atomic_fetch_add(&l->asked, 1) + 1;
	struct timespec wait;
	uint64_t left;

	signal_fd(l->wake);
	/* The counts go around; the sign of their difference does not. */
	while ((int)(atomic_load(&l->answered) - mine) < 0) {
		left = nsec_since(deadline, clock_now());
		if (left == 0)
			return -ETIMEDOUT;
		wait.tv_sec = (time_t)(left / NSEC_PER_SEC);
		wait.tv_nsec = (long)(left % NSEC_PER_SEC);
		if (ppoll(&fd, 1, &wait, NULL) > 0)
			clear_fd(l->done);
	}
	return 0;
}

int listener_failure(const struct listener *l)
{
	return atomic_load(&l->failure);
}

uint64_t listener_cpu_ns(const struct listener *l)
{
	clockid_t clock;

	if (pthread_getcpuclockid(l->thread, &clock))
		return 0;
	return clock_ns(clock);
}

void listener_settle(struct listener *l)
{
	if (l->source.settle)
		l->source.settle(l->source.self);
}

uint64_t listener_received(const struct listener *l)
{
	return l->source.received(l->source.self);
}

uint64_t listener_dropped(const struct listener *l)
{
	return l->source.dropped(l->source.self);
}

uint64_t listener_strangers(struct listener *l)
{
	uint64_t n;

	(void)pthread_mutex_lock(&l->lock);
	n = following_strangers(l->following);
	(void)pthread_mutex_unlock(&l->lock);
	return n;
}

uint64_t listener_wakes(const struct listener *l)
{
	return atomic_load(&l->wakes);
}

void listener_follow(struct listener *l, pid_t pid)
{
	(void)pthread_mutex_lock(&l->lock);
	following_add(l->following, pid);
	(void)pthread_mutex_unlock(&l->lock);
}

void listener_unfollow(struct listener *l, pid_t pid, uint64_t until_ns)
{
	(void)pthread_mutex_lock(&l->lock);
	following_drop(l->following, pid, until_ns);
	(void)pthread_mutex_unlock(&l->lock);
}

void listener_open(struct listener *l)
{
	(void)pthread_mutex_lock(&l->lock);
	following_open(l->following);
	(void)pthread_mutex_unlock(&l->lock);
}

void listener_close(struct listener *l)
{
	(void)pthread_mutex_lock(&l->lock);
	following_close(l->following);
	(void)pthread_mutex_unlock(&l->lock);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void listener_stop(struct listener *l)
{
	if (!l)
		return;
	if (l->running) {
		atomic_store(&l->stop, true);
		signal_fd(l->wake);
		(void)pthread_join(l->thread, NULL);
	}
	l->source.close(l->source.self);
	evring_free(l->ring);
	following_free(l->following);
	vec_free(&l->fds);
	(void)pthread_mutex_destroy(&l->lock);
	close_fd(l->ready);
	close_fd(l->wake);
	close_fd(l->done);
	free(l);
}
