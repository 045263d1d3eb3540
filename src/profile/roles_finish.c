/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "profile/roles_internal.h"

/* A member's birth or end. */
struct change {
	uint64_t at_ns;
	int by;
};

/* Ends before births: who follows another was not there together with it. */
static int change_order(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->by - y->by;
}

static void at_least(uint32_t *value, uint32_t least)
{
	if (*value < least)
		*value = least;
}

/* Which point of the curve a moment belongs to. */
static size_t step_of(uint64_t at_ns, uint64_t end_ns)
{
	double step = end_ns ? (double)at_ns / (double)end_ns * ROLE_STEPS : 0;

	return step < ROLE_STEPS ? (size_t)step : ROLE_STEPS - 1;
}

/* The most members at one time, of each step and of all. */
static void draw_curve(struct role *role, const struct change *changes,
		       size_t n, uint64_t end_ns)
{
	uint32_t alive = 0;
	size_t step = 0;

	for (size_t i = 0; i < n; i++) {
		size_t to = step_of(changes[i].at_ns, end_ns);

		while (step < to)
			at_least(&role->alive[++step], alive);
		alive += (uint32_t)changes[i].by;
		at_least(&role->alive[step], alive);
		at_least(&role->at_once, alive);
	}
}

static int count_alive(struct role *role, const struct history *h)
{
	size_t n = role->images.n;
	struct change *changes = calloc(2 * n + 1, sizeof(*changes));

	if (!changes)
		return -ENOMEM;
	role->born_ns = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct past_image *image =
			&h->images.at[role->images.at[i]];

		uint64_t left_ns = image->until_ns;

		/* Even a life of no length is one. */
		if (left_ns <= image->at_ns)
			left_ns = image->at_ns + 1;
		changes[2 * i] = (struct change){ image->at_ns, 1 };
		changes[2 * i + 1] = (struct change){ left_ns, -1 };
		if (image->at_ns < role->born_ns)
			role->born_ns = image->at_ns;
		if (left_ns > role->left_ns)
			role->left_ns = left_ns;
	}
	qsort(changes, 2 * n, sizeof(*changes), change_order);
	draw_curve(role, changes, 2 * n, h->end_ns);
	free(changes);
	return 0;
}

/* By Newton's way: libm is not needed for one root. */
static double square_root(double x)
{
	double root = x > 1 ? x : 1;

	if (x <= 0)
		return 0;
	for (int i = 0; i < 64; i++)
		root = (root + x / root) / 2;
	return root;
}

static double share_of(const struct role_member *member)
{
	return member->life_ns
		       ? (double)member->cpu_ns / (double)member->life_ns
		       : 0;
}

static void spread(struct role *role, const struct roles *roles)
{
	double sum = 0, squares = 0;
	size_t n = role->images.n;

	for (size_t i = 0; i < n; i++)
		sum += share_of(&roles->members.at[role->images.at[i]]);
	role->cpu_mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = share_of(&roles->members.at[role->images.at[i]]) -
			     role->cpu_mean;

		squares += off * off;
	}
	role->cpu_spread = square_root(squares / (double)n);
}

static void add_up(struct role *role, const struct roles *roles)
{
	for (size_t i = 0; i < role->images.n; i++) {
		uint32_t image = role->images.at[i];
		const struct role_member *member = &roles->members.at[image];

		role->wall_ns += member->wall_ns;
		role->cpu_ns += member->cpu_ns;
		role->gil_wait_ns += member->gil_wait_ns;
		role->ready_ns += member->ready_ns;
		role->life_ns += member->life_ns;
		if (!i || member->cpu_ns < role->cpu_least_ns) {
			role->cpu_least = image;
			role->cpu_least_ns = member->cpu_ns;
		}
		if (!i || member->cpu_ns > role->cpu_most_ns) {
			role->cpu_most = image;
			role->cpu_most_ns = member->cpu_ns;
		}
	}
}

static int time_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Those that were last on a CPU before the newest member was born have been
 * replaced: nobody waited for their like. Of the rest, the last tenth.
 */
static int find_stragglers(struct role *role, const struct roles *roles,
			   const struct history *h)
{
	uint64_t *last = calloc(role->images.n + 1, sizeof(*last));
	uint64_t newest = 0;
	size_t n = 0, late;

	if (!last)
		return -ENOMEM;
	for (size_t i = 0; i < role->images.n; i++)
		if (h->images.at[role->images.at[i]].at_ns > newest)
			newest = h->images.at[role->images.at[i]].at_ns;
	for (size_t i = 0; i < role->images.n; i++) {
		uint64_t at = roles->members.at[role->images.at[i]].last_cpu_ns;

		if (at && at > newest)
			last[n++] = at;
	}
	qsort(last, n, sizeof(*last), time_order);
	late = n / 10 ? n / 10 : 1;
	if (n > late && last[n - 1] > last[n - 1 - late]) {
		role->stragglers = (uint32_t)late;
		role->straggle_ns = last[n - 1] - last[n - 1 - late];
	}
	free(last);
	return 0;
}

static void count_exits(struct role *role, const struct history *h)
{
	for (size_t i = 0; i < role->images.n; i++) {
		uint32_t image = role->images.at[i];
		const struct past_process *process =
			&h->processes.at[h->images.at[image].process];
		bool last = image + 1 == process->image + process->images;

		if (!process->left || !last)
			continue;
		role->exits++;
		if (!process->has_status)
			continue;
		if (process->status & 0x7f)
			role->signals++;
		else if (process->status >> 8 & 0xff)
			role->bad_exits++;
	}
	if (role->life_ns)
		role->turnover = role->exits * 60.0 * (double)NSEC_PER_SEC /
				 (double)role->life_ns;
}

static void time_starts(struct role *role, const struct roles *roles,
			const struct history *h)
{
	double sum = 0;

	for (size_t i = 0; i < role->images.n; i++) {
		uint32_t image = role->images.at[i];
		const struct past_image *im = &h->images.at[image];
		uint64_t own_ns = roles->members.at[image].own_ns;

		/* One that was there before began at some other time. */
		if (own_ns == UINT64_MAX ||
		    (h->processes.at[im->process].before &&
		     h->processes.at[im->process].image == image))
			continue;
		sum += (double)nsec_since(own_ns, im->at_ns);
		role->start_known++;
	}
	if (role->start_known)
		role->start_mean_ns = (uint64_t)(sum / role->start_known);
}

/* A member and its birth. */
struct birth {
	uint64_t at_ns;
	uint32_t image;
};

static int birth_order(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->image < y->image ? -1 : x->image > y->image;
}

static int sort_images(struct role *role, const struct history *h)
{
	size_t n = role->images.n;
	struct birth *births = calloc(n + 1, sizeof(*births));

	if (!births)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		births[i] = (struct birth){
			.at_ns = h->images.at[role->images.at[i]].at_ns,
			.image = role->images.at[i],
		};
	qsort(births, n, sizeof(*births), birth_order);
	for (size_t i = 0; i < n; i++)
		role->images.at[i] = births[i].image;
	free(births);
	return 0;
}

int role_finish(struct role *role, const struct roles *roles,
		const struct history *h)
{
	int r;

	if (!role->images.n)
		return 0;
	r = sort_images(role, h);
	if (r)
		return r;
	add_up(role, roles);
	spread(role, roles);
	count_exits(role, h);
	time_starts(role, roles, h);
	r = count_alive(role, h);
	return r ? r : find_stragglers(role, roles, h);
}
