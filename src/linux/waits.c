/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/task.h"

/* The longest: number, six arguments, stack and instruction pointer, in hex. */
#define TEXT_MAX 256

struct call {
	int64_t nr;
	enum wait_kind kind;
};

/* Calls that a machine does not have are left out: aarch64 lacks the old ones. */
static const struct call calls[] = {
	{ SYS_futex, WAIT_LOCK },
	{ SYS_read, WAIT_FILE },
	{ SYS_readv, WAIT_FILE },
	{ SYS_pread64, WAIT_FILE },
	{ SYS_preadv, WAIT_FILE },
	{ SYS_write, WAIT_FILE },
	{ SYS_writev, WAIT_FILE },
	{ SYS_pwrite64, WAIT_FILE },
	{ SYS_pwritev, WAIT_FILE },
	{ SYS_sendfile, WAIT_FILE },
	{ SYS_splice, WAIT_FILE },
	{ SYS_fsync, WAIT_FILE },
	{ SYS_fdatasync, WAIT_FILE },
	{ SYS_flock, WAIT_LOCK },
	{ SYS_connect, WAIT_SOCKET },
	{ SYS_accept, WAIT_SOCKET },
	{ SYS_accept4, WAIT_SOCKET },
	{ SYS_sendto, WAIT_SOCKET },
	{ SYS_recvfrom, WAIT_SOCKET },
	{ SYS_sendmsg, WAIT_SOCKET },
	{ SYS_recvmsg, WAIT_SOCKET },
	{ SYS_recvmmsg, WAIT_SOCKET },
	{ SYS_sendmmsg, WAIT_SOCKET },
	{ SYS_ppoll, WAIT_POLL },
	{ SYS_pselect6, WAIT_POLL },
	{ SYS_epoll_pwait, WAIT_POLL },
	{ SYS_nanosleep, WAIT_TIME },
	{ SYS_clock_nanosleep, WAIT_TIME },
	{ SYS_wait4, WAIT_PROCESS },
	{ SYS_waitid, WAIT_PROCESS },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL },
	{ SYS_rt_sigsuspend, WAIT_SIGNAL },
	{ SYS_semtimedop, WAIT_LOCK },
	{ SYS_semop, WAIT_LOCK },
	{ SYS_msgrcv, WAIT_PIPE },
	{ SYS_msgsnd, WAIT_PIPE },
	{ SYS_mq_timedreceive, WAIT_PIPE },
	{ SYS_mq_timedsend, WAIT_PIPE },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, WAIT_POLL },
#endif
#ifdef SYS_futex_waitv
	{ SYS_futex_waitv, WAIT_LOCK },
#endif
#ifdef SYS_poll
	{ SYS_poll, WAIT_POLL },
#endif
#ifdef SYS_select
	{ SYS_select, WAIT_POLL },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WAIT_POLL },
#endif
#ifdef SYS_pause
	{ SYS_pause, WAIT_SIGNAL },
#endif
};

/* Names of what /proc/PID/fd/N points to that are no paths. */
struct scheme {
	const char *start;
	enum wait_kind kind;
};

static const struct scheme schemes[] = {
	{ "pipe:[", WAIT_PIPE },
	{ "socket:[", WAIT_SOCKET },
	{ "anon_inode:[eventfd", WAIT_LOCK },
	{ "anon_inode:[timerfd", WAIT_TIME },
	{ "anon_inode:[signalfd", WAIT_SIGNAL },
	{ "anon_inode:[pidfd", WAIT_PROCESS },
};

enum wait_kind waits_kind(int64_t nr, uint64_t arg)
{
	/* select of no file is how time.sleep sleeps up to 3.10. */
#ifdef SYS_select
	if (nr == SYS_select && !arg)
		return WAIT_TIME;
#endif
	if (nr == SYS_pselect6 && !arg)
		return WAIT_TIME;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr == nr)
			return calls[i].kind;
	return WAIT_OTHER;
}

int waits_parse(const char *text, size_t len, int64_t *ret_nr,
		uint64_t *ret_arg)
{
	char copy[TEXT_MAX];
	char *end;
	long long nr;
	unsigned long long arg;

	if (!len || len >= sizeof(copy))
		return OUT_UNKNOWN;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (!strncmp(copy, "running", 7))
		return OUT_BUSY;
	errno = 0;
	nr = strtoll(copy, &end, 10);
	if (end == copy || errno || nr < 0 || *end != ' ')
		return OUT_UNKNOWN;
	arg = strtoull(end, &end, 0);
	if (errno)
		return OUT_UNKNOWN;
	*ret_nr = nr;
	*ret_arg = arg;
	return 0;
}

/* Which kind of file is behind a file descriptor of @pid? */
static enum wait_kind file_kind(int root, pid_t pid, uint64_t fd)
{
	char path[64], target[64];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "%d/fd/%llu", pid,
		       (unsigned long long)fd);
	len = readlinkat(root, path, target, sizeof(target) - 1);
	if (len < 0)
		return WAIT_FILE;
	target[len] = '\0';
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (!strncmp(target, schemes[i].start,
			     strlen(schemes[i].start)))
			return schemes[i].kind;
	return WAIT_FILE;
}

int waits_look(int root, pid_t pid, int syscall_fd, struct waiting *ret)
{
	char text[TEXT_MAX];
	uint64_t arg;
	int64_t nr;
	ssize_t len = pread(syscall_fd, text, sizeof(text) - 1, 0);
	int r;

	if (len < 0)
		return errno == ESRCH                      ? OUT_GONE
		       : errno == EPERM || errno == EACCES ? OUT_DENIED
							   : -errno;
	if (!len)
		return OUT_GONE;
	*ret = (struct waiting){ .kind = WAIT_UNKNOWN };
	r = waits_parse(text, (size_t)len, &nr, &arg);
	if (r == OUT_UNKNOWN)
		return 0;
	if (r != 0)
		return r;
	ret->kind = waits_kind(nr, arg);
	if (ret->kind == WAIT_FILE)
		ret->kind = file_kind(root, pid, arg);
	else if (nr == SYS_futex)
		ret->futex = arg;
	return 0;
}

bool waits_stopped(int root, pid_t pid, pid_t tid)
{
	char path[64], text[256];
	const char *end = NULL;
	ssize_t len = -1;
	int fd;

	if (!task_there(pid, tid))
		return false;
	(void)snprintf(path, sizeof(path), "%d/task/%d/stat", pid, tid);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		(void)close(fd);
	}
	if (len > 0) {
		text[len] = '\0';
		/* The name before it may hold parentheses of its own. */
		end = strrchr(text, ')');
	}
	return end && (end[1] == ' ') && (end[2] == 'T' || end[2] == 't');
}
