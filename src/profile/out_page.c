/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/out_page.h"
#include "profile/page.h"

/*
 * The page is a template with marks, {{name}}, for its parts: the style, the
 * script, and the data, a JSON object that out_page_data.c describes.
 *
 * Only elements with the page's nonce are run or applied by the browser. Made
 * from all of the data, so that a name in the data cannot know it.
 */
static void make_nonce(struct page *page)
{
	uint64_t hash = map_hash(page->data.at, page->data.len, 0);

	(void)snprintf(page->nonce, sizeof(page->nonce), "%016" PRIx64, hash);
}

static int write_part(const struct page *page, const char *name, size_t len,
		      out_write write, void *ctx)
{
	if (len == 5 && !memcmp(name, "style", len))
		return write(ctx, page_css, page_css_len);
	if (len == 6 && !memcmp(name, "script", len))
		return write(ctx, page_js, page_js_len);
	if (len == 4 && !memcmp(name, "data", len))
		return write(ctx, page->data.at, page->data.len);
	if (len == 5 && !memcmp(name, "nonce", len))
		return write(ctx, page->nonce, strlen(page->nonce));
	return 0;
}

/* Write the template, each mark replaced. Parts are not looked into. */
static int write_page(const struct page *page, out_write write, void *ctx)
{
	const char *at = page_html;
	const char *mark, *end;
	int r = 0;

	while (!r && (mark = strstr(at, "{{")) && (end = strstr(mark, "}}"))) {
		r = write(ctx, at, (size_t)(mark - at));
		mark += 2;
		if (!r)
			r = write_part(page, mark, (size_t)(end - mark), write,
				       ctx);
		at = end + 2;
	}
	return r ? r : write(ctx, at, strlen(at));
}

int out_page(struct history *h, const struct query *query,
	     const struct history *base, const struct out_options *options,
	     out_write write, void *ctx)
{
	struct page page = { .options = options };
	int r;

	r = page_collect(&page, h, query, base);
	if (!r)
		r = page_data(&page);
	if (!r) {
		make_nonce(&page);
		r = write_page(&page, write, ctx);
	}
	page_free(&page);
	return r;
}
