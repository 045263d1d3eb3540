/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_LIVES_H
#define SESSION_LIVES_H

#include "linux/clock.h"
#include "session_internal.h"

/* The lives of processes and of their threads. */

/* session_process.c: the lives of processes. */

/* The process with this serial, or NULL. */
struct process *process_at(const struct forkflame *ff, uint32_t serial);

/* A member of the tree: take it in, and if it was just born, sample it at once. */
int process_join(struct forkflame *ff, const struct member *m);

/* A new program: all that is known of the old one ends here. */
int process_exec(struct forkflame *ff, struct process *p, uint64_t time_ns);

/* Follow an EXEC that was put off: the image is whole by now, or never will be. */
int process_exec_late(struct forkflame *ff, struct process *p, uint64_t now_ns);

/* It has left the tree. */
void process_leave(struct forkflame *ff, struct process *p,
		   const struct member *m);

/* A pidfd said that the process has ended. */
void process_gone(struct forkflame *ff, struct process *p);

/* Settle the accounts of a process at @end_ns: it ended, or the run does. */
void process_settle(struct forkflame *ff, struct process *p, uint64_t end_ns);

/* What counts for the whole process in the summary. */
enum verdict process_verdict(const struct process *p);

void process_free(struct forkflame *ff, struct process *p);

/* Before the run began: all of those have the same birth. */
static inline bool process_was_there(const struct forkflame *ff,
				     const struct process *p)
{
	return p->born_ns <= ff->start_ns && p->pid != ff->command;
}

static inline struct image *process_image(const struct process *p)
{
	return p->images.at[p->images.n - 1];
}

/*
 * Has the list of its threads been as it is for some time? Then whether it still is
 * is told with each stack (thread_read), at no call of its own. Only where switch
 * records tell of threads that are not in it. Where the kernel reads stacks (each tells
 * which thread state it is of), the list is compared now and then all the same.
 */
static inline bool process_is_calm(const struct forkflame *ff,
				   const struct process *p)
{
	return ff->oncpu && p->walked && !process_image(p)->second_codes &&
	       ff->tick > p->moved_tick + CALM_TICKS &&
	       (!ff->kernel.frames ||
		clock_now() < p->listed_ns + KERNEL_LIST_NS);
}

/* The interpreter that a thread state is of. */
static inline const struct runtime *seat_runtime(const struct thread *t,
						 const struct seat *seat)
{
	const struct image *image = process_image(t->process);

	return seat->second ? &image->second_rt : &image->rt;
}

/* What it is called: its title, or the command line that it was started with. */
static inline uint32_t process_command(const struct process *p)
{
	return p->title ? p->title : process_image(p)->command;
}

/* That of its thread states that it runs in, by the newest reading. */
static inline struct seat *thread_entered(struct thread *t)
{
	return t->entered && t->entered <= t->below.n
		       ? &t->below.at[t->entered - 1]
		       : &t->seat;
}

/* session_charge.c: what processes are charged with. */

/* Book a charge of one of its threads. */
void process_charge(struct forkflame *ff, struct thread *t,
		    const struct charge *charge);

/* It is no passer-by: what was held back counts. */
void process_mature(struct forkflame *ff, struct process *p);

/* It was only on its way to an exec: none of its samples counts. */
void process_take_back(struct forkflame *ff, struct process *p);

/* session_image.c: program images; is there a Python in one, and which. */

/* NULL is fine. */
void image_drop(struct image *image);

/* Give @p the image that it inherited; or a new one of its own. 0 or -ENOMEM. */
int process_share_image(struct process *p, struct image *image);
int process_add_image(struct forkflame *ff, struct process *p);

/* Look at the image of @p; or look once more after a time that grows. */
void process_probe(struct forkflame *ff, struct process *p);
void process_probe_again(struct forkflame *ff, struct process *p);

/* A Python is in it: its threads are sampled from now on. */
void process_begin_sampling(struct forkflame *ff, struct process *p);

/* It has left, and its image had not been looked at: what can still be told. */
void process_judge_late(struct forkflame *ff, struct process *p);

/* session_elf.c: what is in a file, once per file. */

/*
 * Look at the mappings of @p for an interpreter. Returns as probe_locate, with
 * *@ret set likewise; *@ret_alone: of all that is mapped it is the only one.
 */
int session_locate(struct forkflame *ff, struct process *p, struct runtime *ret,
		   bool *ret_alone);

/*
 * Look for another interpreter beside @first, of another file (or another loading of
 * it), that runs something. Returns 0 with *@ret; OUT_NOT_PYTHON: there is none; or
 * what looking came to.
 */
int session_locate_second(struct forkflame *ff, struct process *p,
			  const struct runtime *first, struct runtime *ret);

/*
 * A program may live shorter than it takes to read its mappings. Is its file one
 * that is known to hold no Python? One look, a few microseconds.
 *
 * Returns true with *@ret_name the string id of its name.
 */
bool session_first_look(struct forkflame *ff, pid_t pid, uint32_t *ret_name);

/* session_names.c: what threads and processes are called. */

/*
 * A Python may write a title over its arguments whenever it likes (setproctitle):
 * look from now on, more and more seldom; and now, if it has not just been done.
 */
void session_watch_title(struct forkflame *ff, struct process *p);
void session_look_at_title(struct forkflame *ff, struct process *p,
			   uint64_t now_ns);

/* TODO_TITLE. */
void session_title_todo(struct forkflame *ff, struct process *p,
			struct todo todo, uint64_t now_ns);

/* Has it become another program, of which the news has not been followed yet? */
bool session_is_another_program(const struct forkflame *ff,
				const struct process *p);

/*
 * The name that the program gave the thread (threading.Thread.name); where that
 * cannot be had the kernel's; empty when there is none either. No thread may be
 * held. *@to is cleared first.
 */
void session_thread_name(struct forkflame *ff, struct thread *t,
			 struct str *to);

/* session_thread.c: threads, their accounts, and reading their stacks. */

/*
 * Bring the threads of @p up to date with the interpreter's list. Cheap when it
 * has not changed.
 */
int process_refresh(struct forkflame *ff, struct process *p);

/*
 * The thread of a process that was just forked, from its parent's thread that
 * forked it. NULL when that is not known, or memory is gone.
 */
struct thread *thread_inherit(struct forkflame *ff, struct process *p,
			      const struct process *parent);

/* The thread with this number, or NULL. */
struct thread *thread_of(const struct forkflame *ff, pid_t tid);

/* It ended at @end_ns, or is let go. Frees it. */
void thread_end(struct forkflame *ff, struct thread *t, uint64_t end_ns);

/* It was found to have ended. Frees it. */
void thread_lost(struct forkflame *ff, struct thread *t);

/* The newest stack also answers for the next @ticks ticks. */
void thread_repeat(struct forkflame *ff, struct thread *t, uint64_t ticks);

/* Put it in the list of those to be looked at in the next tick. */
void thread_make_due(struct forkflame *ff, struct thread *t);

/* The scheduler's account; 0 or an outcome. */
int thread_account(struct forkflame *ff, struct thread *t,
		   struct sched_account *ret);

/* session_seat.c: the thread states of a thread, and its stack. */

/*
 * In a walk of the list: one more of @t, the newest interpreter's first; @second,
 * of the image's second interpreter.
 */
int thread_seat(struct forkflame *ff, struct thread *t,
		const struct pythread *th, bool second);

/* After it: those that were not met are no more. */
void thread_drop_seats(struct thread *t);

/*
 * Does the thread state still belong to thread @tid? 0; OUT_UNKNOWN: it does not; else
 * what reading came to.
 */
int seat_check_owner(const struct mem *mem, const struct layout *layout,
		     const struct seat *seat, pid_t tid);

/*
 * Read the stack of a thread that does not run into ff->raw, and capture its
 * code objects. *@ret_n frames, *@ret_cut when deeper ones were left out.
 */
int thread_read(struct forkflame *ff, struct thread *t, size_t *ret_n,
		bool *ret_cut);

/* It may have run while it was read: what was learnt of code objects is not believed. */
void thread_distrust(struct thread *t);

/*
 * What the interpreter's lock is to the thread, and what it waits for, while it
 * stands: into @seen, whose stack and run are known. Where that cannot be had it is
 * unknown.
 */
void thread_look_around(struct forkflame *ff, struct thread *t,
			struct seen *seen);

/* session_stack.c: what was read, as a stack. */

/*
 * What was read, as a stack: STACKS_NONE without memory. Needs no target any more.
 */
uint32_t thread_decode(struct forkflame *ff, struct thread *t, size_t n,
		       bool cut);

/* session_todo.c: what has to be done a little later. Without memory a todo is
 * dropped: the regular tick has to do. */
void session_todo_put(struct forkflame *ff, struct todo todo);

/* Do what is due at @now_ns. */
void session_todo(struct forkflame *ff, uint64_t now_ns);

/* When the nearest todo is due; UINT64_MAX: none. */
uint64_t session_todo_ns(const struct forkflame *ff);

#endif
