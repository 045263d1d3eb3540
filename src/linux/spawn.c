/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/urgency.h"

/* The child: wait for the word, then become the command. Async-signal-safe. */
static void __attribute__((noreturn))
become(char *const argv[], const sigset_t *mask, int go, int failed)
{
	ssize_t got;
	char word;
	int code;

	do {
		got = read(go, &word, 1);
	} while (got < 0 && errno == EINTR);
	/* A byte is the word; the end of file means that nobody wants us. */
	if (got != 1)
		_exit(126);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	(void)execvp(argv[0], argv);
	code = errno;
	(void)!write(failed, &code, sizeof(code));
	_exit(code == ENOENT ? 127 : 126);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

int spawn_prepare(struct spawn *s, char *const argv[], const void *mask,
		  struct error *err)
{
	int go[2] = { -1, -1 }, failed[2] = { -1, -1 };
	int r = 0;

	*s = SPAWN_NONE;
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0) {
		r = error_set(err, -errno, "create a pipe");
		goto out;
	}
	s->pid = fork();
	if (s->pid < 0) {
		r = error_set(err, -errno, "fork");
		goto out;
	}
	if (s->pid == 0) {
		(void)close(go[1]);
		become(argv, mask, go[0], failed[1]);
	}
	s->go = go[1];
	s->failed = failed[0];
	go[1] = failed[0] = -1;
out:
	close_fd(&go[0]);
	close_fd(&go[1]);
	close_fd(&failed[0]);
	close_fd(&failed[1]);
	return r;
}

int spawn_go(struct spawn *s, char *const argv[], struct error *err)
{
	int code = 0;
	ssize_t got;

	if (write(s->go, "", 1) != 1)
		return error_set(err, -errno, "let '%s' start", argv[0]);
	close_fd(&s->go);
	do {
		got = read(s->failed, &code, sizeof(code));
	} while (got < 0 && errno == EINTR);
	close_fd(&s->failed);
	if (got != (ssize_t)sizeof(code))
		return 0;
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	s->pid = 0;
	return error_set(err, -code, "start '%s'", argv[0]);
}

void spawn_close(struct spawn *s)
{
	bool waits = s->go >= 0;

	close_fd(&s->go);
	close_fd(&s->failed);
	if (waits && s->pid > 0)
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
}

bool spawn_reaped(pid_t pid, int *ret_status)
{
	return urgency_reap(pid, ret_status, WNOHANG) == pid;
}
