/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look has two halves. First all that are watched are looked at: who has
 * gone, who has another image. Then their children are listed, and those of the
 * new ones as well, until no more come: `watched` grows while it is walked.
 *
 * Invariants, between looks: each process stands in `watched` once, and `index`
 * says where. One that has ended, or was forgotten, stays there until it has been
 * reaped: its parent's file lists it for so long, and it is told of once.
 */
#include "linux/children.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/nsec.h"
#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/procfs_read.h"

#define SCAN_WHOLE 64

/* How often it is told that some were missed. */
#define TELL_NS NSEC_PER_SEC

#define ASLEEP_NOISE_NS (100 * NSEC_PER_MSEC)

/* What an exec changes. Zeros are what the kernel did not tell. */
struct image {
	uint64_t device;
	uint64_t inode;
	uint64_t code_start;
	uint64_t stack_start;
};

struct watched {
	pid_t pid, parent;
	uint64_t start;
	uint64_t waited_faults;
	bool waited,
		lost; /* in this look: that has grown; a child of it has gone */
	bool grew_alone,
		went_alone; /* in the last look: one without the other */
	bool ended;         /* its leader is a zombie; its EXIT was told */
	bool forgotten;     /* nothing is told of it */
	struct image image;
};

struct children {
	const struct procfs *fs;
	struct VEC(struct watched) watched;
	struct map index;      /* pid -> place in watched */
	bool no_files;         /* a kernel without CONFIG_PROC_CHILDREN */
	struct proc_tids tids; /* kept for their room */
	struct proc_tids found;
	struct proc_stats all; /* as the last scan found them */
	unsigned scans;
	uint64_t ns_per_tick;
	uint64_t asleep_ns; /* the time that the machine was suspended */
	uint64_t missed;
	uint64_t missed_told; /* so many by the last LOST */
	uint64_t told_ns;     /* when that was */
};

struct children *children_new(const struct procfs *fs, bool scan)
{
	struct children *c = calloc(1, sizeof(*c));
	long ticks = sysconf(_SC_CLK_TCK);

	if (!c)
		return NULL;
	c->fs = fs;
	c->no_files = scan;
	c->ns_per_tick = NSEC_PER_SEC / (uint64_t)(ticks > 0 ? ticks : 100);
	return c;
}

bool children_has_files(const struct procfs *fs)
{
	struct proc_tids found = { 0 };
	int r = procfs_children(fs, getpid(), getpid(), &found, NULL);

	vec_free(&found);
	return r != -ENOENT;
}

void children_free(struct children *c)
{
	if (!c)
		return;
	vec_free(&c->watched);
	map_free(&c->index);
	vec_free(&c->tids);
	vec_free(&c->found);
	vec_free(&c->all);
	free(c);
}

static bool has_ended(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

static struct image image_of(const struct children *c,
			     const struct proc_stat *stat)
{
	struct image image = { .code_start = stat->code_start,
			       .stack_start = stat->stack_start };
	struct stat exe;
	char path[32];

	/* In the midst of an exec the stack is there, and is moved once more. */
	if (image.code_start == 0)
		image.stack_start = 0;
	/* Not procfs_exe: it is compared with nothing but itself. */
	(void)snprintf(path, sizeof(path), "%d/exe", (int)stat->pid);
	if (!procfs_gone(c->fs, stat->pid) &&
	    fstatat(c->fs->root, path, &exe, 0) == 0) {
		image.device = exe.st_dev;
		image.inode = exe.st_ino;
	}
	return image;
}

/* Is @now what an exec has made of @before? What is not told proves nothing. */
static bool is_other(const struct image *before, const struct image *now)
{
	if (before->inode && now->inode &&
	    (before->inode != now->inode || before->device != now->device))
		return true;
	if (before->code_start > 1 && now->code_start > 1 &&
	    before->code_start != now->code_start)
		return true;
	return before->stack_start && now->stack_start &&
	       before->stack_start != now->stack_start;
}

/* A process that is ending loses its exe first: the old image still holds. */
static void remember_image(struct watched *w, const struct image *now)
{
	if (now->inode) {
		w->image.device = now->device;
		w->image.inode = now->inode;
	}
	if (now->code_start > 1)
		w->image.code_start = now->code_start;
	if (now->stack_start)
		w->image.stack_start = now->stack_start;
}

static int add(struct children *c, const struct proc_stat *stat,
	       const struct image *image)
{
	struct watched w = { .pid = stat->pid,
			     .parent = stat->parent,
			     .start = stat->start,
			     .waited_faults = stat->waited_faults,
			     .ended = has_ended(stat),
			     .image = *image };

	if (!vec_reserve(&c->watched, 1) ||
	    !map_put(&c->index, (uint64_t)w.pid, c->watched.n))
		return -ENOMEM;
	c->watched.at[c->watched.n++] = w;
	return 0;
}

static void take_out(struct children *c, size_t i)
{
	(void)map_remove(&c->index, (uint64_t)c->watched.at[i].pid);
	vec_take_out(&c->watched, i);
	/* An entry that is there already: this needs no memory. */
	if (i < c->watched.n)
		(void)map_put(&c->index, (uint64_t)c->watched.at[i].pid, i);
}

int children_watch(struct children *c, pid_t pid)
{
	struct proc_stat stat;
	struct image image;
	uint64_t i;
	int r;

	if (map_get(&c->index, (uint64_t)pid, &i)) {
		if (!c->watched.at[i].forgotten)
			return 0;
		take_out(c, (size_t)i);
	}
	r = procfs_stat(c->fs, pid, &stat, NULL);
	if (r)
		return r;
	if (has_ended(&stat))
		return OUT_GONE;
	image = image_of(c, &stat);
	return add(c, &stat, &image);
}

void children_forget(struct children *c, pid_t pid)
{
	uint64_t i;

	if (map_get(&c->index, (uint64_t)pid, &i))
		c->watched.at[i].forgotten = true;
}

static int tell(struct events *events, enum event_kind kind, pid_t pid,
		uint64_t time_ns)
{
	struct event event = { .kind = kind, .pid = pid, .time_ns = time_ns };

	if (kind == EVENT_EXIT)
		event.status = EVENT_NO_STATUS;
	return vec_push(events, event) ? 0 : -ENOMEM;
}

/* The first half, for one; *@ret_gone when it is no longer to be watched. */
static int look_at(struct children *c, struct watched *w, uint64_t now_ns,
		   struct events *events, bool *ret_gone)
{
	struct proc_stat stat;
	struct image image;
	bool had_ended = w->ended;
	int r;

	r = procfs_stat(c->fs, w->pid, &stat, NULL);
	*ret_gone = r == OUT_GONE || (r == 0 && stat.start != w->start);
	if (w->forgotten)
		return r < 0 ? r : 0;
	if (*ret_gone || (r == 0 && has_ended(&stat))) {
		w->ended = true;
		return had_ended ? 0 : tell(events, EVENT_EXIT, w->pid, now_ns);
	}
	if (r)
		return r < 0 ? r : 0; /* denied for once: nothing is known */
	/* A thread can bring a process back whose leader has ended: by exec. */
	w->ended = false;
	w->parent = stat.parent;
	w->waited |= w->waited_faults != stat.waited_faults;
	w->waited_faults = stat.waited_faults;
	image = image_of(c, &stat);
	if (!is_other(&w->image, &image)) {
		remember_image(w, &image);
		return r;
	}
	/* What is not known of the new one is no more what it was of the old. */
	r = tell(events, EVENT_EXEC, w->pid, now_ns);
	if (r == 0)
		w->image = image;
	return r;
}

/*
 * CLOCK_MONOTONIC of a start time, which counts suspended time as well. The same
 * start gives the same time: children and their parents, born within one tick of
 * the clock, are compared by it. So the zero moves for a suspension only, and not
 * with the noise of two clocks read one after the other.
 */
static uint64_t born_ns(struct children *c, uint64_t start, uint64_t now_ns)
{
	uint64_t asleep = nsec_since(clock_ns(CLOCK_BOOTTIME), clock_now());
	uint64_t born;

	if (nsec_since(asleep, c->asleep_ns) > ASLEEP_NOISE_NS)
		c->asleep_ns = asleep;
	if (start > UINT64_MAX / c->ns_per_tick)
		return now_ns;
	born = nsec_since(start * c->ns_per_tick, c->asleep_ns);
	return born < now_ns ? born : now_ns;
}

/* @stat is of a child of watched[@parent]; new, or known already. */
static int meet(struct children *c, size_t parent, const struct proc_stat *stat,
		uint64_t now_ns, struct events *events)
{
	struct event event = {
		.kind = EVENT_FORK,
		.pid = stat->pid,
		.parent = c->watched.at[parent].pid,
		.time_ns = born_ns(c, stat->start, now_ns),
	};
	struct image image;
	bool other;
	int r;

	if (map_get(&c->index, (uint64_t)stat->pid, NULL))
		return 0;
	image = image_of(c, stat);
	/* Who hears of a FORK takes the parent's image for the child's. */
	other = is_other(&c->watched.at[parent].image, &image);
	if (!vec_reserve(events, 2))
		return -ENOMEM;
	r = add(c, stat, &image);
	if (r)
		return r;
	(void)vec_push(events, event);
	if (has_ended(stat))
		return tell(events, EVENT_EXIT, stat->pid, now_ns);
	return other ? tell(events, EVENT_EXEC, stat->pid, now_ns) : 0;
}

/* The children of all threads of watched[@i]. -ENOENT: no such files. */
static int look_into_files(struct children *c, size_t i, uint64_t now_ns,
			   struct events *events)
{
	pid_t pid = c->watched.at[i].pid;
	struct proc_stat stat;
	int r;

	if (c->watched.at[i].forgotten)
		return 0;
	r = procfs_tids(c->fs, pid, &c->tids, NULL);
	if (r)
		return r < 0 ? r : 0;
	for (size_t t = 0; t < c->tids.n; t++) {
		r = procfs_children(c->fs, pid, c->tids.at[t], &c->found, NULL);
		if (r > 0)
			continue;
		if (r < 0)
			return r;
		for (size_t k = 0; k < c->found.n; k++) {
			r = procfs_stat(c->fs, c->found.at[k], &stat, NULL);
			if (r == 0)
				r = meet(c, i, &stat, now_ns, events);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* By age, so that a parent comes before its children whatever their numbers. */
static int by_start(const void *a, const void *b)
{
	const struct proc_stat *x = a;
	const struct proc_stat *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int look_at_all(struct children *c, uint64_t now_ns,
		       struct events *events)
{
	size_t before;
	uint64_t parent;
	int r;

	/* What is known of strangers mostly holds: new numbers are what counts. */
	r = c->scans++ % SCAN_WHOLE ? procfs_update(c->fs, &c->all, NULL)
				    : procfs_snapshot(c->fs, &c->all, NULL);
	if (r)
		return r < 0 ? r : 0;
	if (c->all.n > 0)
		qsort(c->all.at, c->all.n, sizeof(*c->all.at), by_start);
	/*
	 * Once is enough but where a parent and its child were born within a
	 * tick and the numbers went around between them.
	 */
	do {
		before = c->watched.n;
		for (size_t i = 0; i < c->all.n; i++) {
			if (!map_get(&c->index, (uint64_t)c->all.at[i].parent,
				     &parent) ||
			    c->watched.at[parent].forgotten)
				continue;
			r = meet(c, (size_t)parent, &c->all.at[i], now_ns,
				 events);
			if (r)
				return r;
		}
	} while (c->watched.n != before);
	return 0;
}

/* Whoever has waited for one of those that are watched has lost it by that. */
static void note_gone(struct children *c, const struct watched *gone)
{
	uint64_t i;

	if (map_get(&c->index, (uint64_t)gone->parent, &i))
		c->watched.at[i].lost = true;
}

/*
 * Has it waited for a child that was never seen? A parent and its children are not
 * looked at in the same moment, and the account grows a moment before the child goes:
 * so of one child, the one may be seen in one look and the other in the next, but then
 * each without the other.
 */
static bool has_missed(struct watched *w)
{
	bool missed = w->grew_alone && (w->waited || !w->lost);
	bool settled = w->grew_alone && !missed;
	bool due = w->went_alone && w->waited && !w->lost;

	w->grew_alone = w->waited && !w->lost && !due;
	w->went_alone = w->lost && !w->waited && !settled;
	w->waited = w->lost = false;
	return missed;
}

static int find_missed(struct children *c, uint64_t now_ns,
		       struct events *events)
{
	struct event lost = { .kind = EVENT_LOST, .time_ns = now_ns };

	for (size_t i = 0; i < c->watched.n; i++)
		c->missed += has_missed(&c->watched.at[i]);
	if (c->missed == c->missed_told ||
	    (c->told_ns && now_ns < c->told_ns + TELL_NS))
		return 0;
	c->missed_told = c->missed;
	c->told_ns = now_ns;
	return vec_push(events, lost) ? 0 : -ENOMEM;
}

uint64_t children_missed(const struct children *c)
{
	return c->missed;
}

int children_look(struct children *c, uint64_t now_ns, struct events *events)
{
	bool gone;
	int r;

	for (size_t i = 0; i < c->watched.n;) {
		r = look_at(c, &c->watched.at[i], now_ns, events, &gone);
		if (r)
			return r;
		if (gone) {
			note_gone(c, &c->watched.at[i]);
			take_out(c, i);
		} else {
			i++;
		}
	}
	r = find_missed(c, now_ns, events);
	if (r)
		return r;
	for (size_t i = 0; i < c->watched.n && !c->no_files; i++) {
		r = look_into_files(c, i, now_ns, events);
		if (r == -ENOENT)
			c->no_files = true;
		else if (r)
			return r;
	}
	return c->no_files && c->watched.n ? look_at_all(c, now_ns, events) : 0;
}
