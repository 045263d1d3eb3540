/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/following.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

/*
 * While it is open, so many births of strangers are kept; it is open for as
 * long as a look at /proc takes.
 */
#define BIRTHS_MAX 65536

struct birth {
	pid_t pid, parent;
	uint64_t time_ns;
};

struct following {
	struct map pids; /* to the time of the FORK; 0: by following_add */
	bool open;
	/*
	 * Memory ran out, or BIRTHS_MAX did: who is whose child is not known any
	 * more, so everything is wanted from then on.
	 */
	bool lost;
	struct VEC(struct birth) births;
	uint64_t strangers;
};

struct following *following_new(void)
{
	return calloc(1, sizeof(struct following));
}

void following_free(struct following *f)
{
	if (!f)
		return;
	map_free(&f->pids);
	vec_free(&f->births);
	free(f);
}

static bool has(const struct following *f, pid_t pid)
{
	return map_get(&f->pids, (uint64_t)pid, NULL);
}

static void put(struct following *f, pid_t pid, uint64_t time_ns)
{
	if (!map_put(&f->pids, (uint64_t)pid, time_ns))
		f->lost = true;
}

/* A stranger's child: whose it is may turn out later. */
static void keep(struct following *f, const struct event *event)
{
	struct birth birth = { .pid = event->pid,
			       .parent = event->parent,
			       .time_ns = event->time_ns };

	if (f->births.n >= BIRTHS_MAX || !vec_push(&f->births, birth))
		f->lost = true;
}

bool following_wants(struct following *f, const struct event *event)
{
	bool wanted = f->open || f->lost || event->kind == EVENT_LOST;

	if (event->kind == EVENT_FORK) {
		if (has(f, event->parent))
			put(f, event->pid, event->time_ns);
		else if (f->open && !f->lost)
			keep(f, event);
	}
	/* A FORK into a number that is followed tells that its owner has gone. */
	wanted = wanted || f->lost || has(f, event->pid);
	f->strangers += !wanted;
	return wanted;
}

void following_add(struct following *f, pid_t pid)
{
	if (!has(f, pid))
		put(f, pid, 0);
}

void following_drop(struct following *f, pid_t pid, uint64_t until_ns)
{
	uint64_t time_ns;

	if (map_get(&f->pids, (uint64_t)pid, &time_ns) && time_ns <= until_ns)
		(void)map_remove(&f->pids, (uint64_t)pid);
}

void following_open(struct following *f)
{
	f->open = true;
}

void following_close(struct following *f)
{
	/* In the order of their births: once over them is enough. */
	for (size_t i = 0; i < f->births.n; i++)
		if (has(f, f->births.at[i].parent))
			put(f, f->births.at[i].pid, f->births.at[i].time_ns);
	f->open = false;
	f->births.n = 0;
}

size_t following_count(const struct following *f)
{
	return f->pids.n;
}

uint64_t following_strangers(const struct following *f)
{
	return f->strangers;
}
