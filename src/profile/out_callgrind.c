/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/strtab.h"
#include "profile/callgraph.h"
#include "profile/out.h"

/*
 * The profile format of valgrind's callgrind: for each function its cost by line,
 * and for each call out of it the cost of what was called.
 *
 * - Every entry of the tree is an object (ob=), so that processes stay apart in
 *   kcachegrind; and a function in it, which calls the roots of its stacks and has
 *   the cost of time outside of Python frames. A single entry needs no object.
 *   (callgrind_annotate and speedscope know functions by their names only, and add
 *   them up over all objects: for these, merge the processes first.)
 * - A function has one number; its name is given where that first comes up, and
 *   never again.
 * - Nobody counted calls: what is told instead is the number of samples that
 *   went through one, or 1.
 * - The cost of a call is that of the innermost one of its caller in a stack, see
 *   callgraph.h: a function's own cost and that of its calls add up to the time
 *   that it stood on a stack, however it recurs.
 * - The first event is the weight that was asked for, the others follow.
 */

#define CHUNK (64 * 1024) /* text is handed on when there is this much */

/* What there are no names for; an empty one would be read as a reference. */
#define UNKNOWN "???"

struct event {
	const char *name;
	enum out_value value;
};

struct writer {
	const struct aggregate *agg;
	struct callgraph graph;
	size_t *place_end; /* by function: where its part of these ends */
	size_t *edge_end;
	uint32_t *places;    /* indices by function */
	uint32_t *edges;     /* indices by the function that calls */
	bool *told_function; /* whose names have been given, by index */
	bool *told_string;   /* likewise files and objects, by string */
	struct event events[CALL_VALUES];
	uint64_t *own[CALL_VALUES]; /* weights of the nodes, by event */
	size_t n_events;
	size_t samples;  /* which event counts them */
	uint32_t ob, fl; /* what was written last */
	struct str to;
};

static bool any_gil(const struct aggregate *agg)
{
	for (uint32_t i = 0; i < aggregate_count(agg); i++)
		if (aggregate_node(agg, i)->gil_ns)
			return true;
	return false;
}

/* The one that was asked for, then the others that there are. */
static void choose_events(struct writer *w, enum out_value first)
{
	static const struct event all[] = {
		{ "Wall_us", OUT_WALL },
		{ "CPU_us", OUT_CPU },
		{ "Samples", OUT_SAMPLES },
		{ "GIL_us", OUT_GIL },
	};
	const size_t n = sizeof(all) / sizeof(*all);

	for (size_t i = 0; i < n; i++)
		if (all[i].value == first)
			w->events[w->n_events++] = all[i];
	for (size_t i = 0; i < n; i++)
		if (all[i].value != first &&
		    (all[i].value != OUT_GIL || any_gil(w->agg)))
			w->events[w->n_events++] = all[i];
	for (size_t i = 0; i < w->n_events; i++)
		if (w->events[i].value == OUT_SAMPLES)
			w->samples = i;
}

static int make_graph(struct writer *w)
{
	struct call_options options = {
		.rule = CALL_INNERMOST,
		.by_line = true,
	};
	size_t count = (size_t)aggregate_count(w->agg) + 1;
	size_t entries = 0;
	int r = 0;

	for (uint32_t i = 0; i < aggregate_count(w->agg); i++)
		if (aggregate_node(w->agg, i)->parent == AGGREGATE_NONE)
			entries++;
	options.by_entry = entries > 1;
	for (size_t i = 0; !r && i < w->n_events; i++) {
		w->own[i] = malloc(count * sizeof(*w->own[i]));
		if (!w->own[i])
			return -ENOMEM;
		r = out_weights(w->agg, w->events[i].value, false, w->own[i]);
		options.own[i] = w->own[i];
	}
	return r ? r : callgraph_make(&w->graph, w->agg, &options);
}

static uint32_t caller_of(const struct writer *w, uint32_t edge)
{
	return w->graph.places.at[w->graph.edges.at[edge].place].function;
}

/* Places and edges by function: count, add up, put each in its function's part. */
static int sort_graph(struct writer *w)
{
	const struct callgraph *g = &w->graph;
	size_t n = g->functions.n;

	w->place_end = calloc(n + 1, sizeof(*w->place_end));
	w->edge_end = calloc(n + 1, sizeof(*w->edge_end));
	w->places = malloc((g->places.n + 1) * sizeof(*w->places));
	w->edges = malloc((g->edges.n + 1) * sizeof(*w->edges));
	if (!w->place_end || !w->edge_end || !w->places || !w->edges)
		return -ENOMEM;
	for (size_t i = 0; i < g->places.n; i++)
		w->place_end[g->places.at[i].function + 1]++;
	for (uint32_t i = 0; i < g->edges.n; i++)
		w->edge_end[caller_of(w, i) + 1]++;
	for (size_t i = 0; i < n; i++) {
		w->place_end[i + 1] += w->place_end[i];
		w->edge_end[i + 1] += w->edge_end[i];
	}
	/* Each begins where the one before it ends, and moves to its own end. */
	for (uint32_t i = 0; i < g->places.n; i++)
		w->places[w->place_end[g->places.at[i].function]++] = i;
	for (uint32_t i = 0; i < g->edges.n; i++)
		w->edges[w->edge_end[caller_of(w, i)]++] = i;
	return 0;
}

/* @before, and a number: there are many, and str_printf takes its time. */
static void put_number(struct writer *w, char before, uint64_t value)
{
	char text[24];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + value % 10);
	while (value /= 10);
	text[--at] = before;
	str_add(&w->to, text + at, sizeof(text) - at);
}

/* A name's number, in brackets, by which it is referred to. */
static void put_reference(struct writer *w, const char *key, uint32_t number)
{
	str_puts(&w->to, key);
	put_number(w, '(', (uint64_t)number + 1);
	str_puts(&w->to, ")");
}

static void put_text(struct writer *w, uint32_t string)
{
	size_t len;
	const char *bytes = strtab_get(aggregate_strings(w->agg), string, &len);

	if (len)
		str_escape(&w->to, bytes, len, "");
	else
		str_puts(&w->to, UNKNOWN);
}

/* A file or an object: its number, and the first time its name. */
static void put_string(struct writer *w, const char *key, uint32_t string)
{
	put_reference(w, key, string);
	if (!w->told_string[string]) {
		str_puts(&w->to, " ");
		put_text(w, string);
	}
	w->told_string[string] = true;
	str_puts(&w->to, "\n");
}

static void put_function(struct writer *w, const char *key, uint32_t function)
{
	const struct call_function *f = &w->graph.functions.at[function];

	put_reference(w, key, function);
	if (!w->told_function[function]) {
		str_puts(&w->to, " ");
		put_text(w, f->name);
	}
	w->told_function[function] = true;
	str_puts(&w->to, "\n");
}

static bool is_zero(const struct writer *w, const struct call_cost *cost)
{
	for (size_t i = 0; i < w->n_events; i++)
		if (cost->at[i])
			return false;
	return true;
}

static void put_cost(struct writer *w, int32_t line,
		     const struct call_cost *cost)
{
	str_printf(&w->to, "%" PRId32, line);
	for (size_t i = 0; i < w->n_events; i++)
		put_number(w, ' ', cost->at[i]);
	str_puts(&w->to, "\n");
}

static void put_call(struct writer *w, const struct call_edge *edge)
{
	const struct call_function *callee =
		&w->graph.functions.at[edge->callee];
	uint64_t samples = edge->total.at[w->samples];

	put_string(w, "cfl=", callee->file);
	put_function(w, "cfn=", edge->callee);
	/* Where the callee begins is not known: line 0. */
	str_puts(&w->to, "calls");
	put_number(w, '=', samples ? samples : 1);
	str_puts(&w->to, " 0\n");
	put_cost(w, w->graph.places.at[edge->place].line, &edge->total);
}

/* A function with its lines and its calls; nothing, where that is all 0. */
static void put_part(struct writer *w, uint32_t function)
{
	const struct call_function *f = &w->graph.functions.at[function];
	size_t place = function ? w->place_end[function - 1] : 0;
	size_t edge = function ? w->edge_end[function - 1] : 0;

	if (is_zero(w, &f->total))
		return;
	str_puts(&w->to, "\n");
	if (f->entry != w->ob)
		put_string(w, "ob=", f->entry);
	w->ob = f->entry;
	if (f->file != w->fl)
		put_string(w, "fl=", f->file);
	w->fl = f->file;
	put_function(w, "fn=", function);
	for (; place < w->place_end[function]; place++) {
		const struct call_place *p =
			&w->graph.places.at[w->places[place]];

		if (!is_zero(w, &p->self))
			put_cost(w, p->line, &p->self);
	}
	for (; edge < w->edge_end[function]; edge++) {
		const struct call_edge *e = &w->graph.edges.at[w->edges[edge]];

		if (!is_zero(w, &e->total))
			put_call(w, e);
	}
}

static void put_head(struct writer *w, const char *title)
{
	struct call_cost sum = { 0 };

	for (size_t i = 0; i < w->graph.places.n; i++)
		for (size_t v = 0; v < w->n_events; v++)
			sum.at[v] += w->graph.places.at[i].self.at[v];
	str_puts(&w->to, "# callgrind format\nversion: 1\n"
			 "creator: forkflame " PACKAGE_VERSION "\n");
	if (title) {
		str_puts(&w->to, "cmd: ");
		str_escape(&w->to, title, strlen(title), "");
		str_puts(&w->to, "\n");
	}
	str_puts(&w->to, "desc: Calls: samples, since calls are not counted\n"
			 "positions: line\nevents:");
	for (size_t v = 0; v < w->n_events; v++)
		str_printf(&w->to, " %s", w->events[v].name);
	str_puts(&w->to, "\nsummary:");
	for (size_t v = 0; v < w->n_events; v++)
		put_number(w, ' ', sum.at[v]);
	str_puts(&w->to, "\n");
}

static int write_all(struct writer *w, out_write write, void *ctx)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < w->graph.functions.n; i++) {
		put_part(w, i);
		if (w->to.failed)
			return -ENOMEM;
		if (w->to.len < CHUNK)
			continue;
		r = write(ctx, w->to.at, w->to.len);
		str_clear(&w->to);
	}
	return r || !w->to.len ? r : write(ctx, w->to.at, w->to.len);
}

int out_callgrind(const struct aggregate *agg,
		  const struct out_options *options, out_write write, void *ctx)
{
	struct writer w = { .agg = agg, .fl = STRTAB_NONE };
	int r;

	choose_events(&w, options->value);
	r = make_graph(&w);
	if (!r)
		r = sort_graph(&w);
	if (r)
		goto out;
	r = -ENOMEM;
	w.told_function =
		calloc(w.graph.functions.n + 1, sizeof(*w.told_function));
	w.told_string = calloc((size_t)strtab_count(aggregate_strings(agg)) + 1,
			       sizeof(*w.told_string));
	if (!w.told_function || !w.told_string)
		goto out;
	put_head(&w, options->title);
	r = write_all(&w, write, ctx);
out:
	callgraph_free(&w.graph);
	free(w.place_end);
	free(w.edge_end);
	free(w.places);
	free(w.edges);
	free(w.told_function);
	free(w.told_string);
	for (size_t i = 0; i < CALL_VALUES; i++)
		free(w.own[i]);
	str_free(&w.to);
	return r;
}
