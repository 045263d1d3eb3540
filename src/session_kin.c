/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/task.h"
#include "session_internal.h"

/*
 * Who is of the tree, though the kernel names a stranger as the parent:
 *
 *  - A child that the root made with CLONE_PARENT is a child of the root's own
 *    parent. Of a command, that is us, and we fork nothing else.
 *  - A child whose parent went before anybody looked is init's.
 *
 * A copy of a process has its addresses, which are random with each exec: a
 * stranger whose code and stack begin where those of a member do, of an image that
 * an exec of this run made, descends from the tree. Of a process that ran before
 * we came, others than its descendants may have the same image; there it takes a
 * sibling, and a parent that has another image, and so did not fork it itself.
 */

/* Start times and those of events are apart by a clock tick at most. */
#define TICK_NS (20 * NSEC_PER_MSEC)

static bool same_image(const struct process *p, const struct proc_stat *stat)
{
	return p->code_start == stat->code_start &&
	       p->stack_start == stat->stack_start;
}

static bool has_image(const struct proc_stat *stat)
{
	return stat->code_start > 1 && stat->stack_start > 1;
}

/* Whose child one is that the kernel calls ours: the oldest who may have made it. */
static pid_t maker(const struct forkflame *ff)
{
	if (proctree_find(ff->tree, ff->command) != PROCTREE_NONE)
		return ff->command;
	for (size_t i = 0; i < ff->adopted.n; i++)
		if (proctree_find(ff->tree, ff->adopted.at[i]) != PROCTREE_NONE)
			return ff->adopted.at[i];
	return ff->command;
}

static pid_t adopt(struct forkflame *ff, pid_t pid)
{
	pid_t parent = maker(ff);

	for (size_t i = 0; i < ff->adopted.n; i++)
		if (ff->adopted.at[i] == pid)
			return parent;
	(void)vec_push(&ff->adopted, pid);
	return parent;
}

void kin_event(struct forkflame *ff, struct event *event)
{
	if (event->kind == EVENT_FORK && ff->command &&
	    event->parent == getpid() && event->pid != ff->command &&
	    event->time_ns + TICK_NS > ff->start_ns) {
		event->parent = adopt(ff, event->pid);
		event->parent_tid = 0;
	}
}

void kin_left(struct forkflame *ff, pid_t pid)
{
	siginfo_t info = { 0 };
	int status;

	for (size_t i = 0; i < ff->adopted.n; i++) {
		if (ff->adopted.at[i] != pid)
			continue;
		vec_take_out(&ff->adopted, i);
		/* We are its parent; it is a zombie for as long as we do nothing. */
		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
		    info.si_pid == pid)
			(void)urgency_reap(pid, &status, WNOHANG | __WALL);
		return;
	}
}

/* The first of an image counts: who joined earlier is nearer to the root. */
static int add_image(struct kin *kin, const struct kin_image *image)
{
	uint64_t key = map_mix(image->code_start, image->stack_start);

	if (image->code_start <= 1 || image->stack_start <= 1 ||
	    map_get(&kin->by_image, key, NULL))
		return 0;
	if (!vec_push(&kin->images, *image) ||
	    !map_put(&kin->by_image, key, kin->images.n - 1))
		return -ENOMEM;
	return 0;
}

static struct kin_image image_of(const struct process *p)
{
	return (struct kin_image){ .code_start = p->code_start,
				   .stack_start = p->stack_start,
				   .pid = p->pid };
}

static const struct proc_stat *find_stat(const struct proc_stats *stats,
					 pid_t pid)
{
	for (size_t i = 0; i < stats->n; i++)
		if (stats->at[i].pid == pid)
			return &stats->at[i];
	return NULL;
}

/* One that was asked for, and whose parent has certainly not forked it as it is. */
static int add_root(const struct forkflame *ff, const struct proc_stats *stats,
		    const struct proc_stat *root, struct kin *kin)
{
	const struct process *p =
		process_at(ff, proctree_find(ff->tree, root->pid));
	const struct proc_stat *now = find_stat(stats, root->pid);
	const struct proc_stat *above = now ? find_stat(stats, now->parent)
					    : NULL;
	struct kin_image image;

	/* Init is the parent of orphans of all kinds. */
	if (!p || !above || above->pid <= 1 || !has_image(above) ||
	    same_image(p, above))
		return 0;
	image = image_of(p);
	image.beside = above->pid;
	image.start = root->start;
	return add_image(kin, &image);
}

/* Itself, or the next above it that has not left; or else whoever is there. */
static pid_t living(const struct forkflame *ff, const struct process *p)
{
	while (p && p->left)
		p = process_at(ff, p->parent);
	for (size_t i = 0; !p && i < ff->processes.n; i++)
		if (ff->processes.at[i] && !ff->processes.at[i]->left)
			p = ff->processes.at[i];
	return p ? p->pid : 0;
}

/* Of members, or of those who have left: what they left behind is of the tree. */
static int add_members(const struct forkflame *ff, bool left, struct kin *kin)
{
	struct kin_image image;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ff->processes.n; i++) {
		const struct process *p = ff->processes.at[i];

		if (!p || p->left != left || !p->own_image)
			continue;
		image = image_of(p);
		if (!map_get(&kin->by_image,
			     map_mix(image.code_start, image.stack_start),
			     NULL) &&
		    left)
			image.pid = living(ff, p);
		r = add_image(kin, &image);
	}
	return r;
}

int kin_gather(const struct forkflame *ff, const struct proc_stats *stats,
	       struct kin *ret)
{
	int r;

	*ret = (struct kin){ 0 };
	if (ff->everybody)
		return 0; /* all are members anyway */
	r = add_members(ff, false, ret);
	if (r == 0)
		r = add_members(ff, true, ret);
	for (size_t i = 0; r == 0 && i < ff->roots.n; i++)
		r = add_root(ff, stats, &ff->roots.at[i], ret);
	return r;
}

void kin_free(struct kin *kin)
{
	vec_free(&kin->images);
	map_free(&kin->by_image);
}

/* A child of ours that came after the command did. */
static bool is_ours(const struct forkflame *ff, const struct proc_stat *stat)
{
	const struct member *root = proctree_member(ff->tree, 0);

	return ff->command && stat->parent == getpid() &&
	       stat->pid != ff->command && root && root->pid == ff->command &&
	       root->start && stat->start >= root->start;
}

pid_t kin_parent(struct forkflame *ff, const struct kin *kin,
		 const struct proc_stat *stat)
{
	const struct kin_image *image;
	uint64_t i;

	if (proctree_find(ff->tree, stat->pid) != PROCTREE_NONE)
		return stat->parent;
	if (is_ours(ff, stat))
		return adopt(ff, stat->pid);
	if (!has_image(stat) ||
	    proctree_find(ff->tree, stat->parent) != PROCTREE_NONE ||
	    !map_get(&kin->by_image,
		     map_mix(stat->code_start, stat->stack_start), &i))
		return stat->parent;
	image = &kin->images.at[i];
	if (image->code_start != stat->code_start ||
	    image->stack_start != stat->stack_start ||
	    (image->beside &&
	     (image->beside != stat->parent || stat->start < image->start)) ||
	    !procfs_has_random_addresses(&ff->fs, stat->pid))
		return stat->parent;
	return image->pid;
}
