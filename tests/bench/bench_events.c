/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_events [N]: how soon and how surely each source of process events tells of
 * N (100) children of 50 ms and of 5 ms, one after the other, and at what cost.
 *
 * The forker notes the moment before each fork; what a source says is compared
 * with that. The sources that look do so every 10 ms, as a run does at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/children.h"
#include "linux/clock.h"
#include "linux/cnproc.h"
#include "linux/listener.h"
#include "linux/taskevents.h"
#include "linux/urgency.h"

#define CHILDREN_MAX 1000
#define LOOK_NS (10 * NSEC_PER_MSEC)

/* Shared with the forker. */
struct child {
	pid_t pid;
	uint64_t forked_ns;
};

enum source {
	CONNECTOR,
	PERF_ALL,
	PERF_OWN,
	CHILDREN,
	SCAN
};

struct bench {
	enum source source;
	struct listener *listener;
	struct children *children;
	struct procfs fs;
	struct child *forked;
	size_t n;
	uint64_t life_ns;
	pid_t forker;
	int go;
	struct VEC(uint64_t) latencies;
	struct events events;
	uint64_t told, cpu_ns;
};

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
			      .tv_nsec = (long)(ns % NSEC_PER_SEC) };

	(void)nanosleep(&t, NULL);
}

static void fork_them(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++) {
		pid_t pid;

		b->forked[i].forked_ns = clock_now();
		pid = fork();
		if (pid == 0) {
			sleep_ns(b->life_ns);
			_exit(0);
		}
		b->forked[i].pid = pid;
		(void)waitpid(pid, NULL, 0);
		/* Out of step with those who look. */
		sleep_ns((3 + i % 10) * NSEC_PER_MSEC);
	}
	_exit(0);
}

static int start_forker(struct bench *b)
{
	int go[2];
	char byte;

	if (pipe(go))
		return -errno;
	b->forker = fork();
	if (b->forker == 0) {
		(void)close(go[1]);
		if (read(go[0], &byte, 1) >= 0)
			fork_them(b);
		_exit(1);
	}
	(void)close(go[0]);
	b->go = go[1];
	return b->forker < 0 ? -errno : 0;
}

static int open_source(struct bench *b, struct error *err)
{
	struct taskevents *t = NULL;
	struct evsource source;
	struct cnproc *cn = NULL;
	int r;

	if (b->source == CHILDREN || b->source == SCAN) {
		b->children = children_new(&b->fs, b->source == SCAN);
		return b->children ? children_watch(b->children, b->forker)
				   : -ENOMEM;
	}
	if (b->source == CONNECTOR)
		r = cnproc_open(&cn, 0, err);
	else
		r = taskevents_open(&t, b->source == PERF_ALL ? -1 : b->forker,
				    0, err);
	if (r)
		return r;
	source = cn ? cnproc_source(cn) : taskevents_source(t);
	r = listener_start(&b->listener, &source, err);
	if (r == 0)
		listener_follow(b->listener, b->forker);
	return r;
}

static void take(struct bench *b, const struct event *event, uint64_t now_ns)
{
	b->told++;
	if (event->kind != EVENT_FORK || event->parent != b->forker)
		return;
	/* Times are put in as they are heard; who it was is settled later. */
	if (!vec_push(&b->events, *event) || !vec_push(&b->latencies, now_ns))
		exit(1);
}

static void hear(struct bench *b)
{
	struct pollfd fd = { .fd = listener_fd(b->listener), .events = POLLIN };
	struct event event;

	(void)poll(&fd, 1, 20);
	while (listener_next(b->listener, &event))
		take(b, &event, clock_now());
}

static void look(struct bench *b)
{
	struct events told = { 0 };
	uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (children_look(b->children, clock_now(), &told) < 0)
		exit(1);
	b->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	for (size_t i = 0; i < told.n; i++)
		take(b, &told.at[i], clock_now());
	vec_free(&told);
	sleep_ns(LOOK_NS);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* From the moments of hearing to latencies of those that were forked. */
static size_t settle(struct bench *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->events.n; k++)
			if (b->events.at[k].pid == b->forked[i].pid) {
				b->events.at[k].time_ns =
					nsec_since(b->latencies.at[k],
						   b->forked[i].forked_ns);
				n++;
				break;
			}
	for (size_t k = 0; k < b->events.n; k++)
		b->latencies.at[k] = b->events.at[k].time_ns;
	if (b->latencies.n)
		qsort(b->latencies.at, b->latencies.n, sizeof(*b->latencies.at),
		      by_size);
	return n;
}

static void report(struct bench *b, const char *name)
{
	size_t seen = settle(b);
	size_t n = b->latencies.n;

	if (b->listener) {
		b->cpu_ns = listener_cpu_ns(b->listener);
		b->told = listener_received(b->listener);
	}
	printf("%-16s %3.0f ms: seen %3zu of %zu, latency median %7.0f us, "
	       "p99 %7.0f us, CPU %5.1f us for each of %llu events\n",
	       name, (double)b->life_ns / 1e6, seen, b->n,
	       n ? (double)b->latencies.at[n / 2] / 1e3 : 0,
	       n ? (double)b->latencies.at[n * 99 / 100] / 1e3 : 0,
	       b->told ? (double)b->cpu_ns / 1e3 / (double)b->told : 0,
	       (unsigned long long)b->told);
}

static int run(struct bench *b, const char *name)
{
	struct error err = ERROR_NONE;
	int r = start_forker(b);

	if (r == 0)
		r = open_source(b, &err);
	if (r)
		printf("%-16s not to be had: %s (%s)\n", name, err.text,
		       strerror(-r));
	if (r == 0 && write(b->go, "", 1) != 1)
		r = -errno;
	while (r == 0 && waitpid(b->forker, NULL, WNOHANG) == 0) {
		if (b->listener)
			hear(b);
		else
			look(b);
	}
	if (r == 0)
		report(b, name);
	(void)close(b->go);
	listener_stop(b->listener);
	children_free(b->children);
	vec_free(&b->events);
	vec_free(&b->latencies);
	return r;
}

int main(int argc, char *argv[])
{
	static const char *const names[] = { "connector", "perf (machine)",
					     "perf (command)", "children",
					     "scan" };
	static const uint64_t lives[] = { 50 * NSEC_PER_MSEC,
					  5 * NSEC_PER_MSEC };
	size_t n = argc > 1 ? (size_t)atoi(argv[1]) : 100;
	struct urgency before = { 0 };
	struct procfs fs = { .root = open("/proc", O_PATH | O_CLOEXEC) };
	struct child *forked;

	if (n < 1 || n > CHILDREN_MAX || fs.root < 0)
		return 1;
	forked = mmap(NULL, n * sizeof(*forked), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (forked == MAP_FAILED)
		return 1;
	urgency_raise(&before); /* as the sampling thread; no child is */
	for (int source = CONNECTOR; source <= SCAN; source++)
		for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
			struct bench b = { .source = (enum source)source,
					   .fs = fs,
					   .forked = forked,
					   .n = n,
					   .life_ns = lives[i],
					   .go = -1 };

			memset(forked, 0, n * sizeof(*forked));
			if (run(&b, names[source]))
				break;
			(void)fflush(stdout);
		}
	urgency_restore(&before);
	return 0;
}
