/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

#include "base/nsec.h"

/* Between two looks: blocks of the recording are written each second. */
#define LOOK_NS (200 * NSEC_PER_MSEC)

/* What a tick may cost, before it is known: the run begins at the rate that fits. */
#define TICK_NS (100 * NSEC_PER_USEC)

/* Below this share of what may be spent, the rate rises again. */
#define LITTLE 0.7

/* Too slow is made good in some looks; what was spent has been spent. */
static uint64_t first_interval(uint64_t share_ns, uint64_t asked_ns)
{
	uint64_t first = share_ns ? TICK_NS * NSEC_PER_SEC / share_ns : 0;

	if (first > BUDGET_LONGEST_NS)
		first = BUDGET_LONGEST_NS;
	return first > asked_ns ? first : asked_ns;
}

void budget_begin(struct budget *budget, uint64_t share_ns, uint64_t asked_ns,
		  uint64_t now_ns, uint64_t cpu_ns)
{
	*budget = (struct budget){ .share_ns = share_ns,
				   .asked_ns = asked_ns,
				   .interval_ns =
					   first_interval(share_ns, asked_ns),
				   .start_ns = now_ns,
				   .start_cpu_ns = cpu_ns,
				   .look_ns = now_ns,
				   .look_cpu_ns = cpu_ns };
}

bool budget_due(const struct budget *budget, uint64_t now_ns)
{
	return budget->share_ns &&
	       nsec_since(now_ns, budget->look_ns) >= LOOK_NS;
}

/* What a second from now may cost: less, while there is something to save up. */
static double allowed(const struct budget *budget, uint64_t now_ns,
		      uint64_t cpu_ns)
{
	double share = (double)budget->share_ns;
	double spent = (double)nsec_since(cpu_ns, budget->start_cpu_ns);
	double wall = (double)nsec_since(now_ns, budget->start_ns);
	double over = spent - share * wall / (double)NSEC_PER_SEC;

	if (over <= 0)
		return share;
	return share - over > share / 4 ? share - over : share / 4;
}

/* The interval that would have cost what is allowed, within bounds. */
static uint64_t fitting(const struct budget *budget, double pace, double may)
{
	double factor = pace / may;
	double interval;

	if (factor > LITTLE && factor <= 1)
		return budget->interval_ns;
	/* One stretch may mislead: the way back is in steps. */
	if (factor < 0.5)
		factor = 0.5;
	if (factor > 4)
		factor = 4;
	interval = (double)budget->interval_ns * factor;
	if (interval > (double)BUDGET_LONGEST_NS)
		interval = (double)BUDGET_LONGEST_NS;
	if (interval < (double)budget->asked_ns)
		return budget->asked_ns;
	return (uint64_t)interval;
}

bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
	double wall = (double)nsec_since(now_ns, budget->look_ns);
	double spent = (double)nsec_since(cpu_ns, budget->look_cpu_ns);
	uint64_t old = budget->interval_ns;

	if (!budget->share_ns || wall <= 0)
		return false;
	budget->look_ns = now_ns;
	budget->look_cpu_ns = cpu_ns;
	budget->interval_ns = fitting(budget,
				      spent * (double)NSEC_PER_SEC / wall,
				      allowed(budget, now_ns, cpu_ns));
	return budget->interval_ns != old;
}
