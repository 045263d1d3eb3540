/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/nsec.h"
#include "base/outcome.h"
#include "base/vec.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "linux/urgency.h"

/* glibc before 2.38 has no name for it. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* PTRACE_EVENT_STOP, in the third byte of a status: our stop, or a group-stop. */
#define EVENT_STOP 128

struct stopper {
	timer_t timer;
	bool has_timer;
	uint64_t deadline_ns;
	unsigned failed_late; /* calls, of those that were stuck */
	struct VEC(pid_t) stuck;
	pid_t child;
	bool child_ended;
	int child_status;
};

/* It is only there to interrupt a wait. */
static void nothing(int signal)
{
	(void)signal;
}

int stopper_new(struct stopper **ret, pid_t child, struct error *err)
{
	struct sigaction action = { .sa_handler = nothing };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = STOPPER_SIGNAL };
	struct stopper *s = calloc(1, sizeof(*s));
	sigset_t set;
	int r = 0;

	if (!s)
		return error_set(err, -ENOMEM, "remember stopped threads");
	s->child = child;
	event.sigev_notify_thread_id = task_self();
	(void)sigemptyset(&action.sa_mask);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, STOPPER_SIGNAL);
	if (sigaction(STOPPER_SIGNAL, &action, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &s->timer) < 0) {
		r = error_set(err, -errno, "create the timer that ends a wait");
		goto out;
	}
	s->has_timer = true;
	r = -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
out:
	if (r < 0) {
		stopper_free(s);
		s = NULL;
	}
	*ret = s;
	return r;
}

void stopper_free(struct stopper *s)
{
	if (!s)
		return;
	stopper_reap(s);
	if (s->has_timer)
		(void)timer_delete(s->timer);
	vec_free(&s->stuck);
	free(s);
}

static bool is_stuck(const struct stopper *s, pid_t tid)
{
	for (size_t i = 0; i < s->stuck.n; i++)
		if (s->stuck.at[i] == tid)
			return true;
	return false;
}

/*
 * It is ours, and it dies: the kernel tells its parent nothing until its tracer has
 * waited for it. Without memory, the parent waits until this thread ends.
 */
static void bury(struct stopper *s, pid_t tid)
{
	int number = errno;

	(void)vec_push(&s->stuck, tid);
	errno = number;
}

int stopper_begin(struct stopper *s, pid_t tid, struct stop *stop)
{
	*stop = (struct stop){ .tid = tid };
	if (is_stuck(s, tid))
		return OUT_BUSY;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		goto refused;
	/* Before it is asked: on another CPU it may stop before we know. */
	stop->asked_ns = clock_now();
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0) {
		stop->state = STOP_ASKED;
		return 0;
	}
	bury(s, tid);
refused:
	if (errno == ESRCH)
		return OUT_GONE;
	if (errno == EPERM || errno == EACCES)
		return OUT_DENIED;
	return -errno;
}

/*
 * The timer's first signal comes at @at_ns and then every 2 ms: one that came
 * between our look at the clock and the wait would otherwise be lost.
 */
static void arm(struct stopper *s, uint64_t at_ns)
{
	struct itimerspec t = { 0 };

	if (at_ns) {
		t.it_value.tv_sec = (time_t)(at_ns / NSEC_PER_SEC);
		t.it_value.tv_nsec = (long)(at_ns % NSEC_PER_SEC);
		t.it_interval.tv_nsec = 2 * (long)NSEC_PER_MSEC;
	}
	(void)timer_settime(s->timer, TIMER_ABSTIME, &t, NULL);
}

/* What a wait said of a thread: stopped, or ended. */
static void take(struct stopper *s, struct stop *stop, int status)
{
	if (WIFSTOPPED(status)) {
		stop->state = STOP_STOPPED;
		stop->status = status;
		stop->stopped_ns = clock_now();
		return;
	}
	stop->state = STOP_NONE;
	if (stop->tid == s->child) {
		s->child_ended = true;
		s->child_status = status;
	}
}

/*
 * What became of one that was asked to stop, as waitpid tells it. A stop is looked at
 * without being taken: a release needs no more; an end has to be taken, which is
 * another matter (urgency_reap).
 *
 * Returns its tid; 0 for none as yet (WNOHANG); -1 with errno.
 */
static pid_t look(pid_t tid, int *ret_status, int flags)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)tid, &info,
		   WEXITED | WNOWAIT | __WALL | __WNOTHREAD | flags) < 0)
		return -1;
	if (!info.si_pid)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return urgency_reap(tid, ret_status,
				    __WALL | __WNOTHREAD | WNOHANG);
	/* As waitpid has it: what a ptrace event adds is above the signal. */
	*ret_status = info.si_status << 8 | 0x7f;
	return tid;
}

static void wait_one(struct stopper *s, struct stop *stop, uint64_t deadline_ns)
{
	int status;
	pid_t pid;

	do {
		pid = look(stop->tid, &status, 0);
	} while (pid < 0 && errno == EINTR && clock_now() < deadline_ns);
	if (pid == stop->tid)
		take(s, stop, status);
	else if (pid < 0 && errno != EINTR)
		stop->state = STOP_NONE; /* ECHILD: it exec'd or was reaped */
	else
		stop->state = STOP_STUCK;
}

void stopper_until(struct stopper *s, uint64_t deadline_ns)
{
	arm(s, deadline_ns);
	s->deadline_ns = deadline_ns;
}

void stopper_wait(struct stopper *s, struct stop *stops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (stops[i].state != STOP_ASKED)
			continue;
		wait_one(s, &stops[i], s->deadline_ns);
		if (stops[i].state == STOP_STUCK &&
		    !vec_push(&s->stuck, stops[i].tid))
			stops[i].state = STOP_NONE;
	}
}

/* A stop of ours carries no signal; any other stop is a signal to hand back. */
static int signal_of(int status)
{
	return status >> 16 == EVENT_STOP ? 0 : WSTOPSIG(status);
}

/*
 * Within a system call it has the call's number; with a stop on the way out of it, the
 * result is there, and it is EINTR only for a call that is not going to be restarted
 * (arch/x86/kernel/signal.c, arch_do_signal_or_restart; arch/arm64/kernel/signal.c).
 */
#if defined(__x86_64__)
static bool has_eintr(pid_t tid)
{
	struct user_regs_struct regs = { 0 };
	struct iovec io = { &regs, sizeof(regs) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) == 0 &&
	       io.iov_len == sizeof(regs) && (int64_t)regs.orig_rax >= 0 &&
	       (int64_t)regs.rax == -EINTR;
}
#elif defined(__aarch64__)
static bool has_eintr(pid_t tid)
{
	struct user_regs_struct regs = { 0 };
	struct iovec io = { &regs, sizeof(regs) };
	int call = -1;
	struct iovec io_call = { &call, sizeof(call) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) == 0 &&
	       ptrace(PTRACE_GETREGSET, tid, NT_ARM_SYSTEM_CALL, &io_call) ==
		       0 &&
	       call >= 0 && (int64_t)regs.regs[0] == -EINTR;
}
#else
static bool has_eintr(pid_t tid)
{
	(void)tid;
	return false;
}
#endif

bool stopper_failed_call(const struct stop *stop)
{
	/* One that a signal ended would have been without us, too. */
	return stop->state == STOP_STOPPED && !signal_of(stop->status) &&
	       has_eintr(stop->tid);
}

unsigned stopper_failed_late(struct stopper *s)
{
	unsigned n = s->failed_late;

	s->failed_late = 0;
	return n;
}

void stopper_end(struct stopper *s, struct stop *stop)
{
	if (stop->state != STOP_STOPPED)
		return;
	/* ESRCH: it was killed while it stood. */
	if (ptrace(PTRACE_DETACH, stop->tid, 0, (long)signal_of(stop->status)) <
	    0)
		bury(s, stop->tid);
	stop->state = STOP_NONE;
}

void stopper_reap(struct stopper *s)
{
	for (size_t i = 0; i < s->stuck.n;) {
		struct stop stop = { .tid = s->stuck.at[i] };
		int status;
		pid_t pid = look(stop.tid, &status, WNOHANG);

		if (pid == 0) {
			i++;
			continue;
		}
		if (pid == stop.tid)
			take(s, &stop, status);
		s->failed_late += stopper_failed_call(&stop);
		stopper_end(s, &stop);
		vec_take_out(&s->stuck, i);
	}
}

size_t stopper_stuck(const struct stopper *s)
{
	return s->stuck.n;
}

bool stopper_taken(const struct stopper *s, int *ret_status)
{
	if (s->child_ended)
		*ret_status = s->child_status;
	return s->child_ended;
}
