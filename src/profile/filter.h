/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include <stdint.h>

#include "profile/history.h"
#include "profile/query.h"

/*
 * The stacks of a history as a query wants them: without the frames that it
 * excludes, with lines, functions or files only, and none for those that it does
 * not include. Made on demand, kept by number, so that each stack is looked at
 * once however often it is seen.
 */
struct filter;

/* Both are borrowed for life. Returns NULL when memory is gone. */
struct filter *filter_new(const struct history *h, const struct query *query);
void filter_free(struct filter *filter);

/* The stacks that filter_stack gives numbers of. */
const struct stacks *filter_stacks(const struct filter *filter);

/*
 * The stack to show for @stack of the history.
 *
 * Returns STACKS_NONE when it is not wanted, and when memory is gone: then
 * *@ret_r is set to -ENOMEM, else to 0.
 */
uint32_t filter_stack(struct filter *filter, uint32_t stack, int *ret_r);

#endif
