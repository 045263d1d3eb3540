/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RETIME_H
#define BASE_RETIME_H

#include <stdint.h>

/*
 * A clock that ticks evenly runs in step with what it looks at, so it gets another
 * period now and then. Each change begins a tick anew: what had passed of the last one
 * is lost, half a tick on average. And of many periods it is the mean of their rates
 * that counts, and not the mean of themselves, which is less. Both would make the
 * number of ticks a wrong measure of time, by up to 4 %.
 */

/* @chance of retime_next is below this. */
#define RETIME_CHANCES 513u

/*
 * The next period: its rate is up to a quarter more or less than that which makes up for
 * what the last change loses. All in ns.
 *
 * @interval  the mean that is wanted, not 0
 * @period    the present one; 0: there is none
 * @passed    since it was set
 * @chance    at random, below RETIME_CHANCES
 */
uint64_t retime_next(uint64_t interval, uint64_t period, uint64_t passed,
		     uint64_t chance);

#endif
