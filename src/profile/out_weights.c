/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "profile/out.h"

/* What rounding down took from a node, in nanoseconds. */
struct remainder {
	uint32_t entry; /* first-level node */
	uint32_t node;
	uint32_t rest;
};

/* By entry, the largest first; equals in the order of their nodes. */
static int remainder_order(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Give the microseconds that one entry lost to its first remainders. */
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

static uint64_t node_ns(const struct node *node, enum out_value value,
			bool base)
{
	const struct weight *weight = base ? &node->base : &node->self;

	if (value == OUT_GIL)
		return base ? node->base_gil_ns : node->gil_ns;
	return value == OUT_CPU ? weight->cpu_ns : weight->wall_ns;
}

/* Round all down, and note what that took. @entry: of each node. */
static void round_down(const struct aggregate *agg, enum out_value value,
		       bool base, uint64_t *own, uint32_t *entry,
		       struct remainder *rests, size_t *ret_n)
{
	size_t n = 0;

	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		const struct node *node = aggregate_node(agg, i);
		uint64_t ns = node_ns(node, value, base);

		entry[i] = node->parent == AGGREGATE_NONE ? i
							  : entry[node->parent];
		own[i] = ns / NSEC_PER_USEC;
		if (ns % NSEC_PER_USEC)
			rests[n++] = (struct remainder){
				.entry = entry[i],
				.node = i,
				.rest = (uint32_t)(ns % NSEC_PER_USEC),
			};
	}
	*ret_n = n;
}

static void count_samples(const struct aggregate *agg, bool base, uint64_t *own)
{
	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		const struct node *node = aggregate_node(agg, i);

		own[i] = base ? node->base.samples : node->self.samples;
	}
}

int out_weights(const struct aggregate *agg, enum out_value value, bool base,
		uint64_t *ret_own)
{
	size_t count = aggregate_count(agg);
	struct remainder *rests = NULL;
	uint32_t *entry = NULL;
	size_t n = 0, from, to;
	int r = 0;

	if (value == OUT_SAMPLES) {
		count_samples(agg, base, ret_own);
		return 0;
	}
	rests = malloc((count + 1) * sizeof(*rests));
	entry = calloc(count + 1, sizeof(*entry));
	if (!rests || !entry) {
		r = -ENOMEM;
		goto out;
	}
	round_down(agg, value, base, ret_own, entry, rests, &n);
	qsort(rests, n, sizeof(*rests), remainder_order);
	for (from = 0; from < n; from = to) {
		to = from + 1;
		while (to < n && rests[to].entry == rests[from].entry)
			to++;
		give_back(rests + from, to - from, ret_own);
	}
out:
	free(rests);
	free(entry);
	return r;
}
