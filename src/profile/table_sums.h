/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_TABLE_SUMS_H
#define PROFILE_TABLE_SUMS_H

#include <stdint.h>

#include "base/vec.h"
#include "profile/aggregate.h"
#include "profile/query.h"

/* What functions weigh: nanoseconds, or samples. */
struct sum {
	uint64_t own;   /* in it */
	uint64_t total; /* in it and what it called; once for each stack */
};

struct function_sum {
	uint32_t function, file; /* strings */
	int32_t line;            /* the heaviest of its lines; 0: none */
	struct sum now, base;
	uint64_t line_own, line_total;
};

struct sums {
	struct VEC(struct function_sum) at;
	struct sum now, base; /* of everything; own: in no function */
};

/*
 * @levels  how many levels below the first are no functions, but threads and
 *          the like
 *
 * Returns 0 or -ENOMEM; sums_free is due in both cases.
 */
int sums_make(struct sums *ret, const struct aggregate *agg,
	      enum out_value value, unsigned levels);
void sums_free(struct sums *sums);

#endif
