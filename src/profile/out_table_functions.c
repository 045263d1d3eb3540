/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/roles_internal.h"
#include "profile/table.h"
#include "profile/table_sums.h"

#define ROWS 20       /* by own weight, unless asked for more */
#define MORE_ROWS 10  /* by total, of those that the others called */
#define FIRST 10      /* that are shown whatever they weigh */
#define LEAST 0.002   /* share from which on a function is shown */
#define NAME_LEAST 16 /* columns */
#define NAME_MOST 34
#define NAME_DIFF 20
#define CALLER 0.05 /* share of what is called, likewise */

/* The columns of the rows that are to come. */
struct columns {
	bool diff;
	int numbers; /* of the weights */
	size_t name, file;
};

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Those that come first weigh most by themselves; or changed most. */
static int own_order(const void *a, const void *b)
{
	const struct function_sum *x = a, *y = b;

	if (x->now.own != y->now.own)
		return x->now.own > y->now.own ? -1 : 1;
	if (x->now.total != y->now.total)
		return x->now.total > y->now.total ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static int total_order(const void *a, const void *b)
{
	const struct function_sum *x = a, *y = b;

	if (x->now.total != y->now.total)
		return x->now.total > y->now.total ? -1 : 1;
	return own_order(a, b);
}

static int change_order(const void *a, const void *b)
{
	const struct function_sum *x = a, *y = b;
	uint64_t dx = apart(x->now.own, x->base.own);
	uint64_t dy = apart(y->now.own, y->base.own);

	if (dx != dy)
		return dx > dy ? -1 : 1;
	dx = apart(x->now.total, x->base.total);
	dy = apart(y->now.total, y->base.total);
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return own_order(a, b);
}

static void put_value(struct table *t, uint64_t value, int width)
{
	if (t->options->value == OUT_SAMPLES)
		str_printf(&t->to, "%*" PRIu64, width, value);
	else
		table_seconds(t, value, width);
}

/* What it became less what it was: with its sign, red where it grew. */
static void put_change(struct table *t, const struct sum *now,
		       const struct sum *base, bool own, int width)
{
	uint64_t a = own ? now->own : now->total;
	uint64_t b = own ? base->own : base->total;
	double by = (double)apart(a, b) * (a < b ? -1 : 1);
	char text[32];

	if (t->options->value != OUT_SAMPLES)
		by /= 1e9;
	(void)snprintf(text, sizeof(text), "%+.*f",
		       t->options->value == OUT_SAMPLES ? 0 : 2, by);
	if (a != b)
		table_look(t, a > b ? LOOK_RED : LOOK_GREEN);
	str_printf(&t->to, "%*s", width, text);
	if (a != b)
		table_look(t, LOOK_PLAIN);
}

static void put_numbers(struct table *t, const struct sums *sums,
			const struct sum *now, const struct sum *base,
			const struct columns *c)
{
	if (c->diff) {
		put_value(t, base->own, c->numbers);
		put_value(t, now->own, c->numbers);
		put_change(t, now, base, true, c->numbers);
		put_value(t, base->total, c->numbers);
		put_value(t, now->total, c->numbers);
		put_change(t, now, base, false, c->numbers);
		return;
	}
	table_percent(t, now->own, sums->now.total, 7);
	put_value(t, now->own, c->numbers);
	table_percent(t, now->total, sums->now.total, 8);
	put_value(t, now->total, c->numbers);
}

static void put_row(struct table *t, const struct sums *sums,
		    const struct function_sum *sum, const struct columns *c)
{
	put_numbers(t, sums, &sum->now, &sum->base, c);
	str_puts(&t->to, "  ");
	/* A frame of a view by files has none. */
	if (!sum->function) {
		table_string(t, sum->file, c->name + 2 + c->file,
			     FIT_START | FIT_RAGGED);
		str_puts(&t->to, "\n");
		return;
	}
	table_string(t, sum->function, c->name, FIT_END);
	str_puts(&t->to, "  ");
	table_look(t, LOOK_DIM);
	/* The line takes up to six columns; it is not cut. */
	table_string(t, sum->file, c->file - 6, FIT_START | FIT_RAGGED);
	if (sum->file && sum->line)
		str_printf(&t->to, ":%" PRId32, sum->line);
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

static void put_head(struct table *t, const struct columns *c)
{
	const char *unit = t->options->value == OUT_SAMPLES ? "n" : "s";
	char own[16], total[16];

	table_look(t, LOOK_DIM);
	(void)snprintf(own, sizeof(own), "self %s", unit);
	(void)snprintf(total, sizeof(total), "total %s", unit);
	if (c->diff)
		str_printf(&t->to, "%*s%*s%*s%*s%*s%*s", c->numbers, "self was",
			   c->numbers, "is", c->numbers, "change", c->numbers,
			   "total was", c->numbers, "is", c->numbers, "change");
	else
		str_printf(&t->to, "%7s%*s%8s%*s", "self %", c->numbers, own,
			   "total %", c->numbers, total);
	if (t->query->frames == FRAMES_FILES)
		str_puts(&t->to, "  file");
	else
		str_printf(&t->to, "  %-*s  file:line", (int)c->name,
			   "function");
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

static void headline(struct table *t, const struct sums *sums)
{
	static const char *const names[] = {
		[OUT_WALL] = "wall time",
		[OUT_CPU] = "CPU time",
		[OUT_SAMPLES] = "samples",
		[OUT_GIL] = "time with the GIL held",
	};
	const char *unit = t->options->value == OUT_SAMPLES ? "samples" : "s";
	bool samples = t->options->value == OUT_SAMPLES;
	double scale = samples ? 1 : 1e9;
	const char *what = t->query->frames == FRAMES_FILES ? "files"
							    : "functions";
	char text[128];

	if (t->options->diff)
		(void)snprintf(text, sizeof(text),
			       "%s by change of %s (%.*f %s were, %.*f "
			       "%s are)",
			       what, names[t->options->value], samples ? 0 : 2,
			       (double)sums->base.total / scale, unit,
			       samples ? 0 : 2, (double)sums->now.total / scale,
			       unit);
	else
		(void)snprintf(text, sizeof(text), "hottest %s by %s (%.*f %s)",
			       what, names[t->options->value], samples ? 0 : 2,
			       (double)sums->now.total / scale, unit);
	table_headline(t, text);
}

/*
 * Worth a row by its own weight, or by how that changed; the first few are, be
 * they ever so little.
 */
static bool is_hot(const struct sums *sums, const struct function_sum *sum,
		   bool diff, size_t row)
{
	uint64_t all = sums->now.total > sums->base.total ? sums->now.total
							  : sums->base.total;
	uint64_t own = sum->now.own;

	if (diff)
		own = apart(own, sum->base.own);
	if (diff && !own)
		own = apart(sum->now.total, sum->base.total);
	return own && (row < FIRST || (double)own >= LEAST * (double)all);
}

static void widen(struct table *t, struct columns *c,
		  const struct function_sum *sum)
{
	size_t columns = table_columns(t, sum->function);

	size_t most = c->diff ? NAME_DIFF : NAME_MOST;

	if (columns > c->name)
		c->name = columns < most ? columns : most;
}

/* Is it a caller that tells something: not how Python starts processes? */
static bool is_telling(const struct table *t, const struct sums *sums,
		       const struct function_sum *sum)
{
	return (double)sum->now.total >= CALLER * (double)sums->now.total &&
	       sum->now.total && !stages_is_python(t->h->strings, sum->file);
}

/*
 * Sort the functions: @ret_own that are hot by themselves, and @ret_all with those
 * behind them that are by what they call. What follows is the rest.
 */
static void choose(struct table *t, struct sums *sums, struct columns *c,
		   size_t *ret_own, size_t *ret_all)
{
	size_t most = t->options->rows ? t->options->rows : ROWS;
	size_t own = 0, all;
	struct function_sum *at = sums->at.at;

	if (sums->at.n)
		qsort(at, sums->at.n, sizeof(*at),
		      c->diff ? change_order : own_order);
	while (own < sums->at.n && own < most &&
	       is_hot(sums, &at[own], c->diff, own))
		widen(t, c, &at[own++]);
	all = own;
	if (most > MORE_ROWS)
		most = MORE_ROWS;
	if (!c->diff && own < sums->at.n)
		qsort(at + own, sums->at.n - own, sizeof(*at), total_order);
	for (size_t i = own; !c->diff && i < sums->at.n && all - own < most;
	     i++) {
		struct function_sum sum = at[i];

		if (!is_telling(t, sums, &sum))
			continue;
		widen(t, c, &sum);
		at[i] = at[all];
		at[all++] = sum;
	}
	*ret_own = own;
	*ret_all = all;
}

static void put_callers(struct table *t, const struct sums *sums, size_t from,
			size_t to, const struct columns *c)
{
	if (from == to)
		return;
	table_look(t, LOOK_DIM);
	str_puts(&t->to, "and by what they call:\n");
	table_look(t, LOOK_PLAIN);
	for (size_t i = from; i < to; i++)
		put_row(t, sums, &sums->at.at[i], c);
}

static void put_outside(struct table *t, const struct sums *sums,
			const struct columns *c)
{
	struct sum now = { sums->now.own, sums->now.own };
	struct sum base = { sums->base.own, sums->base.own };

	if (!now.own && !base.own)
		return;
	put_numbers(t, sums, &now, &base, c);
	str_puts(&t->to, "  (no Python on the stack)\n");
}

static void put_rest(struct table *t, const struct sums *sums, size_t from)
{
	uint64_t own = 0;
	size_t n = 0;

	for (size_t i = from; i < sums->at.n; i++) {
		own += sums->at.at[i].now.own;
		n += sums->at.at[i].now.own > 0;
	}
	if (!n)
		return;
	table_look(t, LOOK_DIM);
	table_percent(t, own, sums->now.total, 7);
	put_value(t, own, 10);
	str_printf(&t->to, "%20s%zu more", "", n);
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

int table_functions(struct table *t)
{
	unsigned levels = (t->query->group == GROUP_THREAD) + t->query->hosts;
	struct columns c = { .diff = t->options->diff,
			     .numbers = 10,
			     .name = NAME_LEAST };
	struct sums sums;
	size_t own, all;
	int r;

	r = sums_make(&sums, t->agg, t->options->value, levels);
	if (r)
		goto out;
	if (!sums.now.total && !sums.base.total) {
		table_headline(t, "nothing was sampled");
		goto out;
	}
	headline(t, &sums);
	choose(t, &sums, &c, &own, &all);
	c.file = TABLE_WIDTH - (c.diff ? 60 : 35) - 2 - c.name - 2;
	put_head(t, &c);
	for (size_t i = 0; i < own; i++)
		put_row(t, &sums, &sums.at.at[i], &c);
	put_outside(t, &sums, &c);
	put_callers(t, &sums, own, all, &c);
	if (!c.diff)
		put_rest(t, &sums, all);
out:
	sums_free(&sums);
	return r || !t->to.failed ? r : -ENOMEM;
}
