/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "linux/clock.h"
#include "linux/task.h"
#include "python/threadname.h"
#include "session_internal.h"
#include "session_tids.h"

/*
 * What a thread is called: by the program, else by the kernel. It is asked seldom,
 * and never while a thread is held: a name is some twenty reads.
 */

/* Where the names are is looked for no more often than this. */
#define ACTIVE_NS (5 * NSEC_PER_SEC)

/* The kernel's name; nothing when it cannot be had. */
static void kernel_name(const struct forkflame *ff, const struct thread *t,
			struct str *to)
{
	char path[64], name[32];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "%d/task/%d/comm", t->process->pid,
		       t->tid);
	fd = task_there(t->process->pid, t->tid)
		     ? openat(ff->fs.root, path, O_RDONLY | O_CLOEXEC)
		     : -1;
	if (fd >= 0) {
		n = read(fd, name, sizeof(name));
		(void)close(fd);
	}
	if (n > 0 && name[n - 1] == '\n')
		n--;
	if (n > 0)
		str_add(to, name, (size_t)n);
}

/* The threads that threading of one interpreter knows; 0: none. */
static uint64_t active_of(struct forkflame *ff, struct process *p,
			  const struct layout *layout, uint64_t interp)
{
	uint64_t now_ns = clock_now();

	if (p->active_interp == interp &&
	    (p->active || now_ns < p->active_ns + ACTIVE_NS))
		return p->active;
	p->active_interp = interp;
	p->active_ns = now_ns;
	if (threadname_active(&ff->mem, layout, interp, &p->active) != 0)
		p->active = 0;
	return p->active;
}

static bool name_in(struct forkflame *ff, struct thread *t,
		    const struct seat *seat, struct str *to)
{
	const struct layout *layout = &seat_runtime(t, seat)->layout;
	uint64_t active = active_of(ff, t->process, layout, seat->interp);

	if (!active)
		return false;
	return threadname_read(&ff->mem, layout, active, seat->pthread, to) ==
	       0;
}

void session_thread_name(struct forkflame *ff, struct thread *t, struct str *to)
{
	struct process *p = t->process;
	bool found = false;

	str_clear(to);
	session_read_from(ff, p);
	/* Its oldest interpreter is that which it was made in. */
	if (t->below.n)
		found = name_in(ff, t, &t->below.at[t->below.n - 1], to);
	if (!found && t->seat.interp)
		found = name_in(ff, t, &t->seat, to);
	if (!found)
		kernel_name(ff, t, to);
}
