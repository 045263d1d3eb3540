/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/roles.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/nsec.h"
#include "profile/roles_internal.h"
#include "profile/summary.h"

/* Roles that are being found. */
struct grouping {
	struct roles *roles;
	const struct selection *selection;
	struct map by_key;     /* parent << 32 | command: index of a role */
	struct strtab *masked; /* command lines without their numbers */
	struct str text;
};

/* Is @text a number, or an address in brackets that ends in one? */
static bool is_number(const char *text)
{
	const char *end = text + strspn(text, "0123456789");

	if (*text == '[') {
		end = strchr(text, ']');
		return end && isdigit((unsigned char)end[-1]);
	}
	return end > text && (!*end || *end == ' ' || *end == ']');
}

/*
 * Programs that give themselves a title number their workers in it:
 * "[celeryd: celery@host:ForkPoolWorker-2]", "uWSGI worker 3",
 * "dask worker [tcp://127.0.0.1:40433]".
 */
static bool numbers_a_worker(const char *text)
{
	static const char *const nouns[] = { "orker", "rocess" };

	for (size_t i = 0; i < sizeof(nouns) / sizeof(*nouns); i++) {
		const char *at = text;

		while ((at = strstr(at, nouns[i]))) {
			at += strlen(nouns[i]);
			if ((*at == '-' || *at == ' ') && is_number(at + 1))
				return true;
		}
	}
	return false;
}

/* A command line that multiprocessing made up has the numbers of its pipes. */
static bool numbers_mean_nothing(const char *text)
{
	return strstr(text, "multiprocessing") || strstr(text, "popen_loky") ||
	       numbers_a_worker(text);
}

/* With a 0 for each of its numbers. */
static uint32_t masked_command(struct grouping *g, const char *text, size_t len)
{
	uint32_t id;

	str_clear(&g->text);
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			str_add(&g->text, text + i, 1);
		else if (!i || !isdigit((unsigned char)text[i - 1]))
			str_puts(&g->text, "0");
	}
	if (g->text.failed)
		return STRTAB_NONE;
	id = strtab_id(g->masked, g->text.at, g->text.len);
	/* Apart from the numbers of those that are as they are. */
	return id == STRTAB_NONE ? id : id | 1u << 31;
}

static uint32_t command_key(struct grouping *g, uint32_t command)
{
	size_t len;
	const char *text =
		strtab_get(g->selection->history->strings, command, &len);

	return numbers_mean_nothing(text) ? masked_command(g, text, len)
					  : command;
}

/* The role of an image, new or not; ROLE_NONE without memory. */
static uint32_t role_of(struct grouping *g, const struct past_image *image)
{
	const struct history *h = g->selection->history;
	struct role role = { .parent = h->processes.at[image->process].parent,
			     .command = image->command,
			     .started = image->started,
			     .cpu_least = HISTORY_NONE,
			     .cpu_most = HISTORY_NONE };
	/* Workers whose titles have numbers, or tell what they do, are alike. */
	uint32_t command = command_key(g, image->started);
	uint64_t key = (uint64_t)role.parent << 32 | command;
	uint64_t at = g->roles->at.n;
	struct role *known;

	if (command == STRTAB_NONE)
		return ROLE_NONE;
	if (map_get(&g->by_key, key, &at)) {
		known = &g->roles->at.at[at];
		if (known->command != image->command)
			known->command = known->started;
		return (uint32_t)at;
	}
	if (!vec_push(&g->roles->at, role) || !map_put(&g->by_key, key, at))
		return ROLE_NONE;
	return (uint32_t)at;
}

/* How long an image lived in the time that is asked for. */
static uint64_t life_within(const struct query *query,
			    const struct past_image *image)
{
	uint64_t from = image->at_ns, until = image->until_ns;

	if (from < query->since_ns)
		from = query->since_ns;
	if (until > query->until_ns)
		until = query->until_ns;
	return nsec_since(until, from);
}

/* Give each image that is selected a role: not all will keep it. */
static int assign(struct grouping *g)
{
	const struct history *h = g->selection->history;
	const struct query *query = g->selection->query;

	for (uint32_t i = 0; i < h->images.n; i++) {
		const struct past_image *image = &h->images.at[i];
		struct role_member member = { .role = ROLE_NONE,
					      .own_ns = UINT64_MAX };

		if (g->selection->processes[image->process] &&
		    image->at_ns <= query->until_ns &&
		    image->until_ns >= query->since_ns) {
			member.life_ns = life_within(query, image);
			member.role = role_of(g, image);
			if (member.role == ROLE_NONE)
				return -ENOMEM;
		}
		if (!vec_push(&g->roles->members, member))
			return -ENOMEM;
	}
	return 0;
}

static bool is_last_image(const struct past_process *process, uint32_t image)
{
	return image + 1 == process->image + process->images;
}

/*
 * Is it one that worked, or should have? Not a child on its way to an exec, and
 * no other program.
 */
static bool is_member(const struct history *h, uint32_t image,
		      const struct role_member *member)
{
	const struct past_image *im = &h->images.at[image];
	const struct past_process *process = &h->processes.at[im->process];

	if (member->role == ROLE_NONE)
		return false;
	if (member->wall_ns)
		return true;
	return is_last_image(process, image) &&
	       (im->python || process->verdict == VERDICT_TOO_SHORT);
}

/* Image numbers are in no order of time across several recordings. */
static int add_members(struct roles *roles, const struct history *h)
{
	for (uint32_t i = 0; i < roles->members.n; i++) {
		struct role_member *member = &roles->members.at[i];

		if (!is_member(h, i, member))
			member->role = ROLE_NONE;
		else if (!vec_push(&roles->at.at[member->role].images, i))
			return -ENOMEM;
	}
	return 0;
}

/* A role's place before it was sorted. */
struct place {
	struct role role;
	uint32_t from;
};

/* The heaviest first; equals, and those without members, as they were. */
static int place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (!x->role.images.n != !y->role.images.n)
		return x->role.images.n ? -1 : 1;
	if (x->role.wall_ns != y->role.wall_ns)
		return x->role.wall_ns > y->role.wall_ns ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Sort the roles, forget empty ones, and tell the members of it. */
static int sort_roles(struct roles *roles)
{
	size_t n = roles->at.n, kept = 0;
	struct place *places = calloc(n + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		places[i] =
			(struct place){ .role = roles->at.at[i], .from = i };
	qsort(places, n, sizeof(*places), place_order);
	for (uint32_t i = 0; i < n; i++) {
		struct role *role = &roles->at.at[i];

		*role = places[i].role;
		kept += role->images.n > 0;
		for (size_t k = 0; k < role->images.n; k++)
			roles->members.at[role->images.at[k]].role = i;
	}
	for (size_t i = kept; i < n; i++)
		vec_free(&roles->at.at[i].images);
	roles->at.n = kept;
	free(places);
	return 0;
}

static int group(struct roles *roles, const struct selection *selection)
{
	struct grouping g = { .roles = roles, .selection = selection };
	int r;

	g.masked = strtab_new();
	r = g.masked ? assign(&g) : -ENOMEM;
	map_free(&g.by_key);
	strtab_free(g.masked);
	str_free(&g.text);
	return r;
}

int roles_make(struct roles *ret, const struct history *h,
	       const struct query *query)
{
	struct selection selection;
	struct query all = *query;
	int r;

	*ret = (struct roles){ 0 };
	all.idle = true;
	all.gil = false;
	r = selection_make(&selection, h, &all);
	if (r)
		return r;
	r = group(ret, &selection);
	if (!r)
		r = roles_read(ret, &selection);
	if (!r)
		r = add_members(ret, h);
	for (size_t i = 0; !r && i < ret->at.n; i++)
		r = role_finish(&ret->at.at[i], ret, h);
	if (!r)
		r = sort_roles(ret);
	selection_free(&selection);
	if (r)
		roles_free(ret);
	return r;
}

void roles_free(struct roles *roles)
{
	for (size_t i = 0; i < roles->at.n; i++)
		vec_free(&roles->at.at[i].images);
	vec_free(&roles->at);
	vec_free(&roles->members);
}
