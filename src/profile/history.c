/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/history.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "profile/history_internal.h"

struct history *history_new(void)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->strings = strtab_new();
	h->stacks = stacks_new();
	if (!h->strings || !h->stacks) {
		history_free(h);
		return NULL;
	}
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->runs.n; i++) {
		struct past_run *run = &h->runs.at[i];

		recording_close(run->reader);
		free(run->summary);
		vec_free(&run->stack_of);
		vec_free(&run->thread_of);
		vec_free(&run->standing);
	}
	vec_free(&h->runs);
	vec_free(&h->processes);
	vec_free(&h->images);
	vec_free(&h->threads);
	vec_free(&h->notes);
	stacks_free(h->stacks);
	strtab_free(h->strings);
	free(h);
}

/* An image and the number that it had. */
struct placed {
	struct past_image image;
	uint32_t was;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->image.process != y->image.process)
		return x->image.process < y->image.process ? -1 : 1;
	if (x->image.at_ns != y->image.at_ns)
		return x->image.at_ns < y->image.at_ns ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

/* An image without a command for each process of which none was told. */
static bool images_complete(struct history *h)
{
	for (size_t i = 0; i < h->processes.n; i++)
		h->processes.at[i].images = 0;
	for (size_t i = 0; i < h->images.n; i++)
		h->processes.at[h->images.at[i].process].images++;
	for (uint32_t i = 0; i < h->processes.n; i++) {
		struct past_process *p = &h->processes.at[i];
		struct past_image image = { .process = i, .at_ns = p->born_ns };

		if (p->images)
			continue;
		if (!vec_push(&h->images, image))
			return false;
		p->images = 1;
	}
	return true;
}

/* Sort the images by process and time; threads follow. */
static int images_sort(struct history *h)
{
	struct VEC(struct placed) placed = { 0 };
	uint32_t *now = NULL;
	int r = -ENOMEM;

	if (!images_complete(h))
		goto out;
	now = calloc(h->images.n + 1, sizeof(*now));
	if (!now || !vec_reserve(&placed, h->images.n))
		goto out;
	for (uint32_t i = 0; i < h->images.n; i++)
		placed.at[placed.n++] = (struct placed){ h->images.at[i], i };
	if (placed.n)
		qsort(placed.at, placed.n, sizeof(*placed.at), compare_placed);
	for (uint32_t i = 0; i < placed.n; i++) {
		h->images.at[i] = placed.at[i].image;
		now[placed.at[i].was] = i;
	}
	for (uint32_t i = (uint32_t)h->images.n; i-- > 0;)
		h->processes.at[h->images.at[i].process].image = i;
	for (size_t i = 0; i < h->threads.n; i++) {
		struct past_thread *t = &h->threads.at[i];

		if (t->image != HISTORY_NONE)
			t->image = now[t->image];
		/* A file may name another process's image, or none. */
		if (t->image == HISTORY_NONE ||
		    h->images.at[t->image].process != t->process)
			t->image = h->processes.at[t->process].image;
	}
	r = 0;
out:
	vec_free(&placed);
	free(now);
	return r;
}

/* Until when each image lasted: the next one, or the end of its process. */
static void images_end(struct history *h)
{
	for (size_t i = 0; i < h->images.n; i++) {
		struct past_image *image = &h->images.at[i];
		uint64_t until = h->processes.at[image->process].left_ns;

		if (i + 1 < h->images.n &&
		    h->images.at[i + 1].process == image->process)
			until = h->images.at[i + 1].at_ns;
		image->until_ns = until > image->at_ns ? until : image->at_ns;
	}
}

/* How many processes before each one had its number in its run. */
static int processes_count_again(struct history *h)
{
	struct map seen = { 0 };
	int r = -ENOMEM;

	for (size_t i = 0; i < h->processes.n; i++) {
		struct past_process *p = &h->processes.at[i];
		uint64_t key = (uint64_t)p->run << 32 | (uint32_t)p->pid;
		uint64_t before = 0;

		(void)map_get(&seen, key, &before);
		p->again = (uint32_t)before;
		if (!map_put(&seen, key, before + 1))
			goto out;
	}
	r = 0;
out:
	map_free(&seen);
	return r;
}

int history_settle(struct history *h)
{
	int r = images_sort(h);

	if (!r)
		r = processes_count_again(h);
	if (r)
		return r;
	images_end(h);
	h->total = (struct weight){ 0 };
	h->end_ns = 0;
	for (size_t i = 0; i < h->runs.n; i++)
		if (h->runs.at[i].end_ns > h->end_ns)
			h->end_ns = h->runs.at[i].end_ns;
	for (size_t i = 0; i < h->processes.n; i++)
		h->processes.at[i].total = (struct weight){ 0 };
	for (size_t i = 0; i < h->threads.n; i++) {
		struct past_thread *t = &h->threads.at[i];

		history_add_weight(&h->processes.at[t->process].total,
				   &t->total);
		history_add_weight(&h->total, &t->total);
	}
	return 0;
}

struct handing {
	const struct past_run *run;
	slice_fn fn;
	void *ctx;
};

/* A slice of a file, as one of the history. */
static int hand_out(void *ctx, const struct record *record)
{
	const struct handing *to = ctx;
	const struct past_run *run = to->run;
	struct slice slice = record->slice;

	if (slice.thread >= run->thread_of.n ||
	    slice.seen.stack >= run->stack_of.n ||
	    !history_trim(run->run.start_ns, &slice))
		return 0;
	slice.thread = run->thread_of.at[slice.thread];
	slice.seen.stack = run->stack_of.at[slice.seen.stack];
	slice.start_ns = history_time(slice.start_ns, run->shift_ns);
	return to->fn(to->ctx, &slice);
}

int history_slices(const struct history *h, slice_fn fn, void *ctx)
{
	for (size_t i = 0; i < h->runs.n; i++) {
		const struct past_run *run = &h->runs.at[i];
		struct handing to = { run, fn, ctx };
		int r = recording_read(run->reader, 1u << RECORD_SLICE,
				       hand_out, &to, NULL, NULL);

		for (size_t k = 0; !r && k < run->standing.n; k++) {
			struct slice slice = run->standing.at[k];

			slice.start_ns =
				history_time(slice.start_ns, run->shift_ns);
			r = fn(ctx, &slice);
		}
		if (r)
			return r;
	}
	return 0;
}
