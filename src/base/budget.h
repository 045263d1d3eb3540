/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The sampling interval that keeps to a budget of CPU time.
 *
 * What was spent above the budget is saved up again: the sum over the run is kept
 * to, so that a dear beginning (a thousand processes are looked at) is paid by a
 * lower rate after it. The interval follows what a stretch has cost, since most of
 * the cost is that of samples; it never falls below the one that was asked for,
 * and never rises above BUDGET_LONGEST_NS, whatever that costs.
 */
#define BUDGET_LONGEST_NS 1000000000ull

struct budget {
	uint64_t share_ns;    /* CPU time that a second may cost; 0: any */
	uint64_t asked_ns;    /* the interval that was asked for */
	uint64_t interval_ns; /* the present one */
	uint64_t start_ns, start_cpu_ns;
	uint64_t look_ns, look_cpu_ns; /* at the newest look */
};

/*
 * Begin at @now_ns, at which @cpu_ns had been spent; with a longer interval than
 * @asked_ns, if that may be too short.
 */
void budget_begin(struct budget *budget, uint64_t share_ns, uint64_t asked_ns,
		  uint64_t now_ns, uint64_t cpu_ns);

/* Is it time for a look? Not more often than some times a second. */
bool budget_due(const struct budget *budget, uint64_t now_ns);

/*
 * Look what was spent until @now_ns: @cpu_ns, by the same clock as at the beginning.
 *
 * Returns whether interval_ns is another one now.
 */
bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns);

#endif
