/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/nsec.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/out.h"
#include "profile/page.h"

/*
 * The page is a template with marks, {{name}}, for its parts. One of them is the
 * profile, a JSON object that page.js reads:
 *
 *   title      what was run, or null
 *   strings    every text that is referred to, by its index
 *   frames     function, file, line of each frame, one after the other
 *   processes  arrays of the same length: pid, serial, parent (a serial, or -1),
 *              image, command, python, born, left (microseconds; 0: it lives)
 *   nodes      arrays of the same length, a parent before its children:
 *              up       how many places before it its parent is; 0: a process
 *              frame    index of its frame; of its process when up is 0
 *              wall, cpu (microseconds), samples: its own, without its children
 */

/* Old numbers to new ones, which are given as they are first needed. */
struct renumber {
	uint32_t *to;   /* by old number; AGGREGATE_NONE: none yet */
	uint32_t *from; /* by new number */
	uint32_t n;
};

struct page {
	const struct aggregate *agg;
	const struct out_options *options;
	struct renumber nodes; /* those of the processes that are wanted */
	struct renumber frames;
	struct renumber processes; /* by node */
	struct renumber strings;
	struct str data;
	struct str summary;
	char nonce[17];
};

static bool renumber_init(struct renumber *num, uint32_t count)
{
	size_t bytes = ((size_t)count + 1) * sizeof(*num->to);

	num->to = malloc(bytes);
	num->from = malloc(bytes);
	if (!num->to || !num->from)
		return false;
	memset(num->to, 0xff, bytes);
	return true;
}

static void renumber_free(struct renumber *num)
{
	free(num->to);
	free(num->from);
}

static uint32_t renumber(struct renumber *num, uint32_t old)
{
	if (num->to[old] == AGGREGATE_NONE) {
		num->from[num->n] = old;
		num->to[old] = num->n++;
	}
	return num->to[old];
}

/* A string's new number; an id that does not exist is the empty string. */
static uint32_t string_number(struct page *page, uint32_t id)
{
	const struct strtab *strings = aggregate_strings(page->agg);

	return renumber(&page->strings, id < strtab_count(strings) ? id : 0);
}

/* Number the nodes of the processes that are wanted, and their processes. */
static void choose_nodes(struct page *page)
{
	for (uint32_t i = 0; i < aggregate_count(page->agg); i++) {
		const struct node *node = aggregate_node(page->agg, i);

		if (node->parent != AGGREGATE_NONE) {
			if (page->nodes.to[node->parent] != AGGREGATE_NONE)
				(void)renumber(&page->nodes, i);
		} else if (out_wants(page->options,
				     aggregate_entry(page->agg, i))) {
			(void)renumber(&page->nodes, i);
			(void)renumber(&page->processes, i);
		}
	}
}

static void put_tree(struct page *page, struct json *j)
{
	json_key(j, "up");
	json_open(j, '[');
	for (uint32_t i = 0; i < page->nodes.n; i++) {
		uint32_t parent =
			aggregate_node(page->agg, page->nodes.from[i])->parent;

		json_u64(j, parent == AGGREGATE_NONE
				    ? 0
				    : i - page->nodes.to[parent]);
	}
	json_close(j, ']');
	json_key(j, "frame");
	json_open(j, '[');
	for (uint32_t i = 0; i < page->nodes.n; i++) {
		uint32_t id = page->nodes.from[i];
		const struct node *node = aggregate_node(page->agg, id);

		json_u64(j, node->parent == AGGREGATE_NONE
				    ? renumber(&page->processes, id)
				    : renumber(&page->frames, node->frame));
	}
	json_close(j, ']');
}

static int put_weights(struct page *page, struct json *j, const char *key,
		       enum out_value value)
{
	uint64_t *own;
	int r;

	own = malloc(((size_t)aggregate_count(page->agg) + 1) * sizeof(*own));
	r = own ? out_weights(page->agg, value, own) : -ENOMEM;
	if (r)
		goto out;
	json_key(j, key);
	json_open(j, '[');
	for (uint32_t i = 0; i < page->nodes.n; i++)
		json_u64(j, own[page->nodes.from[i]]);
	json_close(j, ']');
out:
	free(own);
	return r;
}

static int put_nodes(struct page *page, struct json *j)
{
	int r;

	json_key(j, "nodes");
	json_open(j, '{');
	put_tree(page, j);
	r = put_weights(page, j, "wall", OUT_WALL);
	if (!r)
		r = put_weights(page, j, "cpu", OUT_CPU);
	if (!r)
		r = put_weights(page, j, "samples", OUT_SAMPLES);
	json_close(j, '}');
	return r;
}

/* What is shown of a process, one array each. */
enum column {
	PID,
	SERIAL,
	PARENT,
	IMAGE,
	COMMAND,
	PYTHON,
	BORN,
	LEFT,
	COLUMNS,
};

static int64_t process_value(struct page *page,
			     const struct process_entry *entry,
			     enum column column)
{
	switch (column) {
	case PID:
		return entry->pid;
	case SERIAL:
		return entry->serial;
	case PARENT:
		return entry->parent == AGGREGATE_NONE ? -1
						       : (int64_t)entry->parent;
	case IMAGE:
		return entry->image;
	case COMMAND:
		return string_number(page, entry->command);
	case PYTHON:
		return string_number(page, entry->python);
	case BORN:
		return (int64_t)(entry->born_ns / NSEC_PER_USEC);
	case LEFT:
		return (int64_t)(entry->left_ns / NSEC_PER_USEC);
	case COLUMNS:
		break;
	}
	return 0;
}

static void put_processes(struct page *page, struct json *j)
{
	static const char *const keys[COLUMNS] = {
		[PID] = "pid",     [SERIAL] = "serial",   [PARENT] = "parent",
		[IMAGE] = "image", [COMMAND] = "command", [PYTHON] = "python",
		[BORN] = "born",   [LEFT] = "left",
	};
	const struct process_entry *entry;

	json_key(j, "processes");
	json_open(j, '{');
	for (int column = 0; column < COLUMNS; column++) {
		json_key(j, keys[column]);
		json_open(j, '[');
		for (uint32_t i = 0; i < page->processes.n; i++) {
			entry = aggregate_entry(page->agg,
						page->processes.from[i]);
			json_i64(j, process_value(page, entry, column));
		}
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_frames(struct page *page, struct json *j)
{
	json_key(j, "frames");
	json_open(j, '[');
	for (uint32_t i = 0; i < page->frames.n; i++) {
		struct frame frame =
			aggregate_frame(page->agg, page->frames.from[i]);

		json_u64(j, string_number(page, frame.function));
		json_u64(j, string_number(page, frame.file));
		json_i64(j, frame.line);
	}
	json_close(j, ']');
}

static void put_strings(const struct page *page, struct json *j)
{
	const struct strtab *strings = aggregate_strings(page->agg);

	json_key(j, "strings");
	json_open(j, '[');
	for (uint32_t i = 0; i < page->strings.n; i++) {
		size_t len;
		const char *bytes =
			strtab_get(strings, page->strings.from[i], &len);

		json_string(j, bytes, len);
	}
	json_close(j, ']');
}

static int make_data(struct page *page)
{
	struct json j = { .to = &page->data };
	int r;

	choose_nodes(page);
	json_open(&j, '{');
	json_put_text(&j, "title", page->options->title);
	/* Each of these numbers what the ones after it write. */
	r = put_nodes(page, &j);
	put_processes(page, &j);
	put_frames(page, &j);
	put_strings(page, &j);
	json_close(&j, '}');
	return r;
}

/*
 * The summary comes as JSON. Outside of strings JSON has none of these three,
 * so that they may be escaped wherever they are.
 */
static void make_summary(struct page *page)
{
	const char *text = page->options->summary;
	size_t plain;

	if (!text)
		text = "null";
	while (*text) {
		plain = strcspn(text, "<>&");
		str_add(&page->summary, text, plain);
		text += plain;
		if (*text)
			str_printf(&page->summary, "\\u%04x",
				   (unsigned char)*text++);
	}
}

/*
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
	if (len == 7 && !memcmp(name, "summary", len))
		return write(ctx, page->summary.at, page->summary.len);
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

int out_flamegraph(const struct aggregate *agg,
		   const struct out_options *options, out_write write,
		   void *ctx)
{
	struct page page = { .agg = agg, .options = options };
	uint32_t strings = strtab_count(aggregate_strings(agg));
	int r = -ENOMEM;

	if (!renumber_init(&page.nodes, aggregate_count(agg)) ||
	    !renumber_init(&page.processes, aggregate_count(agg)) ||
	    !renumber_init(&page.frames, aggregate_frame_count(agg)) ||
	    !renumber_init(&page.strings, strings))
		goto out;
	r = make_data(&page);
	if (r)
		goto out;
	make_summary(&page);
	if (page.data.failed || page.summary.failed) {
		r = -ENOMEM;
		goto out;
	}
	make_nonce(&page);
	r = write_page(&page, write, ctx);
out:
	renumber_free(&page.nodes);
	renumber_free(&page.processes);
	renumber_free(&page.frames);
	renumber_free(&page.strings);
	str_free(&page.data);
	str_free(&page.summary);
	return r;
}
