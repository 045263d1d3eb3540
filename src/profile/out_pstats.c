/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "base/str.h"
#include "base/strtab.h"
#include "profile/callgraph.h"
#include "profile/out.h"

/*
 * What Python's pstats module loads: a dictionary in the form of the marshal
 * module, which every Python 3 reads,
 *
 *   { (file, line, function): (cc, nc, tt, ct,
 *	{ (file, line, function) of a caller: (nc, cc, tt, ct) }) }
 *
 * - tt, ct: seconds by itself, and with what it called; a function that recurs
 *   counts once. (Of the weight OUT_SAMPLES: samples, not seconds.)
 * - nc, cc are numbers of calls there. Nobody counted them: they are the numbers
 *   of samples in which the function was on the stack.
 * - line would be that of the `def`, which is not known: 0. So the keys of two
 *   recordings are the same, and Stats.add adds them up.
 * - What has no file, and every entry of the tree's first level (a process, a
 *   role), has the file "~", which pstats shows by its name alone. The entry calls
 *   the roots of its stacks; its own time was outside of Python frames.
 */

#define CHUNK (64 * 1024) /* bytes are handed on when there are this many */

enum value {
	TIME,
	SAMPLES,
};

struct writer {
	const struct aggregate *agg;
	struct callgraph graph;
	double unit;        /* how many of the weight are 1 in the file */
	size_t *caller_end; /* by function: where its callers end in... */
	uint32_t *callers;  /* indices of edges, by what is called */
	struct str to;
};

/* --- marshal: a letter says what follows; numbers are little-endian */

static void put_bytes(struct writer *w, uint64_t value, size_t n)
{
	char bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(value >> 8 * i & 0xff);
	str_add(&w->to, bytes, n);
}

static void put_tuple(struct writer *w, uint32_t n)
{
	str_puts(&w->to, "(");
	put_bytes(w, n, 4);
}

/* 'i' has 32 bits and a sign; 'l' has digits of 15 bits, and their number. */
static void put_int(struct writer *w, uint64_t value)
{
	uint64_t rest = value;
	uint32_t digits = 0;

	if (value <= INT32_MAX) {
		str_puts(&w->to, "i");
		put_bytes(w, value, 4);
		return;
	}
	for (; rest; rest >>= 15)
		digits++;
	str_puts(&w->to, "l");
	put_bytes(w, digits, 4);
	for (rest = value; rest; rest >>= 15)
		put_bytes(w, rest & 0x7fff, 2);
}

/* 'g' is a double as IEEE 754 has it, as do all machines that we are built on. */
static void put_float(struct writer *w, double value)
{
	uint64_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "a double of 64 bits");
	memcpy(&bits, &value, sizeof(bits));
	str_puts(&w->to, "g");
	put_bytes(w, bits, 8);
}

static void put_text(struct writer *w, const char *bytes, size_t len)
{
	str_puts(&w->to, "u");
	put_bytes(w, len, 4);
	str_add(&w->to, bytes, len);
}

/* --- what is written */

/* A name, safe to print. pstats itself gives a file called ~ a meaning. */
static void put_name(struct writer *w, uint32_t string, const char *none)
{
	struct str text = { 0 };
	size_t len;
	const char *bytes = strtab_get(aggregate_strings(w->agg), string, &len);

	if (len)
		str_escape(&text, bytes, len, len == 1 ? "~" : "");
	else
		str_puts(&text, none);
	if (text.failed || text.len > INT32_MAX)
		w->to.failed = true;
	else
		put_text(w, text.at, text.len);
	str_free(&text);
}

static void put_key(struct writer *w, uint32_t function)
{
	const struct call_function *f = &w->graph.functions.at[function];

	put_tuple(w, 3);
	put_name(w, f->file, "~");
	put_int(w, 0);
	put_name(w, f->name, "");
}

/* The four numbers that a function and a caller of it have in common. */
static void put_numbers(struct writer *w, const struct call_cost *self,
			const struct call_cost *total)
{
	put_int(w, total->at[SAMPLES]);
	put_int(w, total->at[SAMPLES]);
	put_float(w, (double)self->at[TIME] / w->unit);
	put_float(w, (double)total->at[TIME] / w->unit);
}

static bool is_zero(const struct call_cost *cost)
{
	return !cost->at[TIME] && !cost->at[SAMPLES];
}

static void put_function(struct writer *w, uint32_t function)
{
	const struct call_function *f = &w->graph.functions.at[function];
	size_t i = function ? w->caller_end[function - 1] : 0;

	if (is_zero(&f->total))
		return;
	put_key(w, function);
	put_tuple(w, 5);
	put_numbers(w, &f->self, &f->total);
	str_puts(&w->to, "{");
	for (; i < w->caller_end[function]; i++) {
		const struct call_edge *edge =
			&w->graph.edges.at[w->callers[i]];

		if (is_zero(&edge->total))
			continue;
		put_key(w, w->graph.places.at[edge->place].function);
		put_tuple(w, 4);
		put_numbers(w, &edge->self, &edge->total);
	}
	str_puts(&w->to, "0"); /* the end of a dictionary */
}

static int make_graph(struct writer *w, enum out_value value)
{
	size_t count = aggregate_count(w->agg);
	struct call_options options = { .rule = CALL_EACH };
	uint64_t *time = malloc((count + 1) * sizeof(*time));
	uint64_t *samples = malloc((count + 1) * sizeof(*samples));
	int r = -ENOMEM;

	if (!time || !samples)
		goto out;
	for (uint32_t i = 0; i < count; i++) {
		const struct node *node = aggregate_node(w->agg, i);

		samples[i] = node->self.samples;
		time[i] = value == OUT_CPU   ? node->self.cpu_ns
			  : value == OUT_GIL ? node->gil_ns
					     : node->self.wall_ns;
		if (value == OUT_SAMPLES)
			time[i] = samples[i];
	}
	w->unit = value == OUT_SAMPLES ? 1 : (double)NSEC_PER_SEC;
	options.own[TIME] = time;
	options.own[SAMPLES] = samples;
	r = callgraph_make(&w->graph, w->agg, &options);
out:
	free(time);
	free(samples);
	return r;
}

/* Edges by what is called: count, add up, put each in its function's part. */
static int sort_callers(struct writer *w)
{
	const struct callgraph *g = &w->graph;
	size_t n = g->functions.n;

	w->caller_end = calloc(n + 1, sizeof(*w->caller_end));
	w->callers = malloc((g->edges.n + 1) * sizeof(*w->callers));
	if (!w->caller_end || !w->callers)
		return -ENOMEM;
	for (size_t i = 0; i < g->edges.n; i++)
		w->caller_end[g->edges.at[i].callee + 1]++;
	for (size_t i = 0; i < n; i++)
		w->caller_end[i + 1] += w->caller_end[i];
	for (uint32_t i = 0; i < g->edges.n; i++)
		w->callers[w->caller_end[g->edges.at[i].callee]++] = i;
	return 0;
}

static int write_all(struct writer *w, out_write write, void *ctx)
{
	int r = 0;

	str_puts(&w->to, "{");
	for (uint32_t i = 0; !r && i < w->graph.functions.n; i++) {
		put_function(w, i);
		if (w->to.failed)
			return -ENOMEM;
		if (w->to.len < CHUNK)
			continue;
		r = write(ctx, w->to.at, w->to.len);
		str_clear(&w->to);
	}
	if (r)
		return r;
	str_puts(&w->to, "0");
	return w->to.failed ? -ENOMEM : write(ctx, w->to.at, w->to.len);
}

int out_pstats(const struct aggregate *agg, const struct out_options *options,
	       out_write write, void *ctx)
{
	struct writer w = { .agg = agg };
	int r;

	r = make_graph(&w, options->value);
	if (!r)
		r = sort_callers(&w);
	if (!r)
		r = write_all(&w, write, ctx);
	callgraph_free(&w.graph);
	free(w.caller_end);
	free(w.callers);
	str_free(&w.to);
	return r;
}
