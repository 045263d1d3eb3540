/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_SUMMARY_H
#define PROFILE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

/* What a process ended as in the summary: exactly one for each that was seen. */
enum verdict {
	VERDICT_PENDING,    /* not known yet; never in a finished summary */
	VERDICT_SAMPLED,    /* at least one Python stack of it was taken */
	VERDICT_NOT_PYTHON, /* no CPython in it */
	VERDICT_UNKNOWN,    /* a Python that we have no layout for */
	VERDICT_DENIED,     /* the kernel refused to let us read it */
	VERDICT_TOO_SHORT, /* a Python that ended before a stack could be taken */
	VERDICT_GONE,      /* ended before it could be told what it was */
	VERDICT_LEFT_OUT, /* it was not asked for */
	VERDICT_COUNT,
};

/* Why an attempt at a sample failed, or a sample was dropped again. */
enum drop {
	DROP_TORN,   /* the stack did not hold together */
	DROP_BUSY,   /* the thread could not be stopped in time */
	DROP_GONE,   /* the thread ended during the attempt */
	DROP_DENIED, /* the kernel refused, or another tracer has it */
	DROP_MOVED,  /* the thread state had become another thread's */
	DROP_BEFORE_EXEC, /* of a child on its way to exec: no worker of its parent */
	DROP_COUNT,
};

/* How long threads were held, in powers of two and their halves. */
#define HELD_BUCKETS 128
struct held {
	uint64_t stops;
	uint64_t total_ns;
	uint64_t longest_ns;
	uint64_t buckets[HELD_BUCKETS];
};

void held_add(struct held *held, uint64_t ns);

/* The time that @share of the stops did not exceed, within 1/8 of itself. */
uint64_t held_quantile(const struct held *held, double share);

/*
 * Everything that a run counts. Nothing is dropped unseen:
 *   seen     = the sum over verdicts
 *   taken    = stopped + unstopped + kernel + repeated
 *   attempts = taken + the sum over drops
 */
struct counts {
	uint64_t verdicts[VERDICT_COUNT];
	uint64_t threads;
	uint64_t stopped, unstopped, kernel, repeated;
	uint64_t drops[DROP_COUNT];
	uint64_t ticks, ticks_missed;
	uint64_t events_lost, rescans, found_late;
	uint64_t missed;          /* processes that no look showed, at least */
	uint64_t wall_ns, cpu_ns; /* all weights */
	struct held held;
	uint64_t calls_failed; /* system calls with EINTR, because of a stop */
};

uint64_t counts_seen(const struct counts *counts);
uint64_t counts_taken(const struct counts *counts);
uint64_t counts_dropped(const struct counts *counts);

const char *verdict_name(enum verdict verdict);
const char *drop_name(enum drop drop);

/*
 * What became of the samples that the kernel took, apart from those that count
 * (counts.kernel).
 */
struct summary_kernel {
	uint64_t read,
		ns;      /* records of all kinds, and the time that they took */
	uint64_t lost;   /* the ring was full */
	uint64_t unread; /* a page was not there */
	uint64_t torn;   /* what was there was no stack */
	uint64_t deep;   /* deeper than the kernel reads */
	uint64_t no_state; /* no thread state was found */
	uint64_t denied;   /* of a process that has become another user's */
	uint64_t unknown; /* of a thread or process that is not known as it was */
	uint64_t superseded; /* the thread had a later sample already */
	uint64_t freed; /* frames, in samples that count, whose function was gone */
};

/* Sampling threads on other CPUs than the first one's. */
struct summary_posts {
	uint64_t threads;
	uint64_t samples; /* that they brought; among the unstopped */
	uint64_t moved;   /* not proven: the thread had run meanwhile */
	uint64_t late;    /* not there when the tick was over */
};

/* The rest of what a summary says: facts of the run. Texts are borrowed. */
struct summary {
	const struct counts *counts;
	const char *version;
	const char *mode;
	const char *events;        /* where births came from */
	const char *events_reason; /* why from there; NULL: it is the best */
	const char *oncpu;         /* how running threads were found */
	const char *oncpu_reason;
	const char *sampler;        /* how running threads are read */
	const char *sampler_reason; /* why so; NULL: it is the best */
	struct summary_kernel kernel;
	struct summary_posts posts;
	uint64_t duration_ns, interval_ns;
	uint64_t profiler_cpu_ns;
	struct summary_listener { /* zeros: there was none */
		uint64_t cpu_ns, received, dropped, strangers, wakes;
	} listener;
};

/* For a person: a few lines, each ended. */
void summary_text(const struct summary *summary, struct str *to);

/* The members of an open JSON object, as forkflame(1) documents them. */
void summary_json(const struct summary *summary, struct json *j);

#endif
