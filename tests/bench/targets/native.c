/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the targets need of C: calls that a stop makes fail with EINTR, and a handler
 * that sees each signal (Python's own sees that there was one).
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum call {
	EPOLL,
	SIGWAIT,
	SEMAPHORE,
	RECV
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * Sleep in one @call after the other, @ms each, for @seconds.
 * ret[0] is how many calls that were, ret[1] how many failed with EINTR.
 */
void sleep_in(int call, int ms, double seconds, long ret[2])
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	struct sembuf take = { 0, -1, 0 };
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int sem = semget(IPC_PRIVATE, 1, 0600);
	double end = now() + seconds;
	sigset_t set;
	int pair[2];
	char c;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ret[0] = ret[1] = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	for (; now() < end; ret[0]++) {
		long r = 0;

		if (call == EPOLL)
			r = epoll_wait(epoll, &event, 1, ms);
		else if (call == SIGWAIT)
			r = sigtimedwait(&set, NULL, &ts);
		else if (call == SEMAPHORE)
			r = semtimedop(sem, &take, 1, &ts);
		else
			r = recv(pair[0], &c, 1, 0);
		if (r < 0 && errno == EINTR)
			ret[1]++;
	}
	semctl(sem, 0, IPC_RMID);
	close(epoll);
	close(pair[0]);
	close(pair[1]);
}

static volatile long got, unordered, next;

static void count(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	/* One that is lost must not put all others out of turn. */
	if (info->si_value.sival_int < next)
		unordered++;
	else
		next = info->si_value.sival_int + 1;
	got++;
}

/* Count SIGRTMIN from now on: they are numbered from 0. */
int signals_expect(void)
{
	struct sigaction action = { .sa_sigaction = count,
				    .sa_flags = SA_SIGINFO | SA_RESTART };

	got = unordered = next = 0;
	return sigaction(SIGRTMIN, &action, NULL);
}

void signals_seen(long ret[2])
{
	ret[0] = got;
	ret[1] = unordered;
}

/* Send @n of them to @pid, waiting @us after each, and while its queue is full. */
long signals_send(int pid, long n, long us)
{
	struct timespec wait = { 0, us * 1000 };

	for (long i = 0; i < n; i++) {
		union sigval value = { .sival_int = (int)i };

		while (sigqueue(pid, SIGRTMIN, value) < 0) {
			if (errno != EAGAIN)
				return i;
			usleep(200);
		}
		if (us)
			nanosleep(&wait, NULL);
	}
	return n;
}
