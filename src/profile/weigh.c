/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weigh.h"

#include "base/nsec.h"

/* The charges of one call. */
struct bill {
	struct charge *out;
	unsigned n;
};

/* The time between the standing of two stacks. */
struct gap {
	struct weight on; /* on a CPU */
	uint64_t off_ns;
};

void weigh_begin(struct weigh *w, uint64_t birth_ns, uint64_t cpu_ns)
{
	*w = (struct weigh){ .node = AGGREGATE_NONE,
			     .running = AGGREGATE_NONE,
			     .since_ns = birth_ns,
			     .stood_ns = birth_ns,
			     .cpu_ns = cpu_ns };
}

void weigh_stood(struct weigh *w, uint64_t until_ns)
{
	if (w->node != AGGREGATE_NONE && until_ns > w->stood_ns)
		w->stood_ns = until_ns;
}

void weigh_repeat(struct weigh *w, uint64_t ticks)
{
	w->samples += ticks;
}

static void charge(struct bill *bill, uint32_t node, struct weight weight)
{
	unsigned i = 0;

	if (!weight.wall_ns && !weight.cpu_ns && !weight.samples)
		return;
	while (i < bill->n && bill->out[i].node != node)
		i++;
	if (i == bill->n) {
		bill->out[i] = (struct charge){ .node = node };
		bill->n++;
	}
	bill->out[i].weight.wall_ns += weight.wall_ns;
	bill->out[i].weight.cpu_ns += weight.cpu_ns;
	bill->out[i].weight.samples += weight.samples;
}

static void charge_off(struct bill *bill, uint32_t node, uint64_t ns)
{
	charge(bill, node, (struct weight){ .wall_ns = ns });
}

static struct weight half_of(struct weight whole)
{
	return (struct weight){ .wall_ns = whole.wall_ns / 2,
				.cpu_ns = whole.cpu_ns / 2 };
}

static struct weight rest_of(struct weight whole, struct weight part)
{
	return (struct weight){ .wall_ns = whole.wall_ns - part.wall_ns,
				.cpu_ns = whole.cpu_ns - part.cpu_ns };
}

/* Close the newest stack's own time; what is left up to @until_ns is a gap. */
static struct gap close_stack(struct weigh *w, uint64_t until_ns,
			      uint64_t cpu_ns, struct bill *bill)
{
	struct weight own = { .wall_ns = w->stood_ns - w->since_ns,
			      .samples = w->samples };
	uint64_t gap_ns = nsec_since(until_ns, w->stood_ns);
	uint64_t used_ns = nsec_since(cpu_ns, w->cpu_ns);
	struct gap gap = { .on = w->carry };

	if (w->node != AGGREGATE_NONE)
		charge(bill, w->node, own);
	w->samples = 0;
	w->cpu_ns += used_ns;
	w->carry = (struct weight){ 0 };
	/* While a thread runs elsewhere its account is up to a tick behind. */
	gap.on.cpu_ns += used_ns;
	if (used_ns > gap_ns)
		used_ns = gap_ns;
	gap.on.wall_ns += used_ns;
	gap.off_ns = gap_ns - used_ns;
	return gap;
}

/* Time on a CPU, between the newest stack and @node. */
static void share_on(struct weigh *w, uint32_t node, bool running,
		     struct weight on, struct bill *bill)
{
	struct weight half = half_of(on);

	if (w->is_running && running) {
		charge(bill, w->node, half);
		charge(bill, node, rest_of(on, half));
	} else if (w->is_running) {
		charge(bill, w->node, on);
	} else if (running) {
		charge(bill, node, on);
	} else {
		w->carry = on;
	}
}

/* Time off a CPU, between the newest stack and @node. */
static void share_off(const struct weigh *w, uint32_t node, bool running,
		      uint64_t off_ns, struct bill *bill)
{
	uint64_t half = off_ns / 2;

	if (w->node == AGGREGATE_NONE || (w->is_running && !running))
		half = 0;
	else if (!w->is_running && running)
		half = off_ns;
	charge_off(bill, w->node, half);
	charge_off(bill, node, off_ns - half);
}

unsigned weigh_sample(struct weigh *w, uint32_t node, uint64_t since_ns,
		      uint64_t now_ns, uint64_t cpu_ns, bool running,
		      struct charge *out)
{
	struct bill bill = { .out = out };
	struct gap gap = close_stack(w, since_ns, cpu_ns, &bill);

	share_on(w, node, running, gap.on, &bill);
	share_off(w, node, running, gap.off_ns, &bill);
	w->node = node;
	w->is_running = running;
	if (running)
		w->running = node;
	w->since_ns = since_ns > w->stood_ns ? since_ns : w->stood_ns;
	w->stood_ns = now_ns > w->since_ns ? now_ns : w->since_ns;
	w->samples = 1;
	return bill.n;
}

unsigned weigh_end(struct weigh *w, uint64_t end_ns, uint64_t cpu_ns,
		   struct charge *out)
{
	struct bill bill = { .out = out };
	struct gap gap;

	/* Proven beyond its end: a process whose time of death came late. */
	if (w->node == AGGREGATE_NONE)
		return 0;
	if (w->stood_ns > end_ns)
		w->stood_ns = end_ns > w->since_ns ? end_ns : w->since_ns;
	gap = close_stack(w, end_ns, cpu_ns, &bill);
	charge(&bill, w->running != AGGREGATE_NONE ? w->running : w->node,
	       gap.on);
	charge_off(&bill, w->node, gap.off_ns);
	w->node = AGGREGATE_NONE;
	w->running = AGGREGATE_NONE;
	w->is_running = false;
	return bill.n;
}
