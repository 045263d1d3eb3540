/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_TREE_H
#define SESSION_TREE_H

#include "session_internal.h"

/* Where news of processes come from, and where they go. */

/*
 * session_source.c: where events come from. 0 or a negative errno with ff->err told.
 */

/* What can be had before it is known what is to be profiled. */
int source_open(struct forkflame *ff);

/* What can be had for @command, which waits to be started; 0: for others. */
int source_settle(struct forkflame *ff, pid_t command);

/* The sources that look: do so if it is time, and when that is next. */
int source_look(struct forkflame *ff, uint64_t now_ns);
uint64_t source_look_ns(const struct forkflame *ff);

/*
 * A member has joined (@told: by its FORK, not by a snapshot); one that has left need not be known
 * any more.
 */
void source_follow(struct forkflame *ff, const struct process *p, bool told);
void source_forget(struct forkflame *ff, const struct process *p);

/* The run has ended. */
void source_close(struct forkflame *ff);

/* "connector", ... */
const char *source_name(const struct forkflame *ff);

/* session_events.c: from events and snapshots to what happens to processes. */

/* Take all events that are there, and do what follows from them. */
int session_take_events(struct forkflame *ff);

/* Take a snapshot of /proc into the tree and do what follows. */
int session_rescan(struct forkflame *ff);

/*
 * Compare the tree with /proc if it is time (about once a second; less often where
 * that is dear), whether news were lost or not.
 */
int session_reconcile(struct forkflame *ff, uint64_t now_ns);

/*
 * The last member has left. Is there somebody whom it, or another one, left behind and
 * no look has shown? Returns whether, and then he is a member without a parent; or a
 * negative errno.
 */
int session_find_left(struct forkflame *ff);

/* Take in the roots that were asked for, and their descendants. */
int session_scan_roots(struct forkflame *ff);

/* session_oncpu.c: who runs, by the kernel's records. */

/* Open them: of everybody, or of @command alone; 0: of those that will join. */
int session_open_oncpu(struct forkflame *ff, pid_t command);

/* @p joins; its records are those of who forked it (@heir_of) where that is given. */
int session_follow_oncpu(struct forkflame *ff, struct process *p,
			 const struct process *heir_of);

/* It is about to be sampled: it has records, or nobody has. */
void session_need_oncpu(struct forkflame *ff, struct process *p);

/* session_opening.c: switch records that come while the run goes on. */

/*
 * Have those of everybody opened by another thread, without waiting for it; where
 * they may not be had, or are needed at once, as session_open_oncpu and returning
 * what that returns. Until they come ff->oncpu is NULL: run counts are the source.
 */
int session_begin_oncpu(struct forkflame *ff);

/*
 * Take them if they have come: every thread is unknown, and due. Returns 0, also when
 * there are none (ff->oncpu_reason tells why), or -errno of the loop.
 */
int session_take_oncpu(struct forkflame *ff);

/* When to look for them next (CLOCK_MONOTONIC; UINT64_MAX: never). */
uint64_t session_oncpu_ns(const struct forkflame *ff);

/* Have the loop watch them. Returns 0 or -errno. */
int session_watch_oncpu(struct forkflame *ff);

void session_close_oncpu(struct forkflame *ff);

/* session_kin.c: members whose parent, for the kernel, is a stranger. */

/* An image by which a copy is known. */
struct kin_image {
	uint64_t code_start, stack_start;
	pid_t pid;      /* who is taken for the parent of a copy */
	pid_t beside;   /* only a child of this one is meant; 0: any */
	uint64_t start; /* and not an older one */
};
struct kin {
	struct VEC(struct kin_image) images;
	struct map by_image;
};

/* A FORK that names us as the parent names who it can have been instead. */
void kin_event(struct forkflame *ff, struct event *event);

/* One that we are the parent of is let go, if @pid is such a one. */
void kin_left(struct forkflame *ff, pid_t pid);

/* By what members are known in a snapshot; for kin_parent. 0 or -ENOMEM. */
int kin_gather(const struct forkflame *ff, const struct proc_stats *stats,
	       struct kin *ret);
void kin_free(struct kin *kin);

/* The parent of one in the snapshot: as the kernel has it, or as it must have been. */
pid_t kin_parent(struct forkflame *ff, const struct kin *kin,
		 const struct proc_stat *stat);

/* session_watch.c: lives, told as they happen; nothing where nobody wants that. */

/* After @p joined, or exec'd, and its image was looked at for the first time. */
void watch_join(struct forkflame *ff, struct process *p,
		const struct member *m);
void watch_exec(struct forkflame *ff, struct process *p, uint64_t time_ns);

/* What is in the image of @p became known, or that it was asked for. */
void watch_python(struct forkflame *ff, struct process *p);
void watch_leave(struct forkflame *ff, struct process *p);
void watch_lost(struct forkflame *ff);
void watch_begin(struct forkflame *ff);
void watch_end(struct forkflame *ff);

#endif
