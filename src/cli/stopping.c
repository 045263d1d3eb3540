/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stopping.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_for_signals(void *ctx)
{
	struct stopping *s = ctx;
	int sig;

	for (int times = 0; times < 2;) {
		if (sigwait(&s->set, &sig) != 0)
			return NULL;
		if (sig == SIGUSR1) {
			s->on_usr1(s->ctx);
			continue;
		}
		if (times++ == 1)
			_exit(128 + sig);
		__atomic_store_n(&s->first, sig, __ATOMIC_RELEASE);
		forkflame_stop(s->ff);
	}
	return NULL;
}

/* Those that were ignored when we were started (nohup, a job of a script) stay so. */
void stopping_block(struct stopping *s)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
	size_t n = sizeof(ending) / sizeof(*ending) - !s->on_usr1;
	struct sigaction action;

	(void)sigemptyset(&s->set);
	for (size_t i = 0; i < n; i++)
		if (sigaction(ending[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			(void)sigaddset(&s->set, ending[i]);
	(void)pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
}

int stopping_begin(struct stopping *s)
{
	int r = -pthread_create(&s->waiter, NULL, wait_for_signals, s);

	s->waits = r == 0;
	return r;
}

void stopping_end(struct stopping *s)
{
	if (!s->waits)
		return;
	(void)pthread_cancel(s->waiter);
	(void)pthread_join(s->waiter, NULL);
	s->waits = false;
}

int stopping_status(struct stopping *s, int status)
{
	struct forkflame_progress progress = { .size = sizeof(progress) };
	int first = __atomic_load_n(&s->first, __ATOMIC_ACQUIRE);
	int flags = first && first != SIGINT ? WNOHANG : 0;
	int ended;
	pid_t pid;

	forkflame_progress(s->ff, &progress);
	ended = progress.command_status;
	if (!progress.command_ended) {
		do {
			pid = waitpid(progress.command_pid, &ended, flags);
		} while (pid < 0 && errno == EINTR);
		if (pid != progress.command_pid)
			return status;
	}
	return WIFSIGNALED(ended) ? -WTERMSIG(ended) : WEXITSTATUS(ended);
}
