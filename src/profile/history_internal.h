/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_HISTORY_INTERNAL_H
#define PROFILE_HISTORY_INTERNAL_H

#include "profile/history.h"

/* What the files of a history share, between history.c and history_load.c. */

/* @a + @b, both capped: a file may say what it likes. */
static inline uint64_t history_time(uint64_t a, uint64_t b)
{
	if (a > HISTORY_TIME_MAX)
		a = HISTORY_TIME_MAX;
	if (b > HISTORY_TIME_MAX - a)
		return HISTORY_TIME_MAX;
	return a + b;
}

/* @value * @part / @whole, rounded down; @part is not more than @whole. It
 * grows with @part and ends at @value, so that cuts side by side add up. */
static inline uint64_t history_share(uint64_t value, uint64_t part,
				     uint64_t whole)
{
	uint64_t rest, share;

	if (part >= whole)
		return value;
	/* What is below @whole goes through a double, which cannot overflow. */
	rest = value % whole;
	share = (uint64_t)((double)rest * (double)part / (double)whole);
	return value / whole * part + (share < rest ? share : rest);
}

/* Of a weight that lies on 0 to @whole, what lies on @from to @to. */
static inline struct weight history_cut(const struct weight *weight,
					uint64_t from, uint64_t to,
					uint64_t whole)
{
	return (struct weight){
		.wall_ns = history_share(weight->wall_ns, to, whole) -
			   history_share(weight->wall_ns, from, whole),
		.cpu_ns = history_share(weight->cpu_ns, to, whole) -
			  history_share(weight->cpu_ns, from, whole),
		.samples = history_share(weight->samples, to, whole) -
			   history_share(weight->samples, from, whole),
	};
}

static inline void history_add_weight(struct weight *to,
				      const struct weight *weight)
{
	to->wall_ns += weight->wall_ns;
	to->cpu_ns += weight->cpu_ns;
	to->samples += weight->samples;
}

/*
 * Bring a slice of a file into the time of the run, as far as this file speaks
 * for it. Returns false when nothing is left.
 */
static inline bool history_trim(uint64_t file_start_ns, struct slice *slice)
{
	uint64_t before;

	if (slice->weight.wall_ns > HISTORY_TIME_MAX)
		slice->weight.wall_ns = HISTORY_TIME_MAX;
	if (slice->start_ns >= file_start_ns)
		return true;
	before = file_start_ns - slice->start_ns;
	if (before >= slice->weight.wall_ns)
		return false;
	slice->weight = history_cut(&slice->weight, before,
				    slice->weight.wall_ns,
				    slice->weight.wall_ns);
	slice->start_ns = file_start_ns;
	return true;
}

/*
 * Put in order what one more file has brought: images next to their process,
 * ends, how often a number was used again, totals. Returns 0 or -ENOMEM.
 */
int history_settle(struct history *h);

#endif
