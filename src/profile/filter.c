/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/vec.h"

/* A frame as the query wants it. */
struct known_frame {
	bool known;
	bool included; /* it is one that the stacks must have */
	bool excluded;
	uint32_t to; /* of the filter's stacks; STACKS_NONE where excluded */
};

/* A stack as the query wants it. */
struct known_stack {
	bool known;
	bool included; /* it, or one that it was called by, is included */
	uint32_t to;
};

struct filter {
	const struct history *h;
	const struct query *query;
	struct stacks *stacks; /* NULL: all are wanted as they are */
	struct VEC(struct known_frame) frames;
	struct VEC(struct known_stack) of;
	struct VEC(uint32_t) path; /* stacks that are being looked at */
	struct str text;
};

struct filter *filter_new(const struct history *h, const struct query *query)
{
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return NULL;
	filter->h = h;
	filter->query = query;
	if (!query->include && !query->exclude && query->frames == FRAMES_LINES)
		return filter;
	filter->stacks = stacks_new();
	if (!filter->stacks) {
		filter_free(filter);
		return NULL;
	}
	return filter;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	stacks_free(filter->stacks);
	vec_free(&filter->frames);
	vec_free(&filter->of);
	vec_free(&filter->path);
	str_free(&filter->text);
	free(filter);
}

const struct stacks *filter_stacks(const struct filter *filter)
{
	return filter->stacks ? filter->stacks : filter->h->stacks;
}

/* `FILE:FUNCTION`, where a name's NUL must not hide what follows it. */
static bool frame_text(struct filter *filter, const struct frame *frame)
{
	struct str *text = &filter->text;
	const char *name;
	size_t len;

	str_clear(text);
	name = strtab_get(filter->h->strings, frame->file, &len);
	str_add(text, name, len);
	str_add(text, ":", 1);
	name = strtab_get(filter->h->strings, frame->function, &len);
	str_add(text, name, len);
	if (text->failed)
		return false;
	for (size_t i = 0; i < text->len; i++)
		if (!text->at[i])
			text->at[i] = '?';
	return true;
}

/* Does the text fit? False, nothing said, without memory. */
static bool fits(const regex_t *regex, const char *text, bool *ret)
{
	int r = regex ? regexec(regex, text, 0, NULL, 0) : REG_NOMATCH;

	if (r == REG_ESPACE)
		return false;
	*ret = r == 0;
	return true;
}

/* What becomes of a frame; false without memory. */
static bool look_at_frame(struct filter *filter, uint32_t number,
			  struct known_frame *ret)
{
	const struct query *query = filter->query;
	struct frame frame = stacks_frame_at(filter->h->stacks, number);
	struct known_frame known = { .known = true, .to = STACKS_NONE };

	if (query->include || query->exclude) {
		if (!frame_text(filter, &frame) ||
		    !fits(query->include, filter->text.at, &known.included) ||
		    !fits(query->exclude, filter->text.at, &known.excluded))
			return false;
	}
	if (query->frames != FRAMES_LINES)
		frame.line = 0;
	/* What has no file would have no name at all without its function. */
	if (query->frames == FRAMES_FILES && frame.file)
		frame.function = 0;
	if (!known.excluded) {
		known.to = stacks_frame(filter->stacks, &frame);
		if (known.to == STACKS_NONE)
			return false;
	}
	*ret = known;
	return true;
}

static const struct known_frame *known_frame(struct filter *filter,
					     uint32_t number)
{
	struct known_frame *known = &filter->frames.at[number];

	if (!known->known && !look_at_frame(filter, number, known))
		return NULL;
	return known;
}

/* Look at a stack whose caller is known; false without memory. */
static bool look_at_stack(struct filter *filter, uint32_t number)
{
	struct stack stack = stacks_at(filter->h->stacks, number);
	struct known_stack known = { .known = true, .to = STACKS_EMPTY };
	const struct known_frame *frame;
	struct stack caller;

	if (stack.parent != STACKS_NONE) {
		known = filter->of.at[stack.parent];
		frame = known_frame(filter, stack.frame);
		if (!frame)
			return false;
		known.included |= frame->included;
		caller = stacks_at(filter->stacks, known.to);
		/* Neighbours of one file are one. */
		if (!frame->excluded &&
		    !(filter->query->frames == FRAMES_FILES &&
		      caller.frame == frame->to))
			known.to = stacks_push(filter->stacks, known.to,
					       frame->to);
		if (known.to == STACKS_NONE)
			return false;
	}
	filter->of.at[number] = known;
	return true;
}

/* Room for all that the history has by now, zeroed: not known. */
static bool make_room(struct filter *filter)
{
	size_t frames = stacks_frame_count(filter->h->stacks);
	size_t stacks = stacks_count(filter->h->stacks);

	if (filter->frames.n < frames) {
		if (!vec_reserve(&filter->frames, frames - filter->frames.n))
			return false;
		memset(filter->frames.at + filter->frames.n, 0,
		       (frames - filter->frames.n) *
			       sizeof(*filter->frames.at));
		filter->frames.n = frames;
	}
	if (filter->of.n < stacks) {
		if (!vec_reserve(&filter->of, stacks - filter->of.n))
			return false;
		memset(filter->of.at + filter->of.n, 0,
		       (stacks - filter->of.n) * sizeof(*filter->of.at));
		filter->of.n = stacks;
	}
	return true;
}

uint32_t filter_stack(struct filter *filter, uint32_t stack, int *ret_r)
{
	const struct known_stack *known;

	*ret_r = 0;
	if (!filter->stacks)
		return stack;
	if (stack >= filter->of.n) {
		if (stack >= stacks_count(filter->h->stacks))
			return STACKS_NONE;
		if (!make_room(filter))
			goto no_memory;
	}
	/* From the innermost call that is known inwards. */
	filter->path.n = 0;
	for (uint32_t s = stack; s != STACKS_NONE && !filter->of.at[s].known;
	     s = stacks_at(filter->h->stacks, s).parent)
		if (!vec_push(&filter->path, s))
			goto no_memory;
	while (filter->path.n)
		if (!look_at_stack(filter, filter->path.at[--filter->path.n]))
			goto no_memory;
	known = &filter->of.at[stack];
	if (filter->query->include && !known->included)
		return STACKS_NONE;
	return known->to;
no_memory:
	*ret_r = -ENOMEM;
	return STACKS_NONE;
}
