/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/timeline.h"

#define SPANS_MOST 400000 /* what a browser takes in within a moment */

/* Chunks of slices that are held at a time, beside the spans: 48 MiB of them. */
#define BATCH (48 * 1024 * 1024 / PACKED_CHUNK)

static uint32_t *numbers_new(size_t n)
{
	uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, (n + 1) * sizeof(*numbers));
	return numbers;
}

static int side_init(struct page_side *side, struct history *h,
		     const struct query *query)
{
	side->history = h;
	side->filter = filter_new(h, query);
	if (!side->filter)
		return -ENOMEM;
	return selection_make(&side->selection, h, query);
}

static void side_free(struct page_side *side)
{
	if (side->history)
		selection_free(&side->selection);
	filter_free(side->filter);
	free(side->strings);
	free(side->frames);
	free(side->stacks);
}

/* Once all slices are read, and so all stacks known. */
static int side_number(struct page_side *side)
{
	const struct stacks *from = filter_stacks(side->filter);

	side->n_strings = strtab_count(side->history->strings);
	side->n_frames = stacks_frame_count(from);
	side->n_stacks = stacks_count(from);
	side->strings = numbers_new(side->n_strings);
	side->frames = numbers_new(side->n_frames);
	side->stacks = numbers_new(side->n_stacks);
	return side->strings && side->frames && side->stacks ? 0 : -ENOMEM;
}

uint32_t page_text(struct page *page, struct page_side *side, uint32_t string)
{
	const char *bytes;
	size_t len;

	if (string >= side->n_strings)
		return 0;
	if (side->strings[string] == STRTAB_NONE) {
		bytes = strtab_get(side->history->strings, string, &len);
		side->strings[string] = strtab_id(page->texts, bytes, len);
	}
	return side->strings[string];
}

static uint32_t page_frame(struct page *page, struct page_side *side,
			   uint32_t number)
{
	struct frame frame;

	if (side->frames[number] == STACKS_NONE) {
		frame = stacks_frame_at(filter_stacks(side->filter), number);
		frame.function = page_text(page, side, frame.function);
		frame.file = page_text(page, side, frame.file);
		if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
			return STACKS_NONE;
		side->frames[number] = stacks_frame(page->stacks, &frame);
	}
	return side->frames[number];
}

/*
 * Number the stacks for which @used is set, and what they stand on: backwards
 * to find those, as a parent has the smaller number, then forwards.
 */
static int number_stacks(struct page *page, struct page_side *side, bool *used)
{
	const struct stacks *from = filter_stacks(side->filter);
	struct stack stack;

	for (uint32_t i = side->n_stacks; i-- > 1;)
		if (used[i])
			used[stacks_at(from, i).parent] = true;
	side->stacks[STACKS_EMPTY] = STACKS_EMPTY;
	for (uint32_t i = 1; i < side->n_stacks; i++) {
		if (!used[i])
			continue;
		stack = stacks_at(from, i);
		side->stacks[i] =
			stacks_push(page->stacks, side->stacks[stack.parent],
				    page_frame(page, side, stack.frame));
		if (side->stacks[i] == STACKS_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Give the stacks of the spans the page's numbers. */
static int number_spans(struct page *page)
{
	struct spans *spans = &page->spans;
	bool *used = NULL;
	int r;

	r = side_number(&page->own);
	if (!r)
		used = calloc((size_t)page->own.n_stacks + 1, sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < spans->at.n; i++)
		used[spans->at.at[i].stack] = true;
	r = number_stacks(page, &page->own, used);
	for (size_t i = 0; !r && i < spans->at.n; i++)
		spans->at.at[i].stack = page->own.stacks[spans->at.at[i].stack];
	free(used);
	if (!r)
		spans_sort(spans);
	return r;
}

static int take_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct page *page = ctx;
	int r = 0;

	(void)thread;
	while (!r && course_next(course))
		r = spans_add(&page->spans, &course->slice,
			      course->slice.seen.stack);
	return r;
}

/*
 * One thread after the other: slices come to spans of a few that a processor has
 * at hand, instead of those of all threads by turns.
 */
static int take_slices(struct page *page)
{
	struct timeline tl = { .history = page->own.history,
			       .selection = page->own.selection,
			       .filter = page->own.filter,
			       .batch = BATCH };

	return timeline_threads(&tl, take_thread, page);
}

/* Processes and threads that are shown, numbered one after the other. */
static int choose(struct page *page)
{
	const struct history *h = page->own.history;
	uint32_t n = 0;

	page->processes = numbers_new(h->processes.n);
	page->threads = numbers_new(h->threads.n);
	if (!page->processes || !page->threads)
		return -ENOMEM;
	for (size_t i = 0; i < h->processes.n; i++)
		if (page->own.selection.processes[i])
			page->processes[i] = n++;
	n = 0;
	for (size_t i = 0; i < h->threads.n; i++)
		if (page->own.selection.threads[i] &&
		    page->processes[h->threads.at[i].process] != HISTORY_NONE)
			page->threads[i] = n++;
	return 0;
}

/* The weight of a command (still a string of the base) and stack. */
static struct page_base *weight_of(struct page *page, uint32_t command,
				   uint32_t stack)
{
	uint64_t key = (uint64_t)command << 32 | stack;
	struct page_base fresh = { .command = command, .stack = stack };
	uint64_t at;

	if (!map_get(&page->cells, key, &at)) {
		at = page->weights.n;
		if (!vec_push(&page->weights, fresh) ||
		    !map_put(&page->cells, key, at))
			return NULL;
	}
	return &page->weights.at[at];
}

static int take_base(void *ctx, const struct slice *slice)
{
	struct page *page = ctx;
	const struct history *h = page->base.history;
	struct page_base *to;
	uint32_t image = h->threads.at[slice->thread].image;
	int r = 0;
	uint32_t stack = filter_stack(page->base.filter, slice->seen.stack, &r);

	if (stack == STACKS_NONE)
		return r;
	to = weight_of(page, h->images.at[image].command, stack);
	if (!to)
		return -ENOMEM;
	to->weight.wall_ns += slice->weight.wall_ns;
	to->weight.cpu_ns += slice->weight.cpu_ns;
	to->weight.samples += slice->weight.samples;
	if (slice->seen.gil == GIL_HELD)
		to->gil_ns += slice->weight.wall_ns;
	return 0;
}

static int number_base(struct page *page)
{
	struct page_base *at = page->weights.at;
	bool *used = NULL;
	int r;

	r = side_number(&page->base);
	if (!r)
		used = calloc((size_t)page->base.n_stacks + 1, sizeof(*used));
	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < page->weights.n; i++)
		used[at[i].stack] = true;
	r = number_stacks(page, &page->base, used);
	for (size_t i = 0; !r && i < page->weights.n; i++) {
		at[i].stack = page->base.stacks[at[i].stack];
		at[i].command = page_text(page, &page->base, at[i].command);
		r = at[i].command == STRTAB_NONE ? -ENOMEM : 0;
	}
	free(used);
	return r;
}

static int collect_base(struct page *page, const struct history *base)
{
	/* Numbers of processes of one run mean nothing in another one. */
	struct query query = *page->query;
	struct history *h;
	int r;

	query.n_pids = query.n_trees = 0;
	query.process = HISTORY_NONE;
	/* Nothing here changes a history: only the sides' type is shared. */
	memcpy(&h, &base, sizeof(h));
	page->has_base = true;
	r = side_init(&page->base, h, &query);
	if (!r)
		r = selection_slices(&page->base.selection, take_base, page);
	if (!r)
		r = number_base(page);
	/* They refer to the query, which ends here. */
	filter_free(page->base.filter);
	page->base.filter = NULL;
	selection_free(&page->base.selection);
	memset(&page->base.selection, 0, sizeof(page->base.selection));
	return r;
}

int page_collect(struct page *page, struct history *h,
		 const struct query *query, const struct history *base)
{
	uint64_t until = query->until_ns < h->end_ns ? query->until_ns
						     : h->end_ns;
	int r;

	page->query = query;
	page->texts = strtab_new();
	page->stacks = stacks_new();
	if (!page->texts || !page->stacks)
		return -ENOMEM;
	r = spans_init(&page->spans, query->since_ns, until,
		       (uint32_t)h->threads.n, SPANS_MOST);
	if (!r)
		r = side_init(&page->own, h, query);
	if (!r)
		r = choose(page);
	if (!r)
		r = take_slices(page);
	if (!r)
		r = number_spans(page);
	if (!r && base)
		r = collect_base(page, base);
	return r;
}

void page_free(struct page *page)
{
	side_free(&page->own);
	side_free(&page->base);
	spans_free(&page->spans);
	stacks_free(page->stacks);
	strtab_free(page->texts);
	vec_free(&page->weights);
	map_free(&page->cells);
	free(page->processes);
	free(page->threads);
	str_free(&page->data);
}
