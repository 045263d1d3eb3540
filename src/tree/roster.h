/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_ROSTER_H
#define TREE_ROSTER_H

#include "base/map.h"
#include "base/vec.h"
#include "tree/proctree.h"

/*
 * The inside of the tree, for proctree.c only: the records of the members, who
 * of them lives, and the changes that wait to be taken. Who joins and who leaves
 * when is not decided here.
 *
 * Invariants:
 *  1. by_serial has each record that is kept; by_pid, for each number, that of
 *     the newest one to have it, left or not.
 *  2. The list of the living is in the order of joining, so parents first.
 *  3. There is always room for a LEFT of each of the living: leaving cannot fail.
 */
#define ROSTER_NONE UINT32_MAX

/*
 * A birth that is worked out from a start time is too early by up to a clock
 * tick of 10 ms, and by what the clocks' offset is off.
 */
#define ROSTER_SLACK_NS 20000000ull

struct node {
	struct member m;
	uint64_t known_ns; /* when its number was known to be its own */
	uint64_t since_ns; /* it did not live before; 0 when unknown */
	uint64_t exec_ns;  /* of its last EXEC */
	uint32_t older;    /* serial of who had its number before */
	pid_t parent_pid;
	uint32_t round; /* the last snapshot that showed it */
	uint32_t prev;  /* among the living */
	uint32_t next;  /* among the living, or the unused */
	bool told;      /* an event told its birth: born_ns is exact */
};

struct proctree {
	struct VEC(struct node) nodes;
	uint32_t unused; /* the first of them */
	uint32_t first;  /* of the living */
	uint32_t last;
	uint32_t alive;
	uint32_t count;
	struct map by_serial;
	struct map by_pid;
	struct map tombs; /* pid and start of those that left -> born_ns */

	struct VEC(struct change) changes;
	size_t head; /* the first not taken */
	uint64_t pushed;
	uint64_t taken;
	bool rescan; /* owed, once rescan_at changes have been taken */
	uint64_t rescan_at;
	uint64_t rescan_ns;

	uint32_t round; /* counts the snapshots */
};

/* Any record that is kept, by its serial; NULL: none. Valid until a join. */
struct node *roster_get(const struct proctree *tree, uint32_t serial);

/* The newest record of a number, left or not; that of the living one only. */
struct node *roster_newest(const struct proctree *tree, pid_t pid);
struct node *roster_living(const struct proctree *tree, pid_t pid);

static inline bool roster_left(const struct node *node)
{
	return node->m.state == MEMBER_LEFT;
}

/* Room for @more changes, besides the LEFT of each of the living. */
bool roster_reserve(struct proctree *tree, size_t more);

/* A change. Needs the room. */
void roster_push(struct proctree *tree, enum change_kind kind, uint32_t serial,
		 uint64_t time_ns);

/* A RESCAN after all the changes there are, if none is owed. Returns @r. */
int roster_rescan(struct proctree *tree, uint64_t time_ns, int r);

/*
 * A new member, as @as describes it (not a record of the tree's: they may move).
 * Nobody living has its number. Returns false, and nothing has changed, without
 * memory or serials.
 */
bool roster_join(struct proctree *tree, const struct node *as,
		 uint64_t time_ns);

/* A living member leaves, at @time_ns or at its birth if that is later. */
void roster_leave(struct proctree *tree, struct node *node, uint64_t time_ns);

/* Is @proc, of a snapshot, one that has left: a zombie, or read before it went? */
bool roster_is_buried(const struct proctree *tree, const struct procstat *proc);

/*
 * Of the marks by which those that left are known, keep those that the snapshot
 * shows, and those of members born after it was begun: the others cannot be in a
 * later one.
 */
void roster_bury(struct proctree *tree, const struct procstat *procs, size_t n,
		 uint64_t taken_ns);

#endif
