/* SPDX-License-Identifier: Apache-2.0 */
#include "base/retime.h"

/* Parts of one, for fractions. */
#define ONE 65536u

/* Of a stretch that was longer, the mean of the loss is all that is needed. */
#define INTERVALS_MAX 65536u

uint64_t retime_next(uint64_t interval, uint64_t period, uint64_t passed,
		     uint64_t chance)
{
	uint64_t mean = interval, lost, more;

	/* The next stretch is taken to be as long as the last one. */
	if (period && passed / interval < INTERVALS_MAX && passed >= period) {
		lost = (passed % period) * ONE / period;
		more = interval * lost / passed;
		mean = interval * ONE / (ONE + more);
	}
	return mean * 1024 / (768 + chance % RETIME_CHANCES);
}
