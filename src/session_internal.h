/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "forkflame/forkflame.h"
#include "linux/children.h"
#include "linux/listener.h"
#include "linux/loop.h"
#include "linux/oncpu.h"
#include "linux/perch.h"
#include "linux/place.h"
#include "linux/procfs.h"
#include "linux/remote.h"
#include "linux/sched.h"
#include "linux/spawn.h"
#include "linux/taskevents.h"
#include "linux/tracee.h"
#include "linux/urgency.h"
#include "linux/waits.h"
#include "profile/recorder.h"
#include "profile/stacks.h"
#include "profile/summary.h"
#include "profile/weigh.h"
#include "python/code.h"
#include "python/frame.h"
#include "python/prefetch.h"
#include "python/probe.h"
#include "python/runtime.h"
#include "session_kernel.h"
#include "session_posts.h"
#include "session_select.h"
#include "tree/proctree.h"

/*
 * One run, in pieces. struct forkflame owns all of it; it is turned by one
 * thread:
 *
 *	events ──► proctree ──► join, exec, leave      session_events.c, _process.c
 *	                 │
 *	                 └── is there a Python, which  session_image.c, _elf.c
 *	clock ──► who is due ──► read, accept          session_tick.c, _sample.c,
 *	              │               │                _thread.c
 *	              └──► posts ─────┤                session_posts.c, _post.c
 *	                              └──► struct weigh ──► struct recorder
 *	each second ──► the recording                  session_recording.c
 *	the end ──► the summary                        session_summary.c
 *
 * A process that is seen goes through these states (struct image.verdict), once
 * for each image that it has:
 *
 *	PENDING ──process_probe──► SAMPLED (a Python was located; the name is that
 *	   │                       of the outcome that it will have with one sample)
 *	   └────────────────────► NOT_PYTHON (looked at again for some seconds: a
 *	                           program may load a Python), UNKNOWN, DENIED
 *
 * A forked process shares its parent's image, whatever its state: no file is
 * read for it. An exec gives it one of its own.
 */

/* A stack is cut to this many frames; as many of each end are kept. */
#define FRAMES_MAX 16384

/* What may be added to it: one is cut, some are left out, of which Python it is. */
#define FRAMES_MARKS 5

/*
 * A stop is waited for so long. One that is still on its way then is read as it
 * stands, and let go when it comes.
 */
#define STOP_DEADLINE_NS NSEC_PER_MSEC

/* Reads that were overtaken by the thread are tried so often, then it is stopped. */
#define ROUNDS 3

/* A look at a sleeper's run count may be taken so often. */
#define SLEEPER_LOOK_NS (250 * NSEC_PER_USEC)

/*
 * A thread that was given a CPU less than this ago is not stopped yet. On its way
 * out of a system call that the kernel does not restart (epoll_wait, recv with a
 * timeout, sigtimedwait) a stop would make it fail with EINTR; and one that wakes
 * for a moment only is soon asleep again, and then needs no stop. One that has
 * slept since it was last seen is given more time.
 */
#define FRESH_NS (50 * NSEC_PER_USEC)
#define FRESH_SLEEPER_NS (300 * NSEC_PER_USEC)

/*
 * That is waited for in a tick; one that has always just woken is looked at again in
 * the next, and then not given more time than others.
 */
#define FRESH_WAIT_NS (400 * NSEC_PER_USEC)

/* How many threads are asked to stop at once. */
#define STOPS_MAX 8

/* Tokens of what the loop watches, above those of the processes' pidfds. */
#define TOKEN_LISTENER (UINT64_MAX - 8)
#define TOKEN_ONCPU (UINT64_MAX - 9)

/* How many threads are read before what was read is proven. */
#define TURNS_AT_ONCE 32

/* After this part of a tick, who has not had his turn waits for the next one. */
#define TURNS_SHARE 2

/* So many ticks of stops on another CPU, with none of ours on this one: go there. */
#define STRAYS 2

/*
 * Without switch records, a list of threads is compared when one of them has run, and so
 * often: another that knows nothing of Python may have made one.
 */
#define LIST_NS (2 * NSEC_PER_SEC)

/* A list of threads that has not changed for so many ticks is calm. */
#define CALM_TICKS 64

/* One program image: of one exec, shared by all that were forked from it. */
struct image {
	unsigned refs;
	enum verdict verdict;
	struct runtime rt; /* valid when verdict is SAMPLED */
	struct codecache *codes;
	/*
	 * Another interpreter beside that one: of another library, with threads of
	 * its own. Valid when it has a cache of codes.
	 */
	struct runtime second_rt;
	struct codecache *second_codes;
	uint32_t command; /* string id */
	uint32_t python;  /* string id of the version text; 0: none */
};

/* A charge that may still be taken back: see process.held. */
struct held_charge {
	size_t thread; /* in held_threads */
	struct charge charge;
};

/* A thread that may still be taken back. */
struct held_thread {
	pid_t tid;
	uint64_t born_ns, ended_ns; /* 0: has not ended */
};

/* What can be told of a process: see session_watch.c. */
enum news {
	NEWS_HERE,   /* it lived already when we came */
	NEWS_START,  /* it is the command */
	NEWS_FORK,   /* it was born */
	NEWS_FOUND,  /* it was born, but no event told so */
	NEWS_EXEC,   /* it is another program */
	NEWS_PYTHON, /* and a Python, which took some time to know */
	NEWS_EXIT,
	NEWS_COUNT,
};

/* A run that tells lives instead of taking samples. */
struct watch {
	forkflame_write_fn write; /* NULL: it is none */
	void *ctx;
	enum forkflame_summary_format format;
	int failed; /* what the first write that failed returned */
	uint64_t seen, pythons, ended, bad;
};

/* What a thread was found to wait for, and in which stack. */
struct wait_memo {
	uint32_t stack;
	uint8_t kind;
};

struct process;

/*
 * A thread state of a thread. A thread that runs code of several interpreters has
 * one in each, and a stack in each of those that it has entered and not left.
 */
struct seat {
	uint64_t tstate;
	uint64_t interp;
	uint64_t pthread;
	pid_t native; /* its number as the interpreter has it; a forked child's is late */
	bool second; /* of the image's second interpreter */
	struct stackhint hint;
	struct gilturn turn; /* of its interpreter, when it was last looked at */
};

struct thread {
	struct process *process;
	pid_t tid;
	struct seat seat; /* the newest of its thread states */
	struct VEC(
		struct seat) below; /* its others: the stacks under that one */
	pid_t inner; /* its number in its own pid namespace; 0: not asked yet */
	int schedstat; /* fd; -1: opened for each read */
	int syscall;   /* fd; -1: not opened yet */
	struct weigh weigh;
	uint64_t born_ns;
	uint32_t rec; /* its number in the recording; RECORD_NONE: not told */
	size_t held;  /* in process.held_threads; SIZE_MAX: not there */
	uint64_t named_ns; /* when its name was last looked at; 0: never */
	uint32_t name;     /* string id, as told */
	struct wait_memo waits;
	uint64_t held_from_ns, held_to_ns; /* when we last stopped it */
	uint64_t kernel_ns; /* when the kernel last read it, or tried to */
	bool kernel_failed; /* and could not: stop it once */

	/* What the newest stack rests on. */
	bool proven;   /* it was read while the thread certainly did not run */
	bool standing; /* and the thread has not run since, that we know */
	bool empty;    /* no Python frame was on it */
	bool ending;   /* a leader that was seen to be on its way out */
	bool newborn;  /* born in this run: no switch record, never ran */
	bool put_off;  /* it had just been given a CPU, a whole tick long */
	uint64_t runs; /* run count at that time (run-count mode) */
	uint64_t records;      /* switch records at that time */
	uint64_t rec_cpu_ns;   /* CPU time by switch records at that time */
	uint64_t tick;         /* up to which ticks are answered for */
	uint64_t look_tick;    /* run-count mode: when to look next */
	uint64_t gap;          /* run-count mode: ticks between looks */
	struct seen candidate; /* what was read and is not proven yet */

	size_t entered; /* innermost in it: 0 is seat, 1 the first below, ... */
	size_t mark_at,
		left_out; /* in the newest reading: where frames are missing */
	bool learnt; /* by it something was read of code objects that was new */
	uint64_t posted; /* the tick in which a post's sample of it counted */
	uint64_t posted_next; /* the one before which a post was to read it */
	bool due;             /* in session.due */
	size_t due_at;        /* there */
	bool turn;            /* in session.turns */
	size_t turn_at;       /* there */
	bool dead;            /* ends after this round */
	size_t at;            /* in process.threads */
	size_t seats;         /* while the list is walked: how many were met */
};

struct process {
	uint32_t serial;
	uint32_t parent; /* serial; PROCTREE_NONE for a root */
	pid_t pid;
	pid_t fork_tid; /* the parent's thread that forked it, 0: not known */
	int pidfd;      /* -1: could not be had */
	struct VEC(struct image *) images; /* the last one is the present one */
	uint32_t image_first; /* 1 when the inherited one was only on its way to exec */
	uint32_t rec_image; /* number of the present one; RECORD_NONE: not told */
	uint32_t rec_python; /* the version that was told of it */
	uint32_t title; /* string id: what it wrote over its arguments; 0: nothing */
	unsigned titles;       /* how many it has had */
	uint64_t title_ns;     /* when that was last looked at */
	uint64_t title_due_ns; /* of the TODO_TITLE that counts; 0: none */
	struct place place;    /* as its parent's, for one that was forked */
	uint32_t cgroup;       /* string id */
	struct VEC(struct thread *) threads;
	size_t interps; /* how many have thread states, at the last walk */
	uint64_t active_interp; /* where names were last looked for, when, ... */
	uint64_t active_ns;
	uint64_t active;      /* ... and threading's threads there; 0: none */
	struct codeseen seen; /* code objects that are known by their numbers */
	uint64_t mark;        /* of the thread list when it was last walked */
	uint64_t second_mark; /* of the second interpreter's */
	bool sampling;        /* the present image is sampled */
	enum kernel_state kernel;
	uint32_t kernel_generation; /* of the layout that the kernel has */
	uint64_t kernel_ns;         /* since when it has one */
	bool kernel_copied;         /* by the kernel, from its parent's */
	unsigned kernel_offers, kernel_misses;
	bool walked;           /* the list has been walked since the exec */
	uint64_t refresh_tick; /* when the list was last compared */
	uint64_t moved_tick;   /* and when it was last found changed */
	uint64_t listed_ns;    /* and until when it is known to have been it */
	/* Where its code and its stack begin: an exec moves them. 0: not known. */
	uint64_t code_start, stack_start;
	bool own_image; /* an exec in this run made it, maybe that of an ancestor */
	uint32_t execs;   /* that the tree told of */
	uint64_t exec_ns; /* of the EXEC that is still to be followed; 0: none */
	uint64_t born_ns, image_ns; /* birth of process, of its present image */
	uint64_t image_cpu_ns;      /* the leader's account at the latter */
	uint64_t watched_ns; /* since then its threads have records; 0: see there */
	uint64_t left_ns;
	uint64_t head_ns; /* its leader has ended, and others lived on; 0: no */
	bool left, gone;  /* has left the tree; its pidfd says it has ended */
	bool forked;      /* its present image is inherited */
	bool copied;      /* likewise, as was found when we came */
	pid_t reader;    /* a task by which its memory is read; 0: the leader */
	bool lends;      /* a thread of it has several thread states */
	bool leaderless; /* the leader has ended, others have not */
	bool nested, nested_known; /* it is in another pid namespace than we */
	bool started;    /* the command: its first exec is its beginning */
	unsigned probes; /* how often its image was looked at */

	/*
	 * While it may only be on its way to an exec, its charges wait here: a
	 * child between fork and exec is no worker of its parent.
	 */
	bool waiting;
	struct VEC(struct held_charge) held;
	struct VEC(struct held_thread) held_threads;
	uint64_t held_stopped, held_unstopped, held_kernel, held_repeated;

	uint64_t samples, wall_ns, cpu_ns;
	uint64_t first_sample_ns; /* after birth or attach; UINT64_MAX: none */
	bool denied;
	bool denial_told;
	uint64_t depth; /* below a root; 0: is one */
	bool wanted;    /* not too deep: the run goes on while it lives */
	bool left_out;  /* it, or its present image, was not asked for */

	/* Of a run that tells lives. */
	enum news joined_as;
	bool met; /* its present image has been looked at once */
	bool told, was_python;
	uint32_t told_python; /* the version that was told last; string id */
	uint64_t age_ns;      /* what it had lived when it joined */
	int status;
	bool has_status;
};

struct threads VEC(struct thread *);

/* Something to do at a moment: see session_process.c. */
enum todo_kind {
	TODO_PROBE,  /* look at the image */
	TODO_EXEC,   /* its EXEC was heard before the new image was whole */
	TODO_YOUNG,  /* sample a process that was born a moment ago */
	TODO_LEAVE,  /* its pidfd said it has gone and no EXIT event came */
	TODO_FORGET, /* it has left: the tree need not know it any more */
	TODO_TITLE,  /* see what it calls itself by now */
};

struct todo {
	uint64_t at_ns;
	uint32_t serial;
	enum todo_kind kind;
	uint64_t step_ns; /* TODO_YOUNG, TODO_TITLE: until the next */
};

/* Which file it is, and that it was not changed since. */
struct file_stamp {
	uint64_t device, inode, size, mtime_ns;
};

/* What is known of a file, by device and inode. */
struct elf_entry {
	uint64_t device, inode; /* as maps has them */
	struct file_stamp stat; /* zeroes: it could not be asked for */
	uint32_t name;          /* string id: the last part of its path */
	struct elf_facts facts;
};

struct forkflame {
	struct forkflame_options options;
	struct error err;

	/* The outside. */
	struct procfs fs;
	struct loop *loop;
	enum forkflame_events source; /* AUTO: not settled yet */
	pid_t events_of; /* perf's: -1 everybody's, 0 of who is watched */
	struct listener *listener;        /* NULL: children is the source */
	struct summary_listener listened; /* of it, when it has ended */
	bool opened;                      /* it hands on the events of all */
	uint64_t dropped;                 /* by the kernel, that were noted */
	uint64_t late;                    /* processes found late, likewise */
	struct proc_stats procs;          /* of the last reconciliation */
	unsigned reconciled;
	uint64_t reconcile_ns;    /* when the next one is due */
	uint64_t rescan_ns;       /* not before, however much is lost */
	bool rescan;              /* one is owed */
	struct taskevents *tasks; /* of the listener; NULL: it watches nobody */
	struct children *children;
	struct events looked;          /* of children_look */
	uint64_t look_ns;              /* children: when to look next */
	struct oncpu *oncpu;           /* NULL: run counts are the source */
	struct oncpu_opening *opening; /* ... for as long as they take to open */
	struct session_kernel kernel;
	struct session_posts posts;
	struct stopper *stopper;
	struct remote *remote;
	struct mem mem; /* over remote */
	struct spawn spawn;
	pid_t command; /* 0: none */
	bool command_ended;
	int command_status;
	char events_reason[512], oncpu_reason[256];

	/* The tree. */
	struct proctree *tree;
	struct VEC(struct proc_stat) roots; /* processes that were asked for */
	bool everybody;            /* all were; roots are more of them */
	struct VEC(pid_t) adopted; /* see session_kin.c: those who live */
	struct selection selection;
	uint64_t wanted;  /* living members that are not too deep */
	uint64_t denials; /* refusals that were told */
	struct VEC(struct process *) processes; /* by serial */
	struct map threads;                     /* tid to struct thread * */
	struct VEC(struct todo) todo;           /* a heap, the nearest first */

	/* Python. */
	struct strtab *strings;
	struct VEC(struct elf_entry) elves;
	struct map elf_by_file, elf_by_stat;
	struct VEC(uint32_t) told; /* versions not known: string ids */
	struct prefetch *prefetch;
	struct rawframe *raw;          /* FRAMES_MAX */
	uint32_t *ids;                 /* FRAMES_MAX */
	size_t second_from, second_to; /* raw: frames of a second interpreter */
	struct frame *frames;          /* FRAMES_MAX + FRAMES_MARKS */
	uint32_t deeper; /* string id of the mark of a cut stack */

	/* Sampling. */
	struct threads due;
	struct threads
		turns; /* those that are due in this tick, in their order */
	struct threads list;  /* those that are being looked at */
	struct threads batch; /* read without a stop, not proven yet */
	struct threads to_stop;
	int files_kept;       /* fds from here on are not kept */
	struct perch *perch;  /* NULL: where the scheduler puts us */
	unsigned strays;      /* ticks with nobody of ours on our CPU */
	bool company;         /* somebody was, in this tick */
	pid_t stray;          /* the first that was stopped in it; 0: none */
	uint64_t jitter;      /* of the tick after the next one */
	struct threads fresh; /* on a CPU since a moment ago: look again ... */
	uint64_t ripe_ns;     /* ... then, for the first of them */
	int round;            /* of looks at the list, from 1 */
	struct VEC(pid_t) moved; /* whose list of threads changed: look again */
	struct VEC(
		pid_t) nameless; /* threads whose names are to be looked for */
	struct threads to_bury;
	struct VEC(struct process *) active; /* whose thread lists to compare */
	uint64_t tick;         /* number of the present one; 1 is the first */
	uint64_t tick_base_ns; /* tick k is near base + k * interval */
	struct budget budget;  /* has the interval */
	bool budget_told;
	uint64_t next_tick_ns, after_tick_ns;
	uint64_t ticked_ns; /* when the newest tick began */
	uint64_t random;

	/* The result. */
	struct stacks *stacks;
	struct recorder *recorder; /* NULL: nobody wants a recording */
	uint32_t processes_told; /* that the recorder knows: serials below it */
	uint64_t flush_ns; /* when the recording is to be handed on next */
	uint64_t file_ns;  /* when its present file was begun */
	struct counts counts;
	uint64_t start_ns, end_ns;
	uint64_t cpu_start_ns, cpu_used_ns; /* our own */
	uint64_t progress_ns;
	struct urgency before; /* how urgent we were */
	int result;            /* of the run */
	bool dumping;          /* one look at each thread, instead of a run */
	enum forkflame_summary_format dump_format;
	struct str dump;
	struct watch watch;
	bool running, done;
	bool oncpu_was; /* switch records were used, before they were closed */
};

/* session.c */
void session_notice(struct forkflame *ff, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A number below @below; xorshift, good enough to keep out of step. */
uint64_t session_random(struct forkflame *ff, uint64_t below);

/*
 * May @fd be kept for the life of a process or a thread? Returns it, or -1, closed,
 * where there are so many that too few are left for other things.
 */
int session_keep_fd(const struct forkflame *ff, int fd);

/* session_tick.c: who is due. */

void session_tick(struct forkflame *ff);

/*
 * Sample the threads of one process now, out of turn; without @may_stop only
 * those that need not be stopped for it.
 */
void session_sample_process(struct forkflame *ff, struct process *p,
			    bool may_stop);

/* session_dump.c: one look at each thread, written into ff->dump. */
int session_dump(struct forkflame *ff);

#include "session_lives.h"
#include "session_recording.h"
#include "session_tree.h"

#endif
