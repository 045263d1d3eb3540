/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_VIEWTEST_H
#define TESTS_VIEWTEST_H

/* After cmocka.h. Trees of weights for the tests of views, and what they write. */

#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "base/str.h"
#include "base/strtab.h"
#include "profile/aggregate.h"
#include "profile/out.h"

#define VIEW_DEPTH 16 /* frames of a stack, at most */

struct viewtest {
	struct strtab *strings;
	struct aggregate *agg;
	struct str text; /* what a view wrote */
};

static inline int view_setup(void **state)
{
	struct viewtest *v = calloc(1, sizeof(*v));

	*state = v;
	if (!v)
		return -1;
	v->strings = strtab_new();
	v->agg = v->strings ? aggregate_new(v->strings) : NULL;
	return v->agg ? 0 : -1;
}

static inline int view_teardown(void **state)
{
	struct viewtest *v = *state;

	aggregate_free(v->agg);
	strtab_free(v->strings);
	str_free(&v->text);
	free(v);
	return 0;
}

static inline uint32_t view_entry(struct viewtest *v, const char *label)
{
	struct agg_entry entry = {
		.label = strtab_id(v->strings, label, strlen(label)),
		.process = UINT32_MAX,
		.thread = UINT32_MAX,
		.processes = 1,
	};

	return aggregate_entry_new(v->agg, &entry);
}

/* `FILE:FUNCTION:LINE`, in which FILE may be empty. Returns what follows it. */
static inline const char *view_frame(struct viewtest *v, const char *text,
				     struct frame *ret)
{
	size_t file = strcspn(text, ":");
	const char *function = text + file + 1;
	size_t len = strcspn(function, ":");
	char *end;

	/* One after the other: the numbers are the same wherever this is built. */
	ret->file = strtab_id(v->strings, text, file);
	ret->function = strtab_id(v->strings, function, len);
	ret->line = (int32_t)strtol(function + len + 1, &end, 10);
	return *end == ';' ? end + 1 : end;
}

/* The node of a stack, frames separated by ';', the root first. */
static inline uint32_t view_node(struct viewtest *v, uint32_t entry,
				 const char *text)
{
	struct frame frames[VIEW_DEPTH];
	size_t at = VIEW_DEPTH;

	while (*text) {
		assert_true(at > 0);
		text = view_frame(v, text, &frames[--at]);
	}
	return aggregate_stack(v->agg, entry, frames + at, VIEW_DEPTH - at);
}

/* A stack that weighs so many milliseconds of wall time, half of them on a CPU, and
 * a sample for each ten. */
static inline void view_stack(struct viewtest *v, uint32_t entry,
			      const char *text, uint64_t ms)
{
	aggregate_charge(v->agg, view_node(v, entry, text),
			 (struct weight){ .wall_ns = ms * NSEC_PER_MSEC,
					  .cpu_ns = ms * NSEC_PER_MSEC / 2,
					  .samples = ms / 10 },
			 0);
}

static inline int view_write(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

/* Refuses everything, with a number of its own. */
static inline int view_refuse(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return -28;
}

static inline bool view_has(const struct viewtest *v, const char *text)
{
	return memmem(v->text.at, v->text.len, text, strlen(text));
}

/* How often @text is there. */
static inline size_t view_count(const struct viewtest *v, const char *text)
{
	const char *at = v->text.at;
	size_t n = 0;

	while ((at = strstr(at, text))) {
		n++;
		at++;
	}
	return n;
}

#endif
