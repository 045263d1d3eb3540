/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/cnproc.h"
#include "linux/kframes.h"
#include "linux/oncpu.h"
#include "linux/sched.h"
#include "linux/task.h"
#include "linux/tracee.h"
#include "linux/urgency.h"

#define READY_MS 200
#define STOP_NS (100 * NSEC_PER_MSEC)

static void try_events(struct trials *ret)
{
	struct cnproc *cn = NULL;
	int r = cnproc_open(&cn, 0, &ret->events);

	/* Whatever failed told so; should it not have, it is no success. */
	if (r)
		(void)error_set(&ret->events, r, "proc connector: refused");
	cnproc_close(cn);
}

static int try_switches(pid_t pid)
{
	struct oncpu *oncpu = NULL;
	int r = oncpu_open(&oncpu, pid, NULL);

	oncpu_close(oncpu);
	return r;
}

static int try_runcounts(const struct procfs *fs)
{
	struct sched_account account;
	int fd = -1;
	int r = sched_open(fs->root, getpid(), task_self(), "schedstat", &fd);

	if (r)
		return r;
	r = sched_read(fd, &account);
	(void)close(fd);
	return r;
}

static void try_priority(struct trials *ret)
{
	struct urgency before = { 0 };

	urgency_raise(&before);
	ret->policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	ret->nice = getpriority(PRIO_PROCESS, (id_t)task_self());
	urgency_restore(&before);
}

/*
 * A child that waits to be looked at. As in linux/cnproc.c, it has no exit signal:
 * nobody's SIGCHLD handler hears of it. It ends with us. What was started with
 * capabilities may not be traced by default, and an exec of an ordinary program
 * would change that: so the child does. It says so by a byte through @ready.
 */
static pid_t make_child(int ready)
{
	pid_t parent = getpid();
	long pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
	ssize_t n;

	if (pid != 0)
		return pid < 0 ? -errno : (pid_t)pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 1);
	n = write(ready, "", 1);
	while (n == 1 && getppid() == parent)
		(void)pause();
	_exit(0);
}

/* End it. When it is known to have gone, its number may be another's. */
static void end_child(pid_t pid, bool gone)
{
	if (!gone)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* Seize it, stop it, let it go. */
static int try_stop(pid_t pid)
{
	struct stopper *s = NULL;
	struct stop stop;
	sigset_t mask;
	int r;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
	r = stopper_new(&s, 0, NULL);
	if (r)
		goto out;
	stopper_until(s, clock_now() + STOP_NS);
	r = stopper_begin(s, pid, &stop);
	if (r)
		goto out;
	stopper_wait(s, &stop, 1);
	if (stop.state == STOP_STOPPED)
		stopper_end(s, &stop);
	else
		r = stop.state == STOP_NONE ? OUT_GONE : OUT_BUSY;
out:
	stopper_free(s);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return r;
}

/* Read the child's copy of *@mark, which is where ours is. */
static int try_read(pid_t pid, const uint64_t *mark)
{
	uint64_t copy = 0;
	struct iovec local = { &copy, sizeof(copy) };
	struct iovec far = { (void *)(uintptr_t)mark, sizeof(*mark) };
	ssize_t n = process_vm_readv(pid, &local, 1, &far, 1, 0);

	if (n < 0)
		return -errno;
	return n == sizeof(copy) && copy == *mark ? 0 : OUT_TORN;
}

static void try_child(struct trials *ret)
{
	uint64_t mark = clock_now() | 1;
	int ready[2] = { -1, -1 };
	struct pollfd wait;
	pid_t pid = 0;

	if (pipe2(ready, O_CLOEXEC) == 0)
		pid = make_child(ready[1]);
	else
		pid = -errno;
	if (pid < 0) {
		ret->stop = ret->read = pid;
		if (ret->switches_all)
			ret->switches_own = pid;
		goto out;
	}
	wait = (struct pollfd){ .fd = ready[0], .events = POLLIN };
	(void)poll(&wait, 1, READY_MS);
	if (ret->switches_all)
		ret->switches_own = try_switches(pid);
	ret->read = try_read(pid, &mark);
	ret->stop = try_stop(pid);
	end_child(pid, ret->stop == OUT_GONE);
out:
	for (int i = 0; i < 2; i++)
		if (ready[i] >= 0)
			(void)close(ready[i]);
}

static void try_kframes(struct trials *ret)
{
	struct kframes *k = NULL;

	if (kframes_open(&k, NSEC_PER_SEC, &ret->kframes) == 0)
		kframes_close(k);
}

void trial_all(const struct procfs *fs, struct trials *ret)
{
	*ret = (struct trials){ .events = ERROR_NONE, .kframes = ERROR_NONE };
	try_events(ret);
	ret->switches_all = try_switches(-1);
	ret->runcounts = try_runcounts(fs);
	try_kframes(ret);
	try_child(ret);
	try_priority(ret);
}
