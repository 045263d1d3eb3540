/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/out.h"

/* Text is handed on when there is this much of it. */
#define CHUNK (64 * 1024)

/* What rounding down took from a node, in nanoseconds. */
struct remainder {
	uint32_t process; /* first-level node */
	uint32_t node;
	uint32_t rest;
};

/* By process, the largest first; equals in the order of their nodes. */
static int remainder_order(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Give the microseconds that one process lost to its first remainders. */
static void give_back(const struct remainder *rests, size_t n, uint64_t *own)
{
	uint64_t lost_ns = 0;
	uint64_t lost;

	for (size_t i = 0; i < n; i++)
		lost_ns += rests[i].rest;
	/* Each rest is below a microsecond, so that lost <= n. */
	lost = (lost_ns + NSEC_PER_USEC / 2) / NSEC_PER_USEC;
	for (size_t i = 0; i < lost; i++)
		own[rests[i].node]++;
}

/* Round all down, and note what that took. @process: of each node. */
static void round_down(const struct aggregate *agg, enum out_value value,
		       uint64_t *own, uint32_t *process,
		       struct remainder *rests, size_t *ret_n)
{
	size_t n = 0;

	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		const struct node *node = aggregate_node(agg, i);
		uint64_t ns = value == OUT_CPU ? node->self.cpu_ns
					       : node->self.wall_ns;

		process[i] = node->parent == AGGREGATE_NONE
				     ? i
				     : process[node->parent];
		own[i] = ns / NSEC_PER_USEC;
		if (ns % NSEC_PER_USEC)
			rests[n++] = (struct remainder){
				.process = process[i],
				.node = i,
				.rest = (uint32_t)(ns % NSEC_PER_USEC),
			};
	}
	*ret_n = n;
}

int out_weights(const struct aggregate *agg, enum out_value value,
		uint64_t *ret_own)
{
	size_t count = aggregate_count(agg);
	struct remainder *rests = NULL;
	uint32_t *process = NULL;
	size_t n = 0, from, to;
	int r = 0;

	if (value == OUT_SAMPLES) {
		for (uint32_t i = 0; i < count; i++)
			ret_own[i] = aggregate_node(agg, i)->self.samples;
		return 0;
	}
	rests = malloc((count + 1) * sizeof(*rests));
	process = calloc((size_t)count + 1, sizeof(*process));
	if (!rests || !process) {
		r = -ENOMEM;
		goto out;
	}
	round_down(agg, value, ret_own, process, rests, &n);
	qsort(rests, n, sizeof(*rests), remainder_order);
	for (from = 0; from < n; from = to) {
		to = from + 1;
		while (to < n && rests[to].process == rests[from].process)
			to++;
		give_back(rests + from, to - from, ret_own);
	}
out:
	free(rests);
	free(process);
	return r;
}

/* The texts of all frames, one after the other: each is escaped once only. */
struct texts {
	struct str bytes;
	struct VEC(size_t) end; /* of each frame's text */
};

static void frame_text(struct str *to, const struct strtab *strings,
		       struct frame frame)
{
	const char *name;
	size_t len;

	name = strtab_get(strings, frame.file, &len);
	str_escape(to, name, len, ";");
	str_puts(to, ":");
	name = strtab_get(strings, frame.function, &len);
	str_escape(to, name, len, ";:");
	str_printf(to, ":%" PRId32, frame.line);
}

static int texts_make(struct texts *texts, const struct aggregate *agg)
{
	for (uint32_t i = 0; i < aggregate_frame_count(agg); i++) {
		frame_text(&texts->bytes, aggregate_strings(agg),
			   aggregate_frame(agg, i));
		if (!vec_push(&texts->end, texts->bytes.len))
			return -ENOMEM;
	}
	return texts->bytes.failed ? -ENOMEM : 0;
}

/* What a writer works with. */
struct writer {
	const struct aggregate *agg;
	struct texts texts;
	struct VEC(
		uint32_t) path; /* nodes from the end of a stack to its root */
	struct str to;
};

static void add_process(struct writer *w, const struct process_entry *entry)
{
	const char *command;
	size_t len;

	command = strtab_get(aggregate_strings(w->agg), entry->command, &len);
	str_printf(&w->to, "%" PRIdMAX ": ", (intmax_t)entry->pid);
	str_escape(&w->to, command, len, ";");
}

static void add_frame(struct writer *w, uint32_t frame)
{
	size_t from = frame ? w->texts.end.at[frame - 1] : 0;

	str_puts(&w->to, ";");
	str_add(&w->to, w->texts.bytes.at + from,
		w->texts.end.at[frame] - from);
}

/* One line; nothing when its process is not wanted. */
static int add_line(struct writer *w, const struct out_options *options,
		    uint32_t node, uint64_t weight)
{
	const struct process_entry *entry;
	uint32_t at = node;

	w->path.n = 0;
	for (; at != AGGREGATE_NONE; at = aggregate_node(w->agg, at)->parent)
		if (!vec_push(&w->path, at))
			return -ENOMEM;
	entry = aggregate_entry(w->agg, w->path.at[w->path.n - 1]);
	if (!out_wants(options, entry))
		return 0;
	add_process(w, entry);
	for (size_t i = w->path.n - 1; i-- > 0;)
		add_frame(w, aggregate_node(w->agg, w->path.at[i])->frame);
	str_printf(&w->to, " %" PRIu64 "\n", weight);
	return w->to.failed ? -ENOMEM : 0;
}

int out_collapsed(const struct aggregate *agg,
		  const struct out_options *options, out_write write, void *ctx)
{
	uint32_t count = aggregate_count(agg);
	struct writer w = { .agg = agg };
	uint64_t *own;
	int r;

	own = malloc(((size_t)count + 1) * sizeof(*own));
	r = own ? out_weights(agg, options->value, own) : -ENOMEM;
	if (!r)
		r = texts_make(&w.texts, agg);
	for (uint32_t i = 0; !r && i < count; i++) {
		if (own[i])
			r = add_line(&w, options, i, own[i]);
		if (!r && w.to.len >= CHUNK) {
			r = write(ctx, w.to.at, w.to.len);
			str_clear(&w.to);
		}
	}
	if (!r && w.to.len)
		r = write(ctx, w.to.at, w.to.len);
	free(own);
	str_free(&w.texts.bytes);
	vec_free(&w.texts.end);
	vec_free(&w.path);
	str_free(&w.to);
	return r;
}
