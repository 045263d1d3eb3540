/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNIT_FAKEWORLD_H
#define UNIT_FAKEWORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "tree/proctree.h"

/*
 * A machine that is made up: processes fork, exec and end as chance has it,
 * numbers are used again, orphans go to init, zombies wait. What the kernel would
 * tell of it is queued, and can be told late, twice, out of order, or not at all.
 *
 * Time goes in steps that are longer than a clock tick, so that births differ.
 */

#define STEP_NS 30000000ull
#define INIT 0 /* index of pid 1 */
#define ROOT 1

enum life {
	RUNS,
	LEADERLESS,
	ZOMBIE,
	REAPED
};

struct proc {
	pid_t pid;
	size_t forker;
	size_t parent; /* who inherits it */
	uint64_t born_ns;
	enum life life;
	uint32_t status;
	bool ours;  /* really a descendant of the root */
	bool known; /* as far as what was told can tell */
	unsigned joined;
};

struct news {
	struct event event;
	size_t proc; /* of whom */
};

/* What the caller keeps of a member. */
struct held {
	size_t proc; /* its pidfd; SIZE_MAX: none could be had */
	bool joined;
	bool left;
	bool forgotten;
	uint64_t left_at; /* delivered events */
};

struct world {
	uint64_t random;
	uint64_t now_ns;
	pid_t pids;     /* numbers are below */
	pid_t next_pid; /* in order, as Linux gives them; 0: at random */
	struct VEC(struct proc) procs;
	struct VEC(struct news) queue;
	struct VEC(struct held) held;
	size_t head;
	uint64_t delivered;
	size_t oldest; /* the first serial not forgotten */
	bool zombies;  /* are in the snapshots */
	bool lossy;
	struct proctree *tree;
};

static inline uint64_t chance(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % below;
}

static inline bool is_alive(const struct proc *p)
{
	return p->life == RUNS || p->life == LEADERLESS;
}

/* The process that has a number now, zombies too; SIZE_MAX: nobody. */
static inline size_t owner(const struct world *w, pid_t pid)
{
	for (size_t i = w->procs.n; i-- > 0;)
		if (w->procs.at[i].pid == pid && w->procs.at[i].life != REAPED)
			return i;
	return SIZE_MAX;
}

static inline pid_t free_pid(struct world *w)
{
	for (pid_t tries = 0; tries < 4 * w->pids; tries++) {
		pid_t pid = 3 + (pid_t)chance(w, (uint64_t)w->pids - 3);

		if (w->next_pid) {
			pid = w->next_pid++;
			if (w->next_pid == w->pids)
				w->next_pid = 3;
		}
		if (owner(w, pid) == SIZE_MAX)
			return pid;
	}
	return 0;
}

/* --- the machine ------------------------------------------------------------ */

static inline void tell(struct world *w, enum event_kind kind, size_t proc)
{
	const struct proc *p = &w->procs.at[proc];
	struct news news = { .event = { .kind = kind,
					.pid = p->pid,
					.status = p->status,
					.time_ns = w->now_ns },
			     .proc = proc };

	if (kind == EVENT_FORK)
		news.event.parent = w->procs.at[p->forker].pid;
	assert_true(vec_push(&w->queue, news));
}

static inline void do_fork(struct world *w, size_t forker)
{
	struct proc p = { .pid = free_pid(w),
			  .forker = forker,
			  .parent = forker,
			  .born_ns = w->now_ns,
			  .ours = w->procs.at[forker].ours };

	if (!p.pid)
		return;
	assert_true(vec_push(&w->procs, p));
	tell(w, EVENT_FORK, w->procs.n - 1);
}

static inline void do_end(struct world *w, size_t proc)
{
	struct proc *p = &w->procs.at[proc];

	if (p->life == RUNS) {
		p->status = (uint32_t)chance(w, 256) << 8;
		tell(w, EVENT_EXIT, proc);
	}
	p->life = p->parent == INIT ? REAPED : ZOMBIE;
	for (size_t i = 0; i < w->procs.n; i++) {
		struct proc *child = &w->procs.at[i];

		if (child->parent != proc || i == proc)
			continue;
		child->parent = INIT;
		if (child->life == ZOMBIE)
			child->life = REAPED;
	}
}

/* Something happens to some process. */
static inline void step(struct world *w)
{
	size_t proc = ROOT + chance(w, w->procs.n - ROOT);
	struct proc *p = &w->procs.at[proc];
	uint64_t what = chance(w, 100);

	w->now_ns += STEP_NS * (1 + chance(w, 50));
	if (p->life == ZOMBIE && what < 50) {
		p->life = REAPED;
	} else if (is_alive(p) && what < 45) {
		do_fork(w, proc);
	} else if (is_alive(p) && what < 60) {
		/* By another thread than the leader, when that ended before. */
		p->life = RUNS;
		tell(w, EVENT_EXEC, proc);
	} else if (p->life == RUNS && what < 70) {
		p->status = 0;
		tell(w, EVENT_EXIT, proc);
		p->life = LEADERLESS;
	} else if (is_alive(p) && proc != ROOT) {
		do_end(w, proc);
	} else if (what < 5) {
		do_fork(w, INIT);
	}
}

/* --- the way of the news --------------------------------------------------- */

/* May @b be told before @a, which happened before it? */
static inline bool may_swap(const struct event *a, const struct event *b)
{
	/* EXIT is told after the number can be used again. */
	if (a->kind == EVENT_EXIT && b->kind == EVENT_FORK && a->pid == b->pid)
		return a->pid != b->parent;
	if (a->kind == EVENT_LOST || b->kind == EVENT_LOST)
		return false;
	return a->pid != b->pid && a->pid != b->parent && a->parent != b->pid &&
	       (!a->parent || a->parent != b->parent);
}

/* Mix up what was told since @from, and tell some of it twice. */
static inline void disturb(struct world *w, size_t from)
{
	for (size_t k = 0; from < w->queue.n && k < w->queue.n - from; k++) {
		size_t i = from + chance(w, w->queue.n - from);
		struct news *at = &w->queue.at[i];

		if (i + 1 < w->queue.n &&
		    may_swap(&at[0].event, &at[1].event)) {
			struct news first = at[0];

			at[0] = at[1];
			at[1] = first;
		}
	}
	if (from < w->queue.n && !chance(w, 3)) {
		struct news again =
			w->queue.at[from + chance(w, w->queue.n - from)];

		assert_true(vec_push(&w->queue, again));
	}
}

/* A run of events is dropped; LOST stands in its place. */
static inline void drop(struct world *w, size_t from)
{
	struct news lost = { .event = { .kind = EVENT_LOST,
					.time_ns = w->now_ns } };

	w->queue.n = from;
	assert_true(vec_push(&w->queue, lost));
}

#endif
