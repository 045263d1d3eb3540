/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_PAGE_H
#define PROFILE_OUT_PAGE_H

#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/filter.h"
#include "profile/history.h"
#include "profile/out.h"
#include "profile/query.h"
#include "profile/spans.h"
#include "profile/stacks.h"

/*
 * What the parts of the page's writer share. The page has names and stacks of
 * its own, so that those of two histories are the same where they are equal.
 */

/* The weight of one stack of one command line, in the base to compare with. */
struct page_base {
	uint32_t command; /* string of the page */
	uint32_t stack;
	struct weight weight;
	uint64_t gil_ns;
};

/* A source of stacks: a history, as a query wants it. */
struct page_side {
	struct history *history;
	struct selection selection;
	struct filter *filter;
	uint32_t *strings; /* its strings' numbers in the page; STRTAB_NONE */
	uint32_t *frames;  /* likewise */
	uint32_t *stacks;
	uint32_t n_strings, n_frames, n_stacks; /* room of these */
};

struct page {
	const struct out_options *options;
	const struct query *query;
	struct strtab *texts;
	struct stacks *stacks; /* frames' strings are of texts */
	struct page_side own, base;
	bool has_base;
	struct spans spans;
	struct VEC(struct page_base) weights;
	struct map cells; /* index into weights, by command and stack */
	uint32_t *processes, *threads; /* numbers in the page; HISTORY_NONE */
	struct str data;
	char nonce[17];
};

/* --- out_page_collect.c: from histories to what the page shows */

/* Make @page of @h. Returns 0 or a negative errno; page_free is right after. */
int page_collect(struct page *page, struct history *h,
		 const struct query *query, const struct history *base);
void page_free(struct page *page);

/* The page's number of a string of its own history; STRTAB_NONE: no memory. */
uint32_t page_text(struct page *page, struct page_side *side, uint32_t string);

/* --- out_page_data.c */

/* Write all of it as JSON into page->data. Returns 0 or -ENOMEM. */
int page_data(struct page *page);

/* --- out_page_columns.c: the long columns, numbers packed as bytes */

/* The members "frames", "stacks" and "spans" and, with a base, "base". */
int page_columns(struct page *page, struct json *j);

/* --- out_page_source.c */

/* The member "source": lines around those that weigh something. */
int page_source(struct page *page, struct json *j);

#endif
