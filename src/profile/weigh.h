/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_WEIGH_H
#define PROFILE_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"

/*
 * What a thread's samples weigh.
 *
 * Wall time: a thread's life is cut between its samples, so that the weights add
 * up to it. The cut lies halfway between the last moment at which the older stack
 * is known to have stood and the first at which the newer one is. For two samples
 * of a running thread these are the moments of the samples. A thread that slept
 * stood from its switch-out to its next switch-in: then the cut is exact but for
 * the burst between two sleeps. The first sample reaches back to the birth, the
 * last one on to the end.
 *
 * CPU time: what the kernel charged the thread since the sample before belongs to
 * stacks that were seen running. Two running ones share it; a sleeper takes none:
 * it is carried on to the next running one, or at the end back to the last. Only
 * a thread that was never seen running leaves it with the stacks seen asleep.
 *
 * Nothing is counted in ticks: early, late and additional samples bias nothing.
 * A sample also carries how many ticks it answered for, for views by count.
 */
struct weigh {
	uint32_t node; /* the newest stack; AGGREGATE_NONE before the first */
	uint32_t running;  /* the newest stack that was seen running */
	bool is_running;   /* the newest stack was seen running */
	uint64_t left_ns;  /* where the time not yet charged begins */
	uint64_t stood_ns; /* until when the newest stack is known to stand */
	uint64_t cpu_ns;   /* the account at the newest sample */
	uint64_t carry_ns; /* CPU time not yet charged */
	uint64_t samples;  /* the newest stack answered for so many */
};

/* A charge to be made: up to two nodes a sample. */
struct charge {
	uint32_t node;
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
 * A new sample.
 *
 * @since_ns  the stack is known to stand since then (not after @now_ns)
 * @now_ns    when it was read
 * @cpu_ns    the thread's account then
 * @running   it was running, or could have
 * @out       charges that are now final; room for WEIGH_CHARGES
 *
 * Returns how many charges.
 */
unsigned weigh_sample(struct weigh *w, uint32_t node, uint64_t since_ns,
		      uint64_t now_ns, uint64_t cpu_ns, bool running,
		      struct charge *out);

/* The thread ended, or is let go, at @end_ns. Returns as weigh_sample. */
unsigned weigh_end(struct weigh *w, uint64_t end_ns, uint64_t cpu_ns,
		   struct charge *out);

#endif
