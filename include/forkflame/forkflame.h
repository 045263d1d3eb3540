/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORKFLAME_H
#define FORKFLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * libforkflame: sample a tree of Python processes, and write what was seen.
 *
 *	struct forkflame_options options = FORKFLAME_OPTIONS;
 *	struct forkflame *ff;
 *
 *	r = forkflame_new(&ff, &options);
 *	if (r == 0)
 *		r = forkflame_start(ff, argv);	or forkflame_add_pid(ff, pid)
 *	if (r == 0)
 *		r = forkflame_run(ff);
 *	forkflame_free(ff);
 *
 * What happened goes into a recording while it happens (options.recording), and all
 * views are made of recordings, by forkflame_report_*.
 *
 * Units: time is in nanoseconds. Errors: `int` results are 0 or a negative errno;
 * forkflame_strerror then says in words what failed and what helps.
 * Ownership: what a call hands out belongs to the handle and lives as long as it,
 * unless it says otherwise; what is given to a call is copied.
 * Threads: one handle is for one thread at a time; only forkflame_stop may be called
 * from anywhere, a signal handler included. The sampling itself is done by threads
 * of the library's own, which live as long as forkflame_run (one listens from
 * forkflame_new on); no signal handler runs in them but our own.
 * Side effects on the process: SIGRTMAX-1 gets a handler that does nothing, the
 * library's threads and, between forkflame_start and the end of forkflame_run, the
 * caller's are given SCHED_FIFO 1 or nice -20 where that is allowed, and the limit
 * of open files is raised to its hard limit.
 */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FORKFLAME_API __attribute__((visibility("default")))
#else
#define FORKFLAME_API
#endif

struct forkflame;

/* Takes all of the bytes, or returns a negative errno, which ends the writing. */
typedef int (*forkflame_write_fn)(void *ctx, const char *bytes, size_t len);

/* Where news of births and ends come from. */
enum forkflame_events {
	FORKFLAME_EVENTS_AUTO, /* connector, else perf, else children, else scan */
	FORKFLAME_EVENTS_CONNECTOR, /* the kernel's proc connector, or fail */
	FORKFLAME_EVENTS_CHILDREN,  /* children files, looked at every 10 ms */
	FORKFLAME_EVENTS_PERF,      /* perf's task records, or fail */
	FORKFLAME_EVENTS_SCAN,      /* all of /proc, likewise */
};

/* How the threads that run are found. */
enum forkflame_oncpu {
	FORKFLAME_ONCPU_AUTO,     /* switch records, else run counts */
	FORKFLAME_ONCPU_SWITCHES, /* perf's context-switch records, or fail */
	FORKFLAME_ONCPU_RUNCOUNTS, /* the run count of each thread at each tick */
};

/* How a thread that is on a CPU is read. */
enum forkflame_sampler {
	/* From 500 samples a second on by the kernel, where that is to be had; else: */
	FORKFLAME_SAMPLER_AUTO,
	FORKFLAME_SAMPLER_STOP, /* it is stopped for as long as that takes */
	/*
	 * By a program in the kernel (BPF), at the ticks of a clock on each CPU, and
	 * not stopped, or fail. Whom the kernel cannot read is stopped.
	 */
	FORKFLAME_SAMPLER_KERNEL,
};

/*
 * What to do. Begin with FORKFLAME_OPTIONS and change fields: `size` lets the
 * structure grow, fields that an older caller does not know keep their default.
 */
struct forkflame_options {
	size_t size;          /* sizeof(struct forkflame_options) */
	uint64_t interval_ns; /* between two samples of a thread; 10 ms */
	uint64_t duration_ns; /* wall time until forkflame_run ends; 0: no limit */
	enum forkflame_events events;
	enum forkflame_oncpu oncpu;
	/*
	 * Stop no thread, ever. A thread that runs is read as it runs, twice, and
	 * what is not the same both times is dropped: a stack that never was is
	 * rare then, but possible.
	 */
	bool nonblocking;
	uint64_t seed; /* of the jitter; 0: from the clock */
	/*
	 * Called now and then during forkflame_run (about five times a second),
	 * by the sampling thread, while the caller waits; NULL: never. It holds
	 * the sampling up.
	 */
	void (*progress)(void *ctx, struct forkflame *ff);
	void *progress_ctx;
	/* Called with a line for a person: what is amiss and what it means. */
	void (*notice)(void *ctx, const char *line);
	void *notice_ctx;
	/*
	 * Takes the recording (forkflame-recording(5)) as it happens, about once a
	 * second, called by the sampling thread; NULL: none is made. What it
	 * fails with ends the run.
	 */
	forkflame_write_fn recording;
	void *recording_ctx;
	const char *title; /* what is recorded, for a person; NULL: nothing */
	/*
	 * Called when the present recording has reached an age (rotate_ns) or a
	 * size (rotate_bytes; either may be 0: no limit): what follows is the
	 * beginning of another one. Fails as `recording` does. NULL: never.
	 */
	int (*rotate)(void *recording_ctx);
	uint64_t rotate_ns, rotate_bytes;
	/*
	 * What the kernel may queue of process events, in bytes (for perf, a CPU);
	 * 0: 8 MiB (1 MiB). Less where it may not be had.
	 */
	uint64_t event_buffer;
	/*
	 * Which processes are sampled: those for which all of this holds. The
	 * others are members of the tree all the same, so that their children are
	 * found, and are counted as left out.
	 */
	int64_t depth;   /* generations below a root (0: the roots); -1: all */
	int64_t uid;     /* those of this (real) user; -1: anybody's */
	const char *exe; /* those that run this file; NULL: any */
	/*
	 * Those whose command line fits this POSIX extended regular expression,
	 * and those whose does not fit that one; NULL: any.
	 */
	const char *include_command, *exclude_command;
	/*
	 * CPU time that a second of the run may cost, in nanoseconds; 0: any. The
	 * rate is lowered rather than exceed it, down to one sample a second.
	 */
	uint64_t budget_ns;
	enum forkflame_sampler sampler;
	/*
	 * Threads that sample, at most; 0: one for each CPU on which a member was
	 * found running. More than one only where they may have a real-time priority.
	 */
	unsigned samplers;
};

#define FORKFLAME_OPTIONS                                        \
	{                                                        \
		.size = sizeof(struct forkflame_options),        \
		.interval_ns = 10000000, .depth = -1, .uid = -1, \
	}

/* The version of the library: "0.1.0". */
FORKFLAME_API const char *forkflame_version(void);

/*
 * Make a handle. *@ret is set also when this fails, for forkflame_strerror, unless
 * memory is gone (NULL then); it is to be freed in any case.
 */
FORKFLAME_API int forkflame_new(struct forkflame **ret,
				const struct forkflame_options *options);

/* Let go of everything. Targets go on. NULL is fine. */
FORKFLAME_API void forkflame_free(struct forkflame *ff);

/* In words, why the last call failed; "" when it did not. */
FORKFLAME_API const char *forkflame_strerror(const struct forkflame *ff);

/*
 * Take in a running process and all of its descendants. May be called several
 * times before forkflame_run. -ESRCH: no such process, or it has ended. -EACCES:
 * it may not be read (forkflame_strerror names the reason and the remedy); it is
 * taken in all the same, for its descendants' sake, and counted as denied.
 */
FORKFLAME_API int forkflame_add_pid(struct forkflame *ff, pid_t pid);

/*
 * Take in all processes of the machine, those that are born later as well, but not
 * the caller's own: as root of everybody, else of one's own user, unless
 * options.uid says whose. The run does not end by itself then. -EBUSY: with a
 * command.
 */
FORKFLAME_API int forkflame_add_all(struct forkflame *ff);

/*
 * Start a command (NULL-terminated, looked up along PATH) and take it in, from
 * its first instruction. Once at most. It is never ended by the library.
 *
 * @mask  the signal mask it shall have (const sigset_t *); NULL: the caller's
 *
 * -ENOENT, -EACCES, ...: the command could not be started.
 */
FORKFLAME_API int forkflame_start(struct forkflame *ff, char *const argv[],
				  const void *mask);

/*
 * Sample until the duration has passed, the last process of the tree (of those
 * within options.depth) has gone, or forkflame_stop. Afterwards nothing is held or watched any more.
 */
FORKFLAME_API int forkflame_run(struct forkflame *ff);

/* End forkflame_run soon. Async-signal-safe; from any thread. */
FORKFLAME_API void forkflame_stop(struct forkflame *ff);

/* How a run goes, or went. */
struct forkflame_progress {
	size_t size; /* sizeof(struct forkflame_progress), set by the caller */
	uint64_t elapsed_ns;
	uint64_t processes_seen;
	uint64_t processes_alive;
	uint64_t processes_sampled; /* with at least one Python stack */
	uint64_t processes_denied;
	uint64_t processes_unknown; /* a Python that is not known */
	uint64_t samples;           /* taken */
	uint64_t dropped;           /* attempts that failed */
	uint64_t ticks, ticks_missed;
	pid_t command_pid;           /* 0: none was started */
	bool command_ended;          /* its status is known */
	int command_status;          /* as wait(2) gives it */
	uint64_t processes_left_out; /* not asked for */
};

FORKFLAME_API void forkflame_progress(struct forkflame *ff,
				      struct forkflame_progress *ret);

/* What the weights of a view are. */
enum forkflame_value {
	FORKFLAME_WALL,    /* wall time, in microseconds */
	FORKFLAME_CPU,     /* CPU time, in microseconds */
	FORKFLAME_SAMPLES, /* number of samples */
	FORKFLAME_GIL,     /* wall time with the interpreter's lock held */
};

enum forkflame_summary_format {
	FORKFLAME_TEXT, /* some lines for a person */
	FORKFLAME_JSON, /* one object; its keys are in forkflame(1) */
};

/* Write the summary of the run. Returns 0, -ENOMEM, or what @write returned. */
FORKFLAME_API int forkflame_summary(struct forkflame *ff,
				    enum forkflame_summary_format format,
				    enum forkflame_value value,
				    forkflame_write_fn write, void *ctx);

/*
 * Write every stack of every thread of the tree as it is now, instead of
 * forkflame_run. Each thread is seen in one moment of its own. FORKFLAME_TEXT for a
 * person; FORKFLAME_JSON as forkflame(1) documents it.
 * Returns as forkflame_run, -ENOMEM, or what @write returned.
 */
FORKFLAME_API int forkflame_dump(struct forkflame *ff,
				 enum forkflame_summary_format format,
				 forkflame_write_fn write, void *ctx);

/*
 * Tell the lives of the tree as they happen, instead of forkflame_run: births,
 * programs, ends, and which of them are a Python. Nothing is sampled or stopped, and
 * of processes only what tells a Python is read. Each line is one call of @write, by a
 * thread of the library; FORKFLAME_TEXT for a person, FORKFLAME_JSON an object a
 * line, both as forkflame(1) documents them. With forkflame_add_all, of each Python
 * and of what descends from one.
 * Returns as forkflame_run, or what @write returned, which ends it.
 */
FORKFLAME_API int forkflame_watch(struct forkflame *ff,
				  enum forkflame_summary_format format,
				  forkflame_write_fn write, void *ctx);

/*
 * Write what this machine offers to a recording and what it refuses, the latter
 * with what helps: lines for a person, each with one call of @write, each
 * beginning with "ok", "no" or "--" (neither). Needs no handle. Most is tried for
 * real, on a child that has gone on the return; that takes some milliseconds, 0.7 s
 * at most. Call it with no other thread waiting for any child.
 *
 * @ret_able  set to whether a command that one starts can be recorded, unless
 *            /proc could not be opened
 *
 * Returns 0, -ENOMEM, what @write returned, or why /proc could not be opened.
 */
FORKFLAME_API int forkflame_check(forkflame_write_fn write, void *ctx,
				  bool *ret_able);

/*
 * Views of one recording or several. Begin, add recordings, write views.
 *
 *	struct forkflame_view view = FORKFLAME_VIEW;
 *
 *	r = forkflame_report_new(&report);
 *	if (r == 0)
 *		r = forkflame_report_add(report, bytes, len, false);
 *	if (r == 0)
 *		r = forkflame_report_write(report, &view, write, ctx);
 *	forkflame_report_free(report);
 */
struct forkflame_report;

FORKFLAME_API int forkflame_report_new(struct forkflame_report **ret);
FORKFLAME_API void forkflame_report_free(struct forkflame_report *report);

/*
 * Add a recording. A cut or damaged one is taken up to there: see
 * forkflame_report_source.
 *
 * @bytes  borrowed until forkflame_report_free
 * @base   it is what the others are compared with
 *
 * Returns 0; -ENOMEM; -EINVAL for what is no recording; -ENOTSUP for a version or
 * compression that this build does not know.
 */
FORKFLAME_API int forkflame_report_add(struct forkflame_report *report,
				       const char *bytes, size_t len,
				       bool base);

enum forkflame_ending {
	FORKFLAME_WHOLE,   /* it was ended in order */
	FORKFLAME_RUNNING, /* whole as far as it goes: still written, or killed */
	FORKFLAME_CUT,     /* its last part is missing */
	FORKFLAME_DAMAGED, /* a part of it is not what was written */
};

/* A recording of a report. */
struct forkflame_source {
	size_t size; /* sizeof(struct forkflame_source), set by the caller */
	enum forkflame_ending ending;
	uint64_t good_bytes, bytes; /* read, of all */
	uint64_t duration_ns;
	uint64_t samples;
};

/* The recording number @index that was added (no bases); false: no more. */
FORKFLAME_API bool forkflame_report_source(struct forkflame_report *report,
					   uint32_t index,
					   struct forkflame_source *ret);

/* A process of a report. */
struct forkflame_process {
	size_t size; /* sizeof(struct forkflame_process), set by the caller */
	pid_t pid;
	unsigned again; /* how many before it had the same pid */
	bool has_samples;
};

/* The process number @index (0, 1, ...); false when there are no more. */
FORKFLAME_API bool forkflame_report_process(struct forkflame_report *report,
					    uint32_t index,
					    struct forkflame_process *ret);

enum forkflame_format {
	FORKFLAME_COLLAPSED,  /* a line a stack */
	FORKFLAME_FLAMEGRAPH, /* a page for a browser */
	FORKFLAME_SVG,        /* a static flame graph */
	FORKFLAME_SPEEDSCOPE,
	FORKFLAME_PPROF,
	FORKFLAME_CHROME,
	FORKFLAME_FIREFOX,
	FORKFLAME_CALLGRIND,
	FORKFLAME_PSTATS,
	FORKFLAME_JSONL,
	FORKFLAME_FLAMECHART,
	FORKFLAME_TABLE, /* for a terminal */
};

/* What becomes a first level of a view. */
enum forkflame_group {
	FORKFLAME_BY_PROCESS,
	FORKFLAME_BY_THREAD,
	FORKFLAME_BY_ROLE, /* equal command lines are one */
	FORKFLAME_BY_NOTHING,
};

/* What a frame is. */
enum forkflame_frames {
	FORKFLAME_LINES,
	FORKFLAME_FUNCTIONS,
	FORKFLAME_FILES,
};

struct forkflame_view {
	size_t size; /* sizeof(struct forkflame_view) */
	enum forkflame_format format;
	enum forkflame_value value;
	const char *title; /* of a page; NULL: that of the recording */

	/* Which part: of each that is given (not NULL, n > 0), one must fit. */
	int64_t only;        /* index of the only process to show; -1: all */
	const int32_t *pids; /* these processes */
	size_t n_pids;
	const int32_t *trees; /* these and their descendants */
	size_t n_trees;
	const char *const *threads; /* numbers, or parts of names */
	size_t n_threads;
	uint64_t since_ns, until_ns; /* since the start; until 0: all */
	bool busy;                   /* no idle time */
	bool holding;                /* only with the interpreter's lock held */
	const char *include; /* stacks with a fitting FILE:FUNCTION (POSIX
				extended regular expression); NULL: all */
	const char *exclude; /* frames that fit are left out */

	enum forkflame_group group;
	enum forkflame_frames frames;
	unsigned rows; /* of a table; 0: as many as are useful */
	bool color;    /* of a table */
	/*
	 * Reads a source file, for a page that shows lines: its bytes into *@ret
	 * (malloc'ed; freed by the caller of this). Returns 0 or a negative errno.
	 * NULL: no source is shown.
	 */
	int (*source)(void *ctx, const char *path, char **ret, size_t *ret_len);
	void *source_ctx;
};

#define FORKFLAME_VIEW                                            \
	{                                                         \
		.size = sizeof(struct forkflame_view), .only = -1 \
	}

/*
 * Write a view. Returns 0; -ENOMEM; -EINVAL for a regular expression that is
 * none, or bases with a format that shows none; or what @write returned.
 */
FORKFLAME_API int forkflame_report_write(struct forkflame_report *report,
					 const struct forkflame_view *view,
					 forkflame_write_fn write, void *ctx);

/* In words, why the last call failed; "" when it did not. */
FORKFLAME_API const char *
forkflame_report_strerror(const struct forkflame_report *report);

#ifdef __cplusplus
}
#endif

#endif
