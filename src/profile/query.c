/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"
#include "profile/query_internal.h"

/* The nodes of the units, and of threads below them. */
struct roots {
	struct history *h;
	const struct query *query;
	struct aggregate *agg;
	struct map hosts; /* the entry of each host */
	struct str text;
};

static uint32_t text_id(struct roots *roots)
{
	const struct str *text = &roots->text;

	return text->failed ? STRTAB_NONE
			    : strtab_id(roots->h->strings, text->at, text->len);
}

static void add_name(struct roots *roots, uint32_t id)
{
	size_t len;
	const char *name = strtab_get(roots->h->strings, id, &len);

	str_add(&roots->text, len ? name : "?", len ? len : 1);
}

static uint32_t unit_label(struct roots *roots, const struct unit *unit)
{
	const struct agg_entry *e = &unit->entry;
	struct str *text = &roots->text;

	str_clear(text);
	switch (roots->query->group) {
	case GROUP_PROCESS:
	case GROUP_THREAD:
		str_printf(text, "%" PRId32, e->pid);
		if (unit->again)
			str_printf(text, " (%" PRIu64 ")",
				   (uint64_t)unit->again + 1);
		str_puts(text, ": ");
		add_name(roots, e->command);
		break;
	case GROUP_ROLE:
		add_name(roots, e->command);
		if (e->processes > 1)
			str_printf(text, " (%" PRIu32 " processes)",
				   e->processes);
		break;
	case GROUP_ALL:
		str_puts(text, "all");
		break;
	}
	return text_id(roots);
}

/* The entry of a host, which @e is now a part of; AGGREGATE_NONE, no memory. */
static uint32_t host_entry(struct roots *roots, uint32_t host,
			   const struct agg_entry *e)
{
	struct agg_entry entry = *e;
	struct agg_entry *whole;
	uint64_t node;

	if (!map_get(&roots->hosts, host, &node)) {
		str_clear(&roots->text);
		add_name(roots, host);
		entry.label = text_id(roots);
		if (entry.label == STRTAB_NONE)
			return AGGREGATE_NONE;
		node = aggregate_entry_new(roots->agg, &entry);
		if (node == AGGREGATE_NONE ||
		    !map_put(&roots->hosts, host, node))
			return AGGREGATE_NONE;
		return (uint32_t)node;
	}
	whole = aggregate_entry_at(roots->agg, (uint32_t)node);
	/* Images of one process are neighbours. */
	if (whole->process == HISTORY_NONE || whole->process != e->process) {
		whole->process = HISTORY_NONE;
		whole->processes += e->processes;
		whole->pid = 0;
	}
	if (whole->command != e->command)
		whole->command = 0;
	if (whole->python != e->python)
		whole->python = 0;
	if (whole->born_ns > e->born_ns)
		whole->born_ns = e->born_ns;
	if (whole->left_ns < e->left_ns)
		whole->left_ns = e->left_ns;
	return (uint32_t)node;
}

/* The node of a unit; AGGREGATE_NONE without memory. */
static uint32_t unit_node(struct roots *roots, const struct unit *unit)
{
	struct agg_entry entry = unit->entry;
	struct frame frame = { 0 };
	uint32_t host;

	entry.label = unit_label(roots, unit);
	if (entry.label == STRTAB_NONE)
		return AGGREGATE_NONE;
	if (!roots->query->hosts)
		return aggregate_entry_new(roots->agg, &entry);
	host = host_entry(roots, unit->host, &entry);
	frame.function = entry.label;
	return aggregate_child(roots->agg, host, &frame);
}

/* The node of a thread below that of its unit. */
static uint32_t thread_node(struct roots *roots, uint32_t unit,
			    const struct past_thread *t)
{
	struct frame frame = { 0 };

	if (roots->query->group != GROUP_THREAD)
		return unit;
	str_clear(&roots->text);
	str_printf(&roots->text, "thread %" PRId32, t->tid);
	if (t->name) {
		str_puts(&roots->text, " ");
		add_name(roots, t->name);
	}
	frame.function = text_id(roots);
	return frame.function == STRTAB_NONE
		       ? AGGREGATE_NONE
		       : aggregate_child(roots->agg, unit, &frame);
}

/* Give each thread that is shown its node. */
static int roots_make(struct roots *roots, struct placing *placing)
{
	const struct selection *selection = placing->selection;
	struct history *h = roots->h;
	struct VEC(uint32_t) nodes = { 0 };
	struct units units = { 0 };
	int r = units_make(&units, selection);

	for (size_t i = 0; !r && i < units.at.n; i++) {
		uint32_t node = unit_node(roots, &units.at.at[i]);

		if (node == AGGREGATE_NONE || !vec_push(&nodes, node))
			r = -ENOMEM;
	}
	for (uint32_t i = 0; !r && i < h->threads.n; i++) {
		const struct past_thread *t = &h->threads.at[i];

		if (!units_has_thread(selection, i))
			continue;
		placing->root_of[i] = thread_node(
			roots, nodes.at[units.of_image.at[t->image]], t);
		if (placing->root_of[i] == AGGREGATE_NONE)
			r = -ENOMEM;
	}
	units_free(&units);
	vec_free(&nodes);
	return r;
}

int query_aggregate(struct history *h, const struct query *query,
		    struct aggregate **ret)
{
	struct roots roots = { .h = h, .query = query };
	struct selection selection = { 0 };
	struct placing placing = { 0 };
	int r;

	if (query->group > GROUP_ALL || query->frames > FRAMES_FILES)
		return -EINVAL;
	roots.agg = aggregate_new(h->strings);
	if (!roots.agg)
		return -ENOMEM;
	r = selection_make(&selection, h, query);
	if (!r)
		r = placing_begin(&placing, roots.agg, &selection);
	if (!r)
		r = roots_make(&roots, &placing);
	if (!r)
		r = placing_run(&placing);
	if (r) {
		aggregate_free(roots.agg);
		roots.agg = NULL;
	} else {
		*ret = roots.agg;
	}
	placing_end(&placing);
	selection_free(&selection);
	map_free(&roots.hosts);
	str_free(&roots.text);
	return r;
}
