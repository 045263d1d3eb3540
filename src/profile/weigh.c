/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weigh.h"

#include "base/nsec.h"

static const struct seen nothing = { .stack = STACKS_NONE };

/* The time between the standing of two stacks. */
struct gap {
	struct weight on; /* awake, with what was carried up to here */
	uint64_t on_ns;   /* without that */
	uint64_t off_ns;
};

void weigh_begin(struct weigh *w, uint64_t birth_ns, uint64_t cpu_ns)
{
	*w = (struct weigh){ .seen = nothing,
			     .running = nothing,
			     .begin_ns = birth_ns,
			     .since_ns = birth_ns,
			     .stood_ns = birth_ns,
			     .cpu_ns = cpu_ns };
}

void weigh_stood(struct weigh *w, uint64_t until_ns)
{
	if (weigh_has(w) && until_ns > w->stood_ns)
		w->stood_ns = until_ns;
}

void weigh_repeat(struct weigh *w, uint64_t ticks)
{
	w->own.samples += ticks;
}

void weigh_waited(struct weigh *w, uint64_t wait_ns)
{
	if (w->has_waits)
		w->waited_ns += nsec_since(wait_ns, w->waits_ns);
	w->waits_ns = wait_ns;
	w->has_waits = true;
}

static void add(struct weight *to, struct weight weight)
{
	to->wall_ns += weight.wall_ns;
	to->cpu_ns += weight.cpu_ns;
	to->samples += weight.samples;
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
			      uint64_t cpu_ns)
{
	uint64_t gap_ns = nsec_since(until_ns, w->stood_ns);
	uint64_t used_ns = nsec_since(cpu_ns, w->cpu_ns);
	struct gap gap = { .on = w->carry };

	if (weigh_has(w))
		w->own.wall_ns += w->stood_ns - w->since_ns;
	w->cpu_ns += used_ns;
	w->carry = (struct weight){ 0 };
	/* While a thread runs elsewhere its account is up to a tick behind. */
	gap.on.cpu_ns += used_ns;
	gap.on_ns = used_ns + w->waited_ns;
	if (gap.on_ns > gap_ns)
		gap.on_ns = gap_ns;
	w->waited_ns = 0;
	gap.on.wall_ns += gap.on_ns;
	gap.off_ns = gap_ns - gap.on_ns;
	return gap;
}

/* Time awake, between the newest stack and the next one, whose slice is @next. */
static void share_on(struct weigh *w, bool running, const struct gap *gap,
		     struct weight *next)
{
	struct weight half = half_of(gap->on);

	if (weigh_ran(w) && running) {
		add(&w->own, half);
		add(next, rest_of(gap->on, half));
	} else if (weigh_ran(w)) {
		add(&w->own, gap->on);
	} else if (running) {
		add(next, gap->on);
	} else {
		w->carry = gap->on;
	}
}

/* Time asleep, between the newest stack and the next one. */
static void share_off(struct weigh *w, bool running, uint64_t off_ns,
		      struct weight *next)
{
	uint64_t half = off_ns / 2;

	if (!weigh_has(w) || (weigh_ran(w) && !running))
		half = 0;
	else if (!weigh_ran(w) && running)
		half = off_ns;
	w->own.wall_ns += half;
	next->wall_ns += off_ns - half;
}

/* Put out the newest one's slice, if it weighs anything. */
static unsigned put_out(struct weigh *w, struct charge *out)
{
	const struct weight *own = &w->own;

	if (!weigh_has(w) || (!own->wall_ns && !own->cpu_ns && !own->samples))
		return 0;
	*out = (struct charge){ .seen = w->seen,
				.start_ns = w->begin_ns,
				.weight = *own };
	return 1;
}

unsigned weigh_sample(struct weigh *w, const struct seen *seen,
		      uint64_t since_ns, uint64_t now_ns, uint64_t cpu_ns,
		      struct charge *out)
{
	struct gap gap = close_stack(w, since_ns, cpu_ns);
	bool running = seen->run == RUN_ON_CPU;
	struct weight next = { .samples = 1 };
	uint64_t before_ns = w->own.wall_ns;
	unsigned n;

	share_on(w, running, &gap, &next);
	share_off(w, running, gap.off_ns, &next);
	n = put_out(w, out);
	/* The next slice begins where the shares of this one end. */
	w->begin_ns = w->stood_ns + (w->own.wall_ns - before_ns);
	if (!weigh_ran(w) && weigh_has(w) && !running)
		w->begin_ns += gap.on_ns;
	w->own = next;
	w->seen = *seen;
	if (running)
		w->running = *seen;
	w->since_ns = since_ns > w->stood_ns ? since_ns : w->stood_ns;
	w->stood_ns = now_ns > w->since_ns ? now_ns : w->since_ns;
	return n;
}

unsigned weigh_end(struct weigh *w, uint64_t end_ns, uint64_t cpu_ns,
		   struct charge *out)
{
	const struct seen running = w->running;
	struct weight late = { 0 };
	struct gap gap;
	unsigned n;

	if (!weigh_has(w))
		return 0;
	/* Proven beyond its end: a process whose time of death came late. */
	if (w->stood_ns > end_ns)
		w->stood_ns = end_ns > w->since_ns ? end_ns : w->since_ns;
	gap = close_stack(w, end_ns, cpu_ns);
	if (running.stack == STACKS_NONE || weigh_ran(w))
		add(&w->own, gap.on);
	else
		late = gap.on;
	w->own.wall_ns += gap.off_ns;
	n = put_out(w, out);
	if (late.wall_ns || late.cpu_ns)
		out[n++] = (struct charge){ .seen = running,
					    .start_ns = nsec_since(end_ns,
								   gap.on_ns),
					    .weight = late };
	w->seen = nothing;
	w->running = nothing;
	w->own = (struct weight){ 0 };
	return n;
}
