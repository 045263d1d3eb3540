/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TREE_PROCTREE_H
#define TREE_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/event.h"

/*
 * Who is alive, and who is whose child: the tree as the events tell it, mended
 * by snapshots of /proc. Pure: no system call, no clock.
 *
 * A member is one process from its birth (or from when it was taken in) to its
 * end. It has a serial number of its own, never used again, because a pid is:
 * 0, 1, 2, ... in the order of joining. Its parent in the tree is the process
 * that forked it, whatever /proc says later.
 *
 * A process joins when it is added as a root, when a member forks it, or when a
 * snapshot shows it with a member as its parent. A snapshot cannot tell of a
 * daemon whose parent has gone: only events can. Neither can tell of a child
 * that a root made with CLONE_PARENT: it is the child of the root's parent. Who
 * knows better puts the right parent in.
 *
 * Invariants:
 *  1. At most one member that has not left has a given pid.
 *  2. A member's parent joined before it: parent serial < own serial.
 *  3. Each member joins once and leaves at most once, in this order, whatever
 *     the events say. Two snapshots in a row that agree make the tree agree.
 */
struct proctree;

#define PROCTREE_NONE UINT32_MAX

enum member_state {
	MEMBER_ALIVE,
	MEMBER_ENDING, /* its leader ended; threads of it may live on */
	MEMBER_LEFT,
};

struct member {
	uint32_t serial;
	uint32_t parent; /* serial; PROCTREE_NONE for a root */
	pid_t pid;
	pid_t fork_tid; /* the parent's thread that forked it; 0 unknown */
	uint64_t start; /* in clock ticks, field 22 of stat; 0 unknown */
	uint64_t born_ns; /* when it was born, or taken in where that is unknown */
	/* Born under our eyes, at born_ns (give or take a tick if found_late). */
	bool born_seen;
	bool found_late; /* by a snapshot after the first: its FORK was missed */
	uint64_t left_ns;   /* when it left, as far as could be told */
	uint64_t ending_ns; /* the time of its last EXIT event; 0 none */
	bool has_status;    /* an EXIT event came */
	uint32_t status;    /* as wait(2) gives it, when has_status */
	uint32_t execs;     /* how many EXEC events it had */
	enum member_state state;
};

/* One process of a snapshot of /proc. */
struct procstat {
	pid_t pid;
	pid_t parent;
	uint64_t start;   /* clock ticks */
	uint64_t born_ns; /* start on CLOCK_MONOTONIC, as well as can be told */
};

/*
 * What happened to the tree, in order. The caller takes one after another with
 * proctree_next. RESCAN asks for a snapshot: take one of all of /proc, *after*
 * the event source has been drained, and give it to proctree_snapshot. A LOST
 * that comes after RESCAN was taken asks anew, even if before the snapshot.
 */
enum change_kind {
	CHANGE_JOINED,
	CHANGE_EXEC, /* a new image: all that is known of the old one is void */
	CHANGE_ENDING, /* look at the pidfd: is it gone? then call proctree_gone */
	CHANGE_LEFT,
	CHANGE_RESCAN,
};

struct change {
	enum change_kind kind;
	uint32_t serial;  /* of whom; PROCTREE_NONE for RESCAN */
	uint64_t time_ns; /* JOINED by a snapshot: that of the snapshot */
};

/* Returns NULL when memory is gone. */
struct proctree *proctree_new(void);
void proctree_free(struct proctree *tree);

/*
 * Take in @pid as a root, if no living member has that number (one with another
 * start time is another process: it leaves).
 *
 * @start   its start time, 0 when unknown
 *
 * The FORK of a root that comes after it was added tells its birth; it is not
 * taken for that of another process with the same number.
 *
 * Returns the serial (the old one where it is a member already), or
 * PROCTREE_NONE when memory is gone.
 */
uint32_t proctree_add(struct proctree *tree, pid_t pid, uint64_t start,
		      uint64_t born_ns, bool born_seen);

/*
 * Take an event. Those of strangers are forgotten.
 *
 * FORK of a number that a living member has means that its end was missed: it
 * leaves first, at its EXIT or at the time of the FORK. Repetitions (same pid,
 * parent and time), and FORKs older than how the member with that number came
 * in, are no news; one that a snapshot was faster than tells the birth. The
 * parent may have left, if that was after the FORK: a daemon's parent is often
 * gone before the news of its child is read.
 * EXEC of one that is ENDING (a thread other than the leader did it): it is
 * ALIVE again, without a status.
 * EXIT of one that has left, not after that, still tells its status. EXIT of one that
 * is ENDING is a repetition, or, when later, the true one: the first was that
 * of the former owner of the number, or of a leader whom an exec replaced.
 * LOST becomes one CHANGE_RESCAN (not one more before that is taken).
 *
 * O(1). Returns 0 or -ENOMEM (serials may be used up, too): then a RESCAN is
 * owed, so that nothing is lost for good.
 */
int proctree_event(struct proctree *tree, const struct event *event);

/*
 * Compare with a snapshot of all processes, in any order: those missing leave
 * (at @now_ns), those whose start time shows another process leave (at the birth
 * of that) and, where their parent is a member, join anew; new children (and
 * their children) of members join, found_late unless @first. A member in the
 * snapshot whose start was unknown gets it. A member born after @taken_ns (when
 * the snapshot was begun) is not missing because it is not in it; what that says
 * of its number counts when the start time is the same.
 * A member that has left does not come back, but its number may: zombies may be
 * in the snapshot.
 *
 * O(@n + living members). Returns 0 or -ENOMEM (then another RESCAN is owed).
 */
int proctree_snapshot(struct proctree *tree, const struct procstat *procs,
		      size_t n, uint64_t taken_ns, uint64_t now_ns, bool first);

/* The process is certainly gone (pidfd, ESRCH). Harmless on one that has left. */
void proctree_gone(struct proctree *tree, uint32_t serial, uint64_t now_ns);

/*
 * A member that has left: all that is wanted of it has been taken, its record
 * may be dropped (proctree_member gives NULL then). Harmless on any other. Not
 * before the events up to its left_ns have been given: without the record, its
 * late EXIT is a stranger's, and so is a child whose FORK comes after its end.
 */
void proctree_forget(struct proctree *tree, uint32_t serial);

/* Tell a member's start time when it is known. */
void proctree_identify(struct proctree *tree, uint32_t serial, uint64_t start);

/* The next change, in order; false when there is none. */
bool proctree_next(struct proctree *tree, struct change *ret);

/* The member, valid until the next call that changes the tree; NULL: no such. */
const struct member *proctree_member(const struct proctree *tree,
				     uint32_t serial);

/* The living (not left) member with this pid, or PROCTREE_NONE. */
uint32_t proctree_find(const struct proctree *tree, pid_t pid);

/* How many ever joined (serials are below it), and how many have not left. */
uint32_t proctree_count(const struct proctree *tree);
uint32_t proctree_alive(const struct proctree *tree);

#endif
