/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/history_internal.h"
#include "profile/query.h"

/* Which processes, threads and slices a query asks for. */

static bool is_one_of(int32_t pid, const int32_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* @part is somewhere in @text. Both may hold any byte. */
static bool contains(const char *text, size_t len, const char *part)
{
	size_t part_len = strlen(part);

	for (size_t i = 0; i + part_len <= len; i++)
		if (!memcmp(text + i, part, part_len))
			return true;
	return false;
}

/* Is @text the decimal number @number? */
static bool is_number(const char *text, int32_t number)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || value > INT32_MAX)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	return number >= 0 && value == (uint64_t)number;
}

static bool thread_fits(const struct selection *s, const struct past_thread *t)
{
	const struct query *query = s->query;
	const char *name;
	size_t len;

	if (!query->n_threads)
		return true;
	name = strtab_get(s->history->strings, t->name, &len);
	for (size_t i = 0; i < query->n_threads; i++) {
		const char *asked = query->threads[i];

		if (is_number(asked, t->tid))
			return true;
		/* A number is a thread's, not a part of "Thread-12". */
		if (asked[strspn(asked, "0123456789")] &&
		    contains(name, len, asked))
			return true;
	}
	return false;
}

/* Its number is asked for; where trees are, @trees tells whose members are. */
static bool process_fits(const struct selection *s, uint32_t i,
			 const bool *trees)
{
	const struct query *query = s->query;
	const struct past_process *p = &s->history->processes.at[i];

	if (query->process != HISTORY_NONE && query->process != i)
		return false;
	if (query->n_pids && !is_one_of(p->pid, query->pids, query->n_pids))
		return false;
	if (query->n_trees && !trees[i])
		return false;
	return p->left_ns >= query->since_ns && p->born_ns < query->until_ns;
}

/* Parents come before their children. */
static void mark_trees(const struct selection *s, bool *trees)
{
	const struct query *query = s->query;

	for (uint32_t i = 0; i < s->history->processes.n; i++) {
		const struct past_process *p = &s->history->processes.at[i];

		trees[i] = is_one_of(p->pid, query->trees, query->n_trees) ||
			   (p->parent < i && trees[p->parent]);
	}
}

/* Only processes with a thread that fits. */
static int leave_threadless(struct selection *s)
{
	const struct history *h = s->history;
	bool *has = calloc(h->processes.n + 1, sizeof(*has));

	if (!has)
		return -ENOMEM;
	for (size_t i = 0; i < h->threads.n; i++)
		has[h->threads.at[i].process] |= s->threads[i];
	for (size_t i = 0; i < h->processes.n; i++)
		s->processes[i] &= has[i];
	free(has);
	return 0;
}

int selection_make(struct selection *ret, const struct history *h,
		   const struct query *query)
{
	struct selection s = { .query = query, .history = h };
	bool *trees = calloc(h->processes.n + 1, sizeof(*trees));
	int r = -ENOMEM;

	s.processes = calloc(h->processes.n + 1, sizeof(*s.processes));
	s.threads = calloc(h->threads.n + 1, sizeof(*s.threads));
	if (!trees || !s.processes || !s.threads)
		goto out;
	if (query->n_trees)
		mark_trees(&s, trees);
	for (uint32_t i = 0; i < h->processes.n; i++)
		s.processes[i] = process_fits(&s, i, trees);
	for (uint32_t i = 0; i < h->threads.n; i++)
		s.threads[i] = s.processes[h->threads.at[i].process] &&
			       thread_fits(&s, &h->threads.at[i]);
	r = query->n_threads ? leave_threadless(&s) : 0;
	if (r)
		goto out;
	*ret = s;
	s = (struct selection){ 0 };
out:
	selection_free(&s);
	free(trees);
	return r;
}

void selection_free(struct selection *selection)
{
	free(selection->threads);
	free(selection->processes);
	*selection = (struct selection){ 0 };
}

/* Cut a slice to the time that is asked for; false: nothing of it is left. */
static bool cut(const struct selection *s, struct slice *slice)
{
	const struct query *query = s->query;
	uint64_t end_ns = s->history->threads.at[slice->thread].end_ns;
	uint64_t start_ns = slice->start_ns;
	uint64_t whole = slice->weight.wall_ns;
	uint64_t from = 0, to;

	/* Time that was given to it from before may reach beyond the life. */
	if (end_ns > start_ns && whole > end_ns - start_ns)
		whole = end_ns - start_ns;
	if (!whole)
		return start_ns >= query->since_ns &&
		       start_ns < query->until_ns;
	to = whole;
	if (query->since_ns > start_ns)
		from = query->since_ns - start_ns;
	if (query->until_ns < history_time(start_ns, whole))
		to = query->until_ns > start_ns ? query->until_ns - start_ns
						: 0;
	if (from >= to)
		return false;
	if (from == 0 && to == whole)
		return true;
	slice->weight = history_cut(&slice->weight, from, to, whole);
	slice->start_ns = start_ns + from;
	return true;
}

/* Whatever its time. */
static inline bool fits(const struct selection *selection,
			const struct slice *slice)
{
	const struct query *query = selection->query;

	if (slice->thread >= selection->history->threads.n ||
	    !selection->threads[slice->thread])
		return false;
	if (!query->idle && slice->seen.run != RUN_ON_CPU)
		return false;
	return !query->gil || slice->seen.gil == GIL_HELD;
}

/* Is no part of the time asked for, but all of it? */
static bool is_whole(const struct query *query)
{
	return !query->since_ns && query->until_ns == UINT64_MAX;
}

bool selection_wants(const struct selection *selection, struct slice *slice)
{
	return fits(selection, slice) &&
	       (is_whole(selection->query) || cut(selection, slice));
}

struct choosing {
	const struct selection *selection;
	slice_fn fn;
	void *ctx;
};

static int choose(void *ctx, const struct slice *slice)
{
	const struct choosing *c = ctx;

	return fits(c->selection, slice) ? c->fn(c->ctx, slice) : 0;
}

static int choose_part(void *ctx, const struct slice *slice)
{
	const struct choosing *c = ctx;
	struct slice wanted = *slice;

	return selection_wants(c->selection, &wanted) ? c->fn(c->ctx, &wanted)
						      : 0;
}

int selection_slices(const struct selection *selection, slice_fn fn, void *ctx)
{
	struct choosing c = { selection, fn, ctx };

	return history_slices(selection->history,
			      is_whole(selection->query) ? choose : choose_part,
			      &c);
}
