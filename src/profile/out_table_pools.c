/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "base/nsec.h"
#include "base/strtab.h"
#include "profile/table.h"

#define MOST 10 /* pools, unless asked for more */
#define KINDS 5 /* of waits, of a pool */

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* The beginning of a line about a pool. */
static void label(struct table *t, const char *text)
{
	str_puts(&t->to, "  ");
	table_look(t, LOOK_DIM);
	str_printf(&t->to, "%-10s", text);
	table_look(t, LOOK_PLAIN);
}

static void put_title(struct table *t, const struct role *role)
{
	str_puts(&t->to, "\n");
	table_look(t, LOOK_BOLD);
	str_printf(&t->to, "pool of %zu: ", role->images.n);
	table_command(t, role->command, 56, FIT_END | FIT_RAGGED);
	table_look(t, LOOK_PLAIN);
	if (role->parent != HISTORY_NONE)
		str_printf(&t->to, " (children of %" PRId32 ")",
			   t->h->processes.at[role->parent].pid);
	str_puts(&t->to, "\n");
}

/* Members along the recording, as a row of bars. */
static void put_curve(struct table *t, const struct role *role)
{
	for (size_t i = 0; i < ROLE_STEPS; i += 2) {
		uint32_t n = role->alive[i] > role->alive[i + 1]
				     ? role->alive[i]
				     : role->alive[i + 1];
		/* Bars from U+2581, an eighth, to U+2588. */
		uint64_t eighth =
			role->at_once ? ((uint64_t)n * 8 - 1) / role->at_once
				      : 0;

		if (!n)
			str_puts(&t->to, " ");
		else
			str_printf(&t->to, "\xe2\x96%c",
				   (int)(0x81 + (eighth < 8 ? eighth : 7)));
	}
}

static void put_members(struct table *t, const struct role *role)
{
	label(t, "members");
	str_printf(&t->to, "%" PRIu32 " at once, %.2f to %.2f s  |",
		   role->at_once, seconds(role->born_ns),
		   seconds(role->left_ns));
	put_curve(t, role);
	str_puts(&t->to, "|\n");
}

static int32_t pid_of(const struct table *t, uint32_t image)
{
	return t->h->processes.at[t->h->images.at[image].process].pid;
}

static void put_cpu(struct table *t, const struct role *role)
{
	label(t, "on CPU");
	str_printf(&t->to,
		   "%.1f \xc2\xb1 %.1f %% of a life; least %.2f s (%" PRId32
		   "), most %.2f s (%" PRId32 ")",
		   100 * role->cpu_mean, 100 * role->cpu_spread,
		   seconds(role->cpu_least_ns), pid_of(t, role->cpu_least),
		   seconds(role->cpu_most_ns), pid_of(t, role->cpu_most));
	str_puts(&t->to, "\n");
	if (percent(role->ready_ns, role->life_ns) < 1)
		return;
	label(t, "no CPU");
	str_printf(&t->to, "ready to run, and without one: %.1f %% of a life\n",
		   percent(role->ready_ns, role->life_ns));
}

/* What they wait for, in percent of all their threads' time; the most first. */
static void put_waits(struct table *t, const struct role *role)
{
	bool told[WAIT_COUNT] = { false };
	uint64_t sum = 0;

	for (int i = 0; i < WAIT_COUNT; i++)
		sum += role->waits[i];
	if (!sum)
		return;
	label(t, "waits");
	str_printf(&t->to, "%.1f %%: ", percent(sum, role->wall_ns));
	for (int n = 0; n < KINDS; n++) {
		int most = -1;

		for (int i = 0; i < WAIT_COUNT; i++)
			if (!told[i] && role->waits[i] &&
			    (most < 0 || role->waits[i] > role->waits[most]))
				most = i;
		if (most < 0)
			break;
		told[most] = true;
		str_printf(&t->to, "%s%s %.1f %%", n ? ", " : "",
			   wait_name((enum wait_kind)most),
			   percent(role->waits[most], role->wall_ns));
	}
	str_puts(&t->to, "\n");
}

static void put_leaves(struct table *t, const struct role *role)
{
	for (size_t i = 0; i < ROLE_LEAVES; i++) {
		const struct role_wait *leaf = &role->leaves[i];

		/* What is below a hundredth tells nothing. */
		if (percent(leaf->wall_ns, role->wall_ns) < 1)
			break;
		label(t, i ? "" : "in");
		str_printf(&t->to, "%5.1f %% %-8s",
			   percent(leaf->wall_ns, role->wall_ns),
			   wait_name((enum wait_kind)leaf->kind));
		table_string(t, leaf->function, 30, FIT_END);
		str_puts(&t->to, " ");
		table_look(t, LOOK_DIM);
		table_string(t, leaf->file, 40, FIT_START | FIT_RAGGED);
		table_look(t, LOOK_PLAIN);
		str_puts(&t->to, "\n");
	}
}

static void put_gil(struct table *t, const struct role *role)
{
	if (!t->h->has_gil || !role->wall_ns)
		return;
	label(t, "GIL");
	str_printf(&t->to,
		   "waited for %.1f %% of the time that it wanted to run",
		   percent(role->gil_wait_ns,
			   role->cpu_ns + role->ready_ns + role->gil_wait_ns));
	str_printf(&t->to, " (%.2f s)\n", seconds(role->gil_wait_ns));
}

static void put_exits(struct table *t, const struct role *role)
{
	if (!role->exits)
		return;
	label(t, "ends");
	str_printf(&t->to, "%" PRIu32 " ended", role->exits);
	if (role->bad_exits || role->signals)
		table_look(t, LOOK_RED);
	if (role->bad_exits)
		str_printf(&t->to, ", %" PRIu32 " with a status not 0",
			   role->bad_exits);
	if (role->signals)
		str_printf(&t->to, ", %" PRIu32 " by a signal", role->signals);
	if (role->bad_exits || role->signals)
		table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

static void put_lives(struct table *t, const struct role *role)
{
	label(t, "lives");
	str_printf(&t->to, "%.3g s each",
		   seconds(role->life_ns / role->images.n));
	if (role->start_known)
		str_printf(&t->to, ", start-up %.3g s",
			   seconds(role->start_mean_ns));
	if (role->exits)
		str_printf(&t->to, ", turnover %.3g a minute", role->turnover);
	str_puts(&t->to, "\n");
	put_exits(t, role);
	/* What is shorter is no waiting. */
	if (!role->stragglers || role->straggle_ns < 10 * NSEC_PER_MSEC)
		return;
	label(t, "last");
	str_printf(&t->to,
		   "%" PRIu32 " still ran for %.2f s when the others had done "
		   "their last\n",
		   role->stragglers, seconds(role->straggle_ns));
}

static void put_reading(struct table *t, const struct role *role)
{
	struct str text = { 0 };

	role_reading(role, t->h, &text);
	if (text.len) {
		str_puts(&t->to, "  ");
		table_look(t, LOOK_YELLOW);
		str_puts(&t->to, "=> ");
		str_add(&t->to, text.at, text.len);
		table_look(t, LOOK_PLAIN);
		str_puts(&t->to, "\n");
	}
	t->to.failed = t->to.failed || text.failed;
	str_free(&text);
}

int table_pools(struct table *t)
{
	size_t most = t->options->rows ? t->options->rows : MOST;
	size_t shown = 0, pools = 0;

	for (size_t i = 0; i < t->roles.at.n; i++) {
		const struct role *role = &t->roles.at.at[i];

		if (role->images.n < 2)
			continue;
		pools++;
		if (shown == most)
			continue;
		shown++;
		put_title(t, role);
		put_members(t, role);
		put_cpu(t, role);
		put_waits(t, role);
		put_leaves(t, role);
		put_gil(t, role);
		put_lives(t, role);
		put_reading(t, role);
	}
	if (pools > shown)
		str_printf(&t->to, "\n%zu more pools\n", pools - shown);
	return t->to.failed ? -ENOMEM : 0;
}
