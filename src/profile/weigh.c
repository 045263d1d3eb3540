/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weigh.h"

#include "base/nsec.h"

void weigh_begin(struct weigh *w, uint64_t birth_ns, uint64_t cpu_ns)
{
	*w = (struct weigh){ .node = AGGREGATE_NONE,
			     .running = AGGREGATE_NONE,
			     .left_ns = birth_ns,
			     .stood_ns = birth_ns,
			     .cpu_ns = cpu_ns };
}

void weigh_stood(struct weigh *w, uint64_t until_ns)
{
	if (until_ns > w->stood_ns)
		w->stood_ns = until_ns;
}

void weigh_repeat(struct weigh *w, uint64_t ticks)
{
	w->samples += ticks;
}

/* Charge CPU time to @node, in the slot of @out that has it, or a new one. */
static unsigned charge_cpu(struct charge *out, unsigned n, uint32_t node,
			   uint64_t cpu_ns)
{
	if (!cpu_ns)
		return n;
	for (unsigned i = 0; i < n; i++) {
		if (out[i].node != node)
			continue;
		out[i].weight.cpu_ns += cpu_ns;
		return n;
	}
	out[n] = (struct charge){ .node = node, .weight.cpu_ns = cpu_ns };
	return n + 1;
}

/* The wall time of the newest stack ends at @at_ns. */
static unsigned charge_wall(struct weigh *w, uint64_t at_ns, struct charge *out)
{
	struct weight weight = { .wall_ns = nsec_since(at_ns, w->left_ns),
				 .samples = w->samples };

	w->samples = 0;
	if (at_ns > w->left_ns)
		w->left_ns = at_ns;
	if (w->node == AGGREGATE_NONE || (!weight.wall_ns && !weight.samples))
		return 0;
	out[0] = (struct charge){ .node = w->node, .weight = weight };
	return 1;
}

static void account(struct weigh *w, uint64_t cpu_ns)
{
	if (cpu_ns <= w->cpu_ns)
		return;
	w->carry_ns += cpu_ns - w->cpu_ns;
	w->cpu_ns = cpu_ns;
}

unsigned weigh_sample(struct weigh *w, uint32_t node, uint64_t since_ns,
		      uint64_t now_ns, uint64_t cpu_ns, bool running,
		      struct charge *out)
{
	uint64_t half;
	unsigned n = 0;

	account(w, cpu_ns);
	/* The first sample reaches back to the birth: nothing to cut. */
	if (w->node != AGGREGATE_NONE)
		n = charge_wall(w,
				since_ns < w->stood_ns
					? w->stood_ns
					: nsec_middle(w->stood_ns, since_ns),
				out);
	if (running) {
		half = w->is_running ? w->carry_ns / 2 : 0;
		n = charge_cpu(out, n, w->node, half);
		n = charge_cpu(out, n, node, w->carry_ns - half);
		w->carry_ns = 0;
		w->running = node;
	} else if (w->is_running) {
		n = charge_cpu(out, n, w->node, w->carry_ns);
		w->carry_ns = 0;
	}
	w->node = node;
	w->is_running = running;
	w->stood_ns = now_ns;
	w->samples = 1;
	return n;
}

unsigned weigh_end(struct weigh *w, uint64_t end_ns, uint64_t cpu_ns,
		   struct charge *out)
{
	uint32_t node = w->running != AGGREGATE_NONE ? w->running : w->node;
	unsigned n = charge_wall(w, end_ns, out);

	account(w, cpu_ns);
	if (node != AGGREGATE_NONE) {
		n = charge_cpu(out, n, node, w->carry_ns);
		w->carry_ns = 0;
	}
	w->node = AGGREGATE_NONE;
	w->running = AGGREGATE_NONE;
	w->is_running = false;
	return n;
}
