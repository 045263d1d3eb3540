/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "profile/query_internal.h"

/* Two histories in one tree: the weights of the other one beside our own. */

struct comparing {
	struct aggregate *agg;
	struct strtab *strings; /* the aggregate's */
	const struct query *query;
	struct map hosts; /* the entry of each host, by its label */
	struct map units; /* host's node << 32 | label without a number */
};

/* The length of a label without ` (N processes)`. */
static size_t label_len(const char *label, size_t len)
{
	static const char end[] = " processes)";
	size_t n = sizeof(end) - 1;
	size_t at;

	if (len <= n || memcmp(label + len - n, end, n) != 0)
		return len;
	for (at = len - n; at > 0; at--)
		if (label[at - 1] < '0' || label[at - 1] > '9')
			break;
	if (at == len - n || at < 2 || label[at - 1] != '(' ||
	    label[at - 2] != ' ')
		return len;
	return at - 2;
}

/* The same text without a number; STRTAB_NONE without memory. */
static uint32_t without_number(struct strtab *strings, uint32_t label)
{
	struct str copy = { 0 };
	uint32_t id = STRTAB_NONE;
	const char *text;
	size_t len;

	text = strtab_get(strings, label, &len);
	/* The table may move while it grows. */
	str_add(&copy, text, label_len(text, len));
	if (!copy.failed)
		id = strtab_id(strings, copy.at, copy.len);
	str_free(&copy);
	return id;
}

static bool know_unit(struct comparing *c, uint32_t host, uint32_t label,
		      uint32_t node)
{
	uint32_t id = without_number(c->strings, label);

	return id != STRTAB_NONE &&
	       map_put(&c->units, (uint64_t)host << 32 | id, node);
}

/* Where the units of the aggregate are. Returns 0 or -ENOMEM. */
static int know_units(struct comparing *c)
{
	for (uint32_t i = 0; i < aggregate_count(c->agg); i++) {
		const struct agg_entry *entry = aggregate_entry(c->agg, i);
		const struct node *node = aggregate_node(c->agg, i);
		bool known = true;

		if (entry && !c->query->hosts) {
			known = know_unit(c, AGGREGATE_NONE, entry->label, i);
		} else if (entry) {
			known = map_put(&c->hosts, entry->label, i);
		} else if (c->query->hosts &&
			   aggregate_entry(c->agg, node->parent)) {
			struct frame frame =
				aggregate_frame(c->agg, node->frame);

			known = know_unit(c, node->parent, frame.function, i);
		}
		if (!known)
			return -ENOMEM;
	}
	return 0;
}

/* The base has it, the aggregate has not. */
static uint32_t new_entry(struct comparing *c, uint32_t label, uint32_t command,
			  const struct agg_entry *of)
{
	struct agg_entry entry = { .label = label,
				   .process = HISTORY_NONE,
				   .thread = HISTORY_NONE,
				   .command = command,
				   .born_ns = of->born_ns,
				   .left_ns = of->left_ns };

	return aggregate_entry_new(c->agg, &entry);
}

static uint32_t host_node(struct comparing *c, struct placing *placing,
			  const struct unit *unit)
{
	uint32_t label = placing_string(placing, unit->host);
	uint64_t node;

	if (!label)
		label = strtab_id(c->strings, "?", 1);
	if (label == STRTAB_NONE)
		return AGGREGATE_NONE;
	if (map_get(&c->hosts, label, &node))
		return (uint32_t)node;
	node = new_entry(c, label, 0, &unit->entry);
	if (node == AGGREGATE_NONE || !map_put(&c->hosts, label, node))
		return AGGREGATE_NONE;
	return (uint32_t)node;
}

/* The node of a unit of the base, new or not. */
static uint32_t unit_node(struct comparing *c, struct placing *placing,
			  const struct unit *unit)
{
	uint32_t command = placing_string(placing, unit->entry.command);
	uint32_t host = AGGREGATE_NONE;
	uint32_t label = command;
	uint64_t node;

	if (c->query->group == GROUP_ALL)
		label = strtab_id(c->strings, "all", 3);
	else if (!label)
		label = strtab_id(c->strings, "?", 1);
	if (label == STRTAB_NONE || command == STRTAB_NONE)
		return AGGREGATE_NONE;
	if (c->query->hosts) {
		host = host_node(c, placing, unit);
		if (host == AGGREGATE_NONE)
			return AGGREGATE_NONE;
	}
	label = without_number(c->strings, label);
	if (label == STRTAB_NONE)
		return AGGREGATE_NONE;
	if (map_get(&c->units, (uint64_t)host << 32 | label, &node))
		return (uint32_t)node;
	if (host == AGGREGATE_NONE)
		return new_entry(c, label, command, &unit->entry);
	return aggregate_child(c->agg, host,
			       &(struct frame){ .function = label });
}

static int place_units(struct comparing *c, struct placing *placing)
{
	const struct selection *selection = placing->selection;
	const struct history *base = selection->history;
	struct VEC(uint32_t) nodes = { 0 };
	struct units units = { 0 };
	int r = units_make(&units, selection);

	for (size_t i = 0; !r && i < units.at.n; i++) {
		uint32_t node = unit_node(c, placing, &units.at.at[i]);

		if (node == AGGREGATE_NONE || !vec_push(&nodes, node))
			r = -ENOMEM;
	}
	for (uint32_t i = 0; !r && i < base->threads.n; i++) {
		uint32_t image = base->threads.at[i].image;

		if (units_has_thread(selection, i))
			placing->root_of[i] =
				nodes.at[units.of_image.at[image]];
	}
	units_free(&units);
	vec_free(&nodes);
	return r;
}

int query_compare(struct aggregate *agg, struct history *h,
		  const struct query *query, const struct history *base)
{
	struct comparing c = { .agg = agg, .strings = h->strings };
	struct selection selection = { 0 };
	struct placing placing = { 0 };
	struct query all = *query;
	int r;

	if (query->group != GROUP_ROLE && query->group != GROUP_ALL)
		return -EINVAL;
	all.n_pids = 0;
	all.n_trees = 0;
	all.process = HISTORY_NONE;
	c.query = &all;
	r = selection_make(&selection, base, &all);
	if (!r)
		r = placing_begin(&placing, agg, &selection);
	if (r)
		goto out;
	placing.base = true;
	placing.from = base->strings;
	placing.to = h->strings;
	r = know_units(&c);
	if (!r)
		r = place_units(&c, &placing);
	if (!r)
		r = placing_run(&placing);
out:
	placing_end(&placing);
	selection_free(&selection);
	map_free(&c.hosts);
	map_free(&c.units);
	return r;
}
