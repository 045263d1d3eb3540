/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "session_internal.h"

/*
 * Who runs, by the kernel's switch records: of everybody, of the command and its
 * descendants, or of chosen threads and what they will fork. In the last case it has
 * to be certain that no thread of a member is without them: one of which no record
 * ever comes would be taken for one that stands. So a process is watched when it
 * joins, thread by thread, until a listing shows none that is not watched; what they
 * fork later has records by itself (process.watched_ns). Where that fails, run
 * counts take the place of records for all.
 */

/* A process that makes threads all the time makes them watched, but for the first. */
#define ROUNDS_MAX 10

static int refused(struct forkflame *ff, int r, const char *text)
{
	(void)snprintf(ff->oncpu_reason, sizeof(ff->oncpu_reason), "%.200s: %s",
		       text, strerror(-r));
	return 0;
}

int session_open_oncpu(struct forkflame *ff, pid_t command)
{
	struct error why = ERROR_NONE;
	int r;

	if (ff->options.oncpu == FORKFLAME_ONCPU_RUNCOUNTS) {
		(void)snprintf(ff->oncpu_reason, sizeof(ff->oncpu_reason),
			       "asked for");
		return 0;
	}
	r = oncpu_open(&ff->oncpu, -1, &why);
	/*
	 * An ordinary user may have the records of what is his own; for one look
	 * they are not worth it.
	 */
	if (r < 0 && !ff->everybody && (command || !ff->dumping)) {
		why = ERROR_NONE;
		r = oncpu_open(&ff->oncpu, command, &why);
	}
	if (r == 0)
		return 0;
	if (ff->options.oncpu == FORKFLAME_ONCPU_SWITCHES)
		return error_set(&ff->err, r, "%s: %s", why.text, strerror(-r));
	return refused(ff, r, why.text);
}

/* Half of the files that may be open is for other things: they are needed more. */
static bool has_files(const struct forkflame *ff)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	       oncpu_files(ff->oncpu) < limit.rlim_cur / 2;
}

/* All threads of @pid that are not in @done. How many, or a negative errno. */
static int watch_more(struct forkflame *ff, pid_t pid, struct map *done)
{
	struct proc_tids tids = { 0 };
	int r = procfs_tids(&ff->fs, pid, &tids, NULL);
	int n = 0;

	if (r > 0)
		r = r == OUT_GONE ? 0 : -EACCES;
	for (size_t i = 0; r == 0 && i < tids.n; i++) {
		uint64_t tid = (uint64_t)tids.at[i];

		if (map_get(done, tid, NULL))
			continue;
		r = has_files(ff) ? oncpu_watch(ff->oncpu, tids.at[i])
				  : -EMFILE;
		if (r == -ESRCH)
			r = 0;
		if (r == 0 && !map_put(done, tid, 0))
			r = -ENOMEM;
		n++;
	}
	vec_free(&tids);
	return r < 0 ? r : n;
}

static int watch_threads(struct forkflame *ff, struct process *p)
{
	struct map done = { 0 };
	int n = 1;

	for (int round = 0; n > 0 && round < ROUNDS_MAX; round++)
		n = watch_more(ff, p->pid, &done);
	map_free(&done);
	if (n >= 0)
		p->watched_ns = clock_now();
	return n < 0 ? n : 0;
}

static int lose_oncpu(struct forkflame *ff, const struct process *p, int r)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "watch the threads of process %d",
		       p->pid);
	oncpu_close(ff->oncpu);
	ff->oncpu = NULL;
	if (ff->options.oncpu == FORKFLAME_ONCPU_SWITCHES)
		return error_set(&ff->err, r, "%s: %s", text, strerror(-r));
	return refused(ff, r, text);
}

int session_follow_oncpu(struct forkflame *ff, struct process *p,
			 const struct process *heir_of)
{
	int r;

	if (!ff->oncpu || !oncpu_watches(ff->oncpu))
		return 0;
	if (heir_of && heir_of->watched_ns &&
	    p->born_ns > heir_of->watched_ns) {
		p->watched_ns = heir_of->watched_ns;
		return 0;
	}
	r = watch_threads(ff, p);
	/* Whoever may not be watched may not be read, as long as that is so. */
	if (r == 0 || r == -EACCES || r == -EPERM)
		return 0;
	return lose_oncpu(ff, p, r);
}

void session_need_oncpu(struct forkflame *ff, struct process *p)
{
	int r;

	if (!ff->oncpu || !oncpu_watches(ff->oncpu) || p->watched_ns)
		return;
	r = watch_threads(ff, p);
	if (r < 0)
		(void)lose_oncpu(ff, p, r);
}
