/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/map.h"
#include "profile/query_internal.h"

/* What the first level of an aggregate is made of. */

bool units_has_thread(const struct selection *selection, uint32_t thread)
{
	const struct past_thread *t = &selection->history->threads.at[thread];
	const struct query *query = selection->query;

	return selection->threads[thread] &&
	       (t->total.wall_ns || t->total.cpu_ns || t->total.samples) &&
	       t->end_ns >= query->since_ns && t->born_ns < query->until_ns;
}

/* Images with a thread that is shown. */
static bool *images_used(const struct selection *selection)
{
	const struct history *h = selection->history;
	bool *used = calloc(h->images.n + 1, sizeof(*used));

	for (uint32_t i = 0; used && i < h->threads.n; i++)
		used[h->threads.at[i].image] |= units_has_thread(selection, i);
	return used;
}

/* By what an image is told apart from those of other units. */
static uint64_t unit_key(const struct query *query, uint32_t host,
			 const struct past_image *image, uint32_t number)
{
	uint64_t own = 0;

	if (query->group == GROUP_ROLE)
		own = image->command;
	else if (query->group != GROUP_ALL)
		own = number;
	return (uint64_t)host << 32 | own;
}

/* One more image in a unit. */
static void unit_add(struct unit *unit, const struct history *h,
		     const struct past_image *image)
{
	const struct past_process *p = &h->processes.at[image->process];
	struct agg_entry *e = &unit->entry;

	if (unit->last_process != image->process)
		e->processes++;
	unit->last_process = image->process;
	if (e->processes > 1) {
		e->process = HISTORY_NONE;
		if (e->pid != p->pid)
			e->pid = 0;
	}
	if (e->command != image->command)
		e->command = 0;
	if (e->python != image->python)
		e->python = 0;
	if (e->born_ns > image->at_ns)
		e->born_ns = image->at_ns;
	if (e->left_ns < image->until_ns)
		e->left_ns = image->until_ns;
}

static struct unit unit_new(const struct history *h,
			    const struct past_image *image, uint32_t host)
{
	const struct past_process *p = &h->processes.at[image->process];

	return (struct unit){
		.host = host,
		.last_process = HISTORY_NONE,
		.again = p->again,
		.entry = { .process = image->process,
			   .thread = HISTORY_NONE,
			   .pid = p->pid,
			   .command = image->command,
			   .python = image->python,
			   .born_ns = image->at_ns,
			   .left_ns = image->until_ns },
	};
}

int units_make(struct units *ret, const struct selection *selection)
{
	const struct history *h = selection->history;
	bool *used = images_used(selection);
	struct units units = { 0 };
	struct map known = { 0 };
	int r = -ENOMEM;

	if (!used || !vec_reserve(&units.of_image, h->images.n))
		goto out;
	for (uint32_t i = 0; i < h->images.n; i++) {
		const struct past_image *image = &h->images.at[i];
		uint32_t run = h->processes.at[image->process].run;
		uint32_t host =
			selection->query->hosts ? h->runs.at[run].run.host : 0;
		uint64_t key = unit_key(selection->query, host, image, i);
		uint64_t at = HISTORY_NONE;

		if (used[i] && !map_get(&known, key, &at)) {
			at = units.at.n;
			if (!vec_push(&units.at, unit_new(h, image, host)) ||
			    !map_put(&known, key, at))
				goto out;
		}
		if (used[i])
			unit_add(&units.at.at[at], h, image);
		units.of_image.at[units.of_image.n++] = (uint32_t)at;
	}
	*ret = units;
	units = (struct units){ 0 };
	r = 0;
out:
	units_free(&units);
	map_free(&known);
	free(used);
	return r;
}

void units_free(struct units *units)
{
	vec_free(&units->at);
	vec_free(&units->of_image);
}
