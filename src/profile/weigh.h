/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_WEIGH_H
#define PROFILE_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sample.h"
#include "profile/stacks.h"

/*
 * What a thread's samples weigh, so that the weights add up to its life and to
 * the CPU time that the kernel charged it.
 *
 * A sample is a stack that is known to have stood for some time: for a moment,
 * when the thread was stopped; from its switch-out to its next switch-in, when it
 * slept or waited for a CPU. That time is the stack's own. Between the end of one
 * stack's standing and the beginning of the next one's is a gap, of which only
 * the account is known: how much of it the thread spent on a CPU.
 *
 *  - Time on a CPU belongs to stacks that were seen running. Between two of them
 *    it is halved; between a running and a sleeping one it is the running one's.
 *    What lies between two sleeping ones, a burst that no sample has hit, waits
 *    for the next running one, and is halved between that and the one before: so a
 *    thread of short bursts has its few hits weigh as much as all of its bursts
 *    did. A thread is hit once in each interval that it is on a CPU, on average.
 *    When more than half of that waits, the next sleeping one before which the
 *    thread was on a CPU is a hit as well (weigh_ran_before). When much more waits,
 *    such bursts are not hit, and the next one may be of something else: it is
 *    halved between the sleeping ones.
 *  - Time off a CPU belongs to stacks that were seen asleep, and is halved between
 *    two of a kind. Where it is known how long the thread waited for a CPU, that is
 *    shared like time on one: it was awake.
 *  - The first sample reaches back to the birth, the last one on to the end.
 *
 * For a thread that runs all the time, or has no account, this is the usual cut
 * halfway between two samples. Nothing is counted in ticks: early, late and
 * additional samples bias nothing. A sample also carries how many ticks it
 * answered for, for views by count.
 *
 * What comes out are the slices of the thread's life, one a sample, each final when
 * the next sample is there.
 */
struct weigh {
	struct seen seen; /* the newest; stack STACKS_NONE before the first */
	struct seen running; /* the newest one seen on a CPU; NONE likewise */
	uint64_t begin_ns;   /* the newest one's slice begins */
	uint64_t since_ns;   /* the newest stack's own time begins */
	uint64_t stood_ns;   /* until when it is known to stand */
	uint64_t cpu_ns;     /* the account up to which all is given out */
	uint64_t waits_ns;   /* what weigh_waited was told last, if has_waits */
	uint64_t waited_ns;  /* of that, since the newest sample */
	bool has_waits;
	struct weight own;   /* what the newest one's slice has so far */
	struct weight carry; /* time on a CPU that waits for a running stack */
	bool ran_before; /* what weigh_ran_before told, since the newest sample */
	/* Between two samples of a running thread; set by the caller. 0: all may wait. */
	uint64_t interval_ns;
};

/* A slice that is final, or a weight without a place that follows it. */
struct charge {
	struct seen seen;
	uint64_t start_ns;
	struct weight weight;
};

#define WEIGH_CHARGES 3

/* A thread born, or taken in, at @birth_ns with @cpu_ns on its account. */
void weigh_begin(struct weigh *w, uint64_t birth_ns, uint64_t cpu_ns);

/* The newest stack has been proven to stand until @until_ns at least. */
void weigh_stood(struct weigh *w, uint64_t until_ns);

/* The newest stack answers for @ticks more samples. */
void weigh_repeat(struct weigh *w, uint64_t ticks);

/*
 * Until the sample that comes next the thread has waited for a CPU for @wait_ns, since
 * whenever: the first time tells from where on to count. For threads of which nobody
 * tells when they wake, and that may have been awake for long before it was seen.
 */
void weigh_waited(struct weigh *w, uint64_t wait_ns);

/*
 * The thread was on a CPU a moment before the sample that comes next. If that finds it
 * asleep, its stack is what can be known of what it did.
 */
void weigh_ran_before(struct weigh *w);

/*
 * A new sample.
 *
 * @seen      the stack and its state; RUN_ON_CPU when it ran, or could have
 * @since_ns  the stack is known to stand since then (not after @now_ns)
 * @now_ns    when it was read
 * @cpu_ns    the thread's account then
 * @out       slices that are now final; room for WEIGH_CHARGES
 *
 * Returns how many of them.
 */
unsigned weigh_sample(struct weigh *w, const struct seen *seen,
		      uint64_t since_ns, uint64_t now_ns, uint64_t cpu_ns,
		      struct charge *out);

/* The thread ended, or is let go, at @end_ns. Returns as weigh_sample. */
unsigned weigh_end(struct weigh *w, uint64_t end_ns, uint64_t cpu_ns,
		   struct charge *out);

/* Has it a sample, and was the newest one on a CPU? */
static inline bool weigh_has(const struct weigh *w)
{
	return w->seen.stack != STACKS_NONE;
}

static inline bool weigh_ran(const struct weigh *w)
{
	return weigh_has(w) && w->seen.run == RUN_ON_CPU;
}

#endif
