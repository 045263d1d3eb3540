/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_page.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/varint.h"

/*
 * The columns that are long: numbers as LEB128, seven bits a byte with the
 * least first, and the bytes as base64. Times are in microseconds; what
 * rounding takes from one weight is given to the next of the same thread, so
 * that their sums are right.
 */

static void put_u64(struct str *to, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = varint_put(bytes, value);

	str_add(to, (const char *)bytes, n);
}

static void add_base64(struct str *to, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t three = (uint32_t)bytes[0] << 16;
	char text[4] = { 0, 0, '=', '=' };

	if (n > 1)
		three |= (uint32_t)bytes[1] << 8;
	if (n > 2)
		three |= bytes[2];
	for (size_t i = 0; i <= n; i++)
		text[i] = digits[three >> (18 - 6 * i) & 63];
	str_add(to, text, sizeof(text));
}

/* A key and its bytes, which are emptied. */
static void put_column(struct json *j, const char *key, struct str *bytes)
{
	const unsigned char *at = (const unsigned char *)bytes->at;
	struct str text = { 0 };

	for (size_t i = 0; i < bytes->len; i += 3)
		add_base64(&text, at + i,
			   bytes->len - i < 3 ? bytes->len - i : 3);
	json_key(j, key);
	json_string(j, text.at ? text.at : "", text.len);
	if (bytes->failed || text.failed)
		j->to->failed = true;
	str_free(&text);
	str_clear(bytes);
}

/* Function, file and line of each frame. */
static void put_frames(const struct page *page, struct json *j, struct str *to)
{
	for (uint32_t i = 0; i < stacks_frame_count(page->stacks); i++) {
		struct frame frame = stacks_frame_at(page->stacks, i);

		put_u64(to, frame.function);
		put_u64(to, frame.file);
		put_u64(to, varint_fold(frame.line));
	}
	json_put_u64(j, "frame_count", stacks_frame_count(page->stacks));
	put_column(j, "frames", to);
}

/* Of each but the empty one: how far before it its parent is, and its frame. */
static void put_stacks(const struct page *page, struct json *j, struct str *to)
{
	for (uint32_t i = 1; i < stacks_count(page->stacks); i++) {
		struct stack stack = stacks_at(page->stacks, i);

		put_u64(to, i - stack.parent);
		put_u64(to, stack.frame);
	}
	json_put_u64(j, "stack_count", stacks_count(page->stacks));
	put_column(j, "stacks", to);
}

/* Whole microseconds of @ns, and of what was left over before. */
static uint64_t micros(uint64_t ns, uint64_t *rest)
{
	uint64_t all = ns % NSEC_PER_USEC + *rest;

	*rest = all % NSEC_PER_USEC;
	return ns / NSEC_PER_USEC + all / NSEC_PER_USEC;
}

struct rests {
	uint64_t wall, cpu, gil;
};

static void put_weight(struct str *to, const struct weight *weight,
		       uint64_t gil_ns, struct rests *rests)
{
	put_u64(to, micros(weight->wall_ns, &rests->wall));
	put_u64(to, micros(weight->cpu_ns, &rests->cpu));
	put_u64(to, micros(gil_ns, &rests->gil));
	put_u64(to, weight->samples);
}

/*
 * For each thread: how many follow; of each its start since the one before, its
 * length, stack, state and four weights.
 */
static void put_spans(const struct page *page, struct json *j, struct str *to)
{
	const struct span *at = page->spans.at.at;
	size_t n = page->spans.at.n, i = 0;
	const struct history *h = page->own.history;

	for (uint32_t thread = 0; thread < h->threads.n; thread++) {
		struct rests rests = { 500, 500, 500 };
		uint32_t start = 0;
		size_t end = i;

		while (end < n && at[end].thread == thread)
			end++;
		if (page->threads[thread] == HISTORY_NONE) {
			i = end;
			continue;
		}
		put_u64(to, end - i);
		for (; i < end; i++) {
			put_u64(to, at[i].start - start);
			put_u64(to, at[i].end - at[i].start);
			put_u64(to, (uint64_t)at[i].stack << 2 | at[i].state);
			put_weight(to, &at[i].weight, at[i].gil_ns, &rests);
			start = at[i].start;
		}
	}
	json_put_u64(j, "span_count", page->spans.at.n);
	put_column(j, "spans", to);
}

static void put_base(const struct page *page, struct json *j, struct str *to)
{
	struct rests rests = { 500, 500, 500 };

	for (size_t i = 0; i < page->weights.n; i++) {
		const struct page_base *base = &page->weights.at[i];

		put_u64(to, base->command);
		put_u64(to, base->stack);
		put_weight(to, &base->weight, base->gil_ns, &rests);
	}
	put_column(j, "base", to);
}

int page_columns(struct page *page, struct json *j)
{
	struct str bytes = { 0 };

	put_frames(page, j, &bytes);
	put_stacks(page, j, &bytes);
	put_spans(page, j, &bytes);
	if (page->has_base)
		put_base(page, j, &bytes);
	str_free(&bytes);
	return j->to->failed ? -ENOMEM : 0;
}
