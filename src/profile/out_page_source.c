/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * "source" is an array of objects: file, an index of "strings", and lines: a
 * line number and the texts of that line and those after it, and so on. Only
 * lines near those that frames are at are there; a page is not to grow with the
 * source.
 */
#define AROUND 3            /* lines before and after */
#define LINE_MOST 400       /* bytes of a line */
#define SOURCE_MOST 4000000 /* bytes of all */
#define FILES_MOST 2000

struct place {
	uint32_t file;
	uint32_t line;
};

struct VEC_places VEC(struct place);

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool find_places(const struct page *page, struct VEC_places *places)
{
	for (uint32_t i = 0; i < stacks_frame_count(page->stacks); i++) {
		struct frame frame = stacks_frame_at(page->stacks, i);
		struct place place = { .file = frame.file,
				       .line = (uint32_t)frame.line };

		if (frame.line > 0 && frame.file && !vec_push(places, place))
			return false;
	}
	if (places->n)
		qsort(places->at, places->n, sizeof(*places->at), compare);
	return true;
}

/* Where line @want begins, from line *@line at @at on; NULL: it has no such. */
static const char *go_to(const char *at, const char *end, uint32_t *line,
			 uint32_t want)
{
	while (at && *line < want) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (at && ++at == end)
			at = NULL;
		++*line;
	}
	return at;
}

static const char *put_line(struct json *j, const char *at, const char *end)
{
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	size_t len = (size_t)((stop ? stop : end) - at);

	if (len && at[len - 1] == '\r')
		len--;
	json_string(j, at, len < LINE_MOST ? len : LINE_MOST);
	return stop && stop + 1 < end ? stop + 1 : NULL;
}

/* The lines near @n places of one file. */
static void put_lines(struct json *j, const struct place *places, size_t n,
		      const char *text, size_t len)
{
	const char *end = text + len;
	const char *at = len ? text : NULL;
	uint32_t line = 1;
	bool first = true;

	for (size_t i = 0; at && i < n; i++) {
		uint32_t from =
			places[i].line > AROUND ? places[i].line - AROUND : 1;

		if (from > line || first) {
			at = go_to(at, end, &line, from);
			if (!at)
				break;
			json_u64(j, line);
			first = false;
		}
		while (at && line <= (uint64_t)places[i].line + AROUND) {
			at = put_line(j, at, end);
			line++;
		}
	}
}

static int put_file(const struct page *page, struct json *j,
		    const struct place *places, size_t n)
{
	const struct out_options *options = page->options;
	char *text = NULL;
	size_t name_len, len = 0;
	const char *name = strtab_get(page->texts, places->file, &name_len);

	/* A name that holds a NUL is no path. */
	if (strlen(name) != name_len ||
	    options->source(options->source_ctx, name, &text, &len) || !text)
		return 0; /* it is not to be had: the page does without */
	json_open(j, '{');
	json_key(j, "file");
	json_u64(j, places->file);
	json_key(j, "lines");
	json_open(j, '[');
	put_lines(j, places, n, text, len);
	json_close(j, ']');
	json_close(j, '}');
	free(text);
	return j->to->failed ? -ENOMEM : 0;
}

int page_source(struct page *page, struct json *j)
{
	struct VEC_places places = { 0 };
	size_t end, start = j->to->len;
	unsigned files = 0;
	int r = 0;

	if (!page->options->source)
		return 0;
	if (!find_places(page, &places)) {
		r = -ENOMEM;
		goto out;
	}
	json_key(j, "source");
	json_open(j, '[');
	for (size_t i = 0; !r && i < places.n; i = end) {
		for (end = i + 1; end < places.n; end++)
			if (places.at[end].file != places.at[i].file)
				break;
		if (j->to->len - start > SOURCE_MOST || ++files > FILES_MOST)
			break;
		r = put_file(page, j, &places.at[i], end - i);
	}
	json_close(j, ']');
out:
	vec_free(&places);
	return r;
}
