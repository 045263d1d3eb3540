/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/weigh.h"

#include "base/nsec.h"

/*
 * The time on a CPU, in intervals, of which no sample has hit any: a chance of two in
 * a hundred.
 */
#define PATIENCE 4

static const struct seen nothing = { .stack = STACKS_NONE };

/* The time between the standing of two stacks. */
struct gap {
	struct weight on;     /* awake, with what has waited up to here */
	struct weight waited; /* that */
	uint64_t on_ns;       /* without that */
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
	struct gap gap = { .on = w->carry, .waited = w->carry };

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

/* Who gets the time awake between the newest stack and the next one. */
struct shares {
	struct weight newest, next;
	struct weight last;   /* the one that ran last, before the newest */
	struct weight before; /* the next one, as it was before it fell asleep */
};

/* With what has waited, a hit is more likely than not; and as good as certain. */
static bool is_overdue(const struct weigh *w, const struct gap *gap)
{
	return w->interval_ns && gap->on.cpu_ns > w->interval_ns / 2;
}

static bool is_missed(const struct weigh *w, const struct gap *gap)
{
	return w->interval_ns && weigh_has(w) &&
	       gap->on.cpu_ns > PATIENCE * w->interval_ns;
}

static struct shares share_on(struct weigh *w, bool running,
			      const struct gap *gap)
{
	struct shares to = { 0 };
	bool hit = !running && w->ran_before && is_overdue(w, gap);
	struct weight *next = running ? &to.next : &to.before;
	struct weight half = half_of(gap->on);

	if (weigh_ran(w) && (running || hit)) {
		to.newest = half;
		*next = rest_of(gap->on, half);
	} else if (weigh_ran(w)) {
		to.newest = gap->on;
	} else if (running || hit) {
		if (w->running.stack != STACKS_NONE)
			to.last = half_of(gap->waited);
		*next = rest_of(gap->on, to.last);
	} else if (is_missed(w, gap)) {
		to.newest = half;
		to.next = rest_of(gap->on, half);
	} else {
		w->carry = gap->on;
	}
	return to;
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

/* A slice of its own, or a weight that follows the newest one's. */
static unsigned put_weight(const struct seen *seen, uint64_t start_ns,
			   const struct weight *weight, struct charge *out)
{
	if (!weight->wall_ns && !weight->cpu_ns)
		return 0;
	*out = (struct charge){ .seen = *seen,
				.start_ns = start_ns,
				.weight = *weight };
	return 1;
}

void weigh_ran_before(struct weigh *w)
{
	w->ran_before = true;
}

/*
 * What is found asleep, as it was a moment before. It has let go of the interpreter's
 * lock since; it had it when it ran, as far as is known.
 */
static struct seen was_before(const struct weigh *w, const struct seen *seen)
{
	struct seen before = { .stack = seen->stack, .run = RUN_ON_CPU };

	if (w->running.stack != STACKS_NONE)
		before.gil = w->running.gil;
	else if (seen->gil != GIL_UNKNOWN)
		before.gil = GIL_HELD;
	return before;
}

/* The place of what follows; what has waited is weight without one. */
static void go_on(struct weigh *w, uint64_t by_ns, uint64_t until_ns)
{
	w->begin_ns += by_ns;
	if (w->begin_ns > until_ns)
		w->begin_ns = until_ns;
}

unsigned weigh_sample(struct weigh *w, const struct seen *seen,
		      uint64_t since_ns, uint64_t now_ns, uint64_t cpu_ns,
		      struct charge *out)
{
	struct gap gap = close_stack(w, since_ns, cpu_ns);
	bool running = seen->run == RUN_ON_CPU;
	uint64_t before_ns = w->own.wall_ns;
	struct shares to = share_on(w, running, &gap);
	const struct seen before = was_before(w, seen);
	unsigned n;

	to.next.samples = 1;
	add(&w->own, to.newest);
	share_off(w, running, gap.off_ns, &to.next);
	n = put_out(w, out);
	/* The next slice begins where the shares of this one end. */
	if (since_ns < w->stood_ns)
		since_ns = w->stood_ns;
	w->begin_ns = w->stood_ns;
	go_on(w, w->own.wall_ns - before_ns, since_ns);
	if (weigh_has(w) && w->carry.wall_ns)
		go_on(w, gap.on_ns, since_ns);
	n += put_weight(&w->running, w->begin_ns, &to.last, out + n);
	n += put_weight(&before, w->begin_ns, &to.before, out + n);
	go_on(w, to.before.wall_ns, since_ns);
	if (running)
		w->running = *seen;
	else if (to.before.wall_ns)
		w->running = before;
	w->own = to.next;
	w->seen = *seen;
	w->ran_before = false;
	w->since_ns = since_ns;
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
	n += put_weight(&running, nsec_since(end_ns, gap.on_ns), &late,
			out + n);
	w->seen = nothing;
	w->running = nothing;
	w->own = (struct weight){ 0 };
	return n;
}
