/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nsec.h"
#include "linux/clock.h"
#include "session_internal.h"

/* What has to be done a little later: a heap, the nearest first. */

/* The heap: a parent is at (i - 1) / 2. */
void session_todo_put(struct forkflame *ff, struct todo todo)
{
	size_t i = ff->todo.n;

	/* Without memory the regular tick has to do. */
	if (!vec_push(&ff->todo, todo))
		return;
	for (; i && ff->todo.at[(i - 1) / 2].at_ns > todo.at_ns;
	     i = (i - 1) / 2)
		ff->todo.at[i] = ff->todo.at[(i - 1) / 2];
	ff->todo.at[i] = todo;
}

static struct todo todo_take(struct forkflame *ff)
{
	struct todo first = ff->todo.at[0];
	struct todo last = ff->todo.at[--ff->todo.n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < ff->todo.n) {
		if (child + 1 < ff->todo.n &&
		    ff->todo.at[child + 1].at_ns < ff->todo.at[child].at_ns)
			child++;
		if (ff->todo.at[child].at_ns >= last.at_ns)
			break;
		ff->todo.at[i] = ff->todo.at[child];
		i = child;
	}
	if (ff->todo.n)
		ff->todo.at[i] = last;
	return first;
}

uint64_t session_todo_ns(const struct forkflame *ff)
{
	return ff->todo.n ? ff->todo.at[0].at_ns : UINT64_MAX;
}

static void do_todo(struct forkflame *ff, struct todo todo, uint64_t now_ns)
{
	struct process *p = process_at(ff, todo.serial);

	if (todo.kind == TODO_FORGET) {
		proctree_forget(ff->tree, todo.serial);
		if (p)
			source_forget(ff, p);
	}
	if (!p || p->left)
		return;
	if (todo.kind == TODO_LEAVE) {
		proctree_gone(ff->tree, p->serial, now_ns);
		return;
	}
	if (p->gone)
		return;
	if (todo.kind == TODO_EXEC) {
		(void)process_exec_late(ff, p, now_ns);
		return;
	}
	if (todo.kind == TODO_TITLE) {
		session_title_todo(ff, p, todo, now_ns);
		return;
	}
	if (todo.kind == TODO_PROBE) {
		process_probe(ff, p);
		return;
	}
	session_sample_process(ff, p, true);
	todo.step_ns *= 2;
	todo.at_ns = now_ns + todo.step_ns;
	if (todo.step_ns < ff->options.interval_ns)
		session_todo_put(ff, todo);
}

void session_todo(struct forkflame *ff, uint64_t now_ns)
{
	while (session_todo_ns(ff) <= now_ns)
		do_todo(ff, todo_take(ff), now_ns);
}
