/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "python/threadname.h"
#include "session_internal.h"
#include "session_tids.h"

/*
 * What threads and processes are called: by the program, else by the kernel. It is asked seldom,
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

/* A title is looked for after this time, and after three times as long, ... */
#define TITLE_STEP_NS (100 * NSEC_PER_MSEC)
#define TITLE_STEP_MAX_NS (60 * NSEC_PER_SEC)

/*
 * Where the kernel tells of a new name, at once, but for one who changes it all the
 * time: then no sooner than this after the last look, twice that after two changes,
 * and so on.
 */
#define TITLE_REST_NS (20 * NSEC_PER_MSEC)
#define TITLE_REST_DOUBLES 8

bool session_is_another_program(const struct forkflame *ff,
				const struct process *p)
{
	struct proc_stat stat;

	return procfs_stat(&ff->fs, p->pid, &stat, NULL) != 0 ||
	       (stat.code_start > 1 && p->code_start &&
		(stat.code_start != p->code_start ||
		 stat.stack_start != p->stack_start));
}

static void read_title(struct forkflame *ff, struct process *p)
{
	struct str text = { 0 };
	uint32_t id = STRTAB_NONE;

	if (procfs_arguments(&ff->fs, p->pid, &text, NULL) == 0 && text.len)
		id = strtab_id(ff->strings, text.at, text.len);
	str_free(&text);
	if (id == STRTAB_NONE || id == process_command(p) ||
	    session_is_another_program(ff, p))
		return;
	p->title = id;
	p->titles++;
	record_title(ff, p);
}

void session_look_at_title(struct forkflame *ff, struct process *p,
			   uint64_t now_ns)
{
	unsigned doubles = p->titles < TITLE_REST_DOUBLES ? p->titles
							  : TITLE_REST_DOUBLES;

	if (p->exec_ns || p->left ||
	    now_ns < p->title_ns + (TITLE_REST_NS << doubles))
		return;
	p->title_ns = now_ns;
	read_title(ff, p);
}

void session_watch_title(struct forkflame *ff, struct process *p)
{
	struct todo todo = { .at_ns = clock_now() + TITLE_STEP_NS,
			     .serial = p->serial,
			     .kind = TODO_TITLE,
			     .step_ns = TITLE_STEP_NS };

	if (p->title_due_ns)
		return;
	p->title_due_ns = todo.at_ns;
	session_todo_put(ff, todo);
}

void session_title_todo(struct forkflame *ff, struct process *p,
			struct todo todo, uint64_t now_ns)
{
	/* Of an image before this one. */
	if (todo.at_ns != p->title_due_ns)
		return;
	session_look_at_title(ff, p, now_ns);
	todo.step_ns *= 3;
	if (todo.step_ns > TITLE_STEP_MAX_NS)
		todo.step_ns = TITLE_STEP_MAX_NS;
	todo.at_ns = p->title_due_ns = now_ns + todo.step_ns;
	session_todo_put(ff, todo);
}
