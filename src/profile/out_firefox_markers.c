/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_firefox_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int add(struct firefox_markers *markers, struct firefox_marker marker)
{
	return vec_push(&markers->at, marker) ? 0 : -ENOMEM;
}

int firefox_mark_waits(struct firefox_markers *markers, struct course *course)
{
	struct firefox_marker *last = NULL;
	size_t before = markers->at.n;

	for (course_rewind(course); course_next(course);) {
		const struct seen *seen = &course->slice.seen;
		enum firefox_category is = firefox_category(seen);
		struct firefox_marker now = {
			.name = is == FIREFOX_GIL ? TEXT_GIL : TEXT_IDLE,
			.from_ns = course->slice.start_ns,
			.until_ns = course->until_ns,
			.wait = is == FIREFOX_IDLE ? seen->wait : 0,
		};

		if (is != FIREFOX_GIL && is != FIREFOX_IDLE)
			continue;
		/* An instant would be shown as something that happened. */
		if (now.until_ns == now.from_ns)
			continue;
		last = markers->at.n > before
			       ? &markers->at.at[markers->at.n - 1]
			       : NULL;
		if (last && last->name == now.name && last->wait == now.wait &&
		    last->until_ns == now.from_ns)
			last->until_ns = now.until_ns;
		else if (add(markers, now))
			return -ENOMEM;
	}
	return 0;
}

static int add_instant(struct firefox_markers *markers,
		       const struct timeline *tl, enum firefox_text name,
		       uint64_t at_ns, uint32_t process, uint32_t command)
{
	if (!timeline_shows(tl, at_ns))
		return 0;
	return add(markers, (struct firefox_marker){ .name = name,
						     .from_ns = at_ns,
						     .until_ns = at_ns,
						     .process = process,
						     .command = command });
}

int firefox_family_make(struct firefox_family *ret, const struct history *h)
{
	size_t n = h->processes.n + 1;

	ret->child = malloc(n * sizeof(*ret->child));
	ret->sibling = malloc(n * sizeof(*ret->sibling));
	if (!ret->child || !ret->sibling)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ret->child[i] = ret->sibling[i] = HISTORY_NONE;
	/* From the end, so that the oldest comes to be the first. */
	for (uint32_t i = (uint32_t)h->processes.n; i-- > 0;) {
		uint32_t parent = h->processes.at[i].parent;

		if (parent == HISTORY_NONE)
			continue;
		ret->sibling[i] = ret->child[parent];
		ret->child[parent] = i;
	}
	return 0;
}

void firefox_family_free(struct firefox_family *family)
{
	free(family->child);
	free(family->sibling);
}

int firefox_mark_lives(struct firefox_markers *markers,
		       const struct timeline *tl,
		       const struct firefox_family *family, uint32_t process)
{
	const struct history *h = tl->history;
	const struct past_process *p = &h->processes.at[process];
	int r = 0;

	for (uint32_t i = family->child[process]; !r && i != HISTORY_NONE;
	     i = family->sibling[i]) {
		const struct past_process *child = &h->processes.at[i];

		if (!child->before && tl->selection.processes[i])
			r = add_instant(markers, tl, TEXT_FORK, child->born_ns,
					i, h->images.at[child->image].command);
	}
	for (uint32_t i = 1; !r && i < p->images; i++) {
		const struct past_image *image = &h->images.at[p->image + i];

		r = add_instant(markers, tl, TEXT_EXEC, image->at_ns, process,
				image->command);
	}
	if (!r && p->left)
		r = add_instant(markers, tl, TEXT_EXIT, p->left_ns, process, 0);
	return r;
}

/* The data of a marker: its type tells how it is shown. */
static void put_data(const struct firefox_marker *marker,
		     const struct timeline *tl, struct sink *sink)
{
	const struct past_process *p =
		&tl->history->processes.at[marker->process];
	struct json *j = &sink->json;
	const char *text;
	char status[32], pid[16];

	json_open(j, '{');
	switch (marker->name) {
	case TEXT_FORK:
	case TEXT_EXEC:
		json_put_text(j, "type",
			      marker->name == TEXT_FORK ? "fork" : "exec");
		snprintf(pid, sizeof(pid), "%" PRId32, p->pid);
		json_put_text(j, "pid", pid);
		json_key(j, "command");
		sink_id(sink, tl->history->strings, marker->command);
		break;
	case TEXT_EXIT:
		text = timeline_status_text(p, status);
		json_put_text(j, "type", "exit");
		json_put_text(j, "status", text ? text : "unknown");
		break;
	case TEXT_IDLE:
		text = timeline_wait_text(marker->wait);
		json_put_text(j, "type", "idle");
		json_put_text(j, "wait", text ? text : "unknown");
		break;
	default:
		json_put_text(j, "type", "gil");
		break;
	}
	json_close(j, '}');
}

static int put_datas(const struct firefox_markers *markers,
		     const struct timeline *tl, struct sink *sink)
{
	int r = 0;

	json_key(&sink->json, "data");
	json_open(&sink->json, '[');
	for (size_t i = 0; !r && i < markers->at.n; i++) {
		put_data(&markers->at.at[i], tl, sink);
		r = sink_pass(sink);
	}
	json_close(&sink->json, ']');
	return r;
}

enum column {
	NAME,
	START,
	END,
	PHASE,
	CATEGORY,
	COLUMNS
};

static void put_value(const struct firefox_marker *m, enum column column,
		      uint32_t texts, struct sink *sink)
{
	static const uint8_t categories[TEXT_COUNT] = {
		[TEXT_GIL] = FIREFOX_GIL,
		[TEXT_IDLE] = FIREFOX_IDLE,
	};
	bool lasts = m->until_ns > m->from_ns;

	switch (column) {
	case NAME:
		sink_u64(sink, (uint64_t)texts + m->name);
		break;
	case START:
		sink_decimal(sink, m->from_ns, 6);
		break;
	case END:
		if (lasts)
			sink_decimal(sink, m->until_ns, 6);
		else
			json_text(&sink->json, NULL);
		break;
	case PHASE: /* 0 an instant, 1 an interval */
		sink_u64(sink, lasts);
		break;
	default:
		sink_u64(sink, categories[m->name]);
		break;
	}
}

int firefox_put_markers(const struct firefox_markers *markers,
			const struct timeline *tl, struct sink *sink)
{
	static const char *const keys[COLUMNS] = {
		[NAME] = "name",   [START] = "startTime",   [END] = "endTime",
		[PHASE] = "phase", [CATEGORY] = "category",
	};
	uint32_t texts = strtab_count(tl->history->strings);
	struct json *j = &sink->json;
	int r;

	json_key(j, "markers");
	json_open(j, '{');
	r = put_datas(markers, tl, sink);
	for (int column = 0; !r && column < COLUMNS; column++) {
		json_key(j, keys[column]);
		json_open(j, '[');
		for (size_t i = 0; !r && i < markers->at.n; i++) {
			put_value(&markers->at.at[i], (enum column)column,
				  texts, sink);
			r = sink_pass(sink);
		}
		json_close(j, ']');
	}
	json_put_u64(j, "length", markers->at.n);
	json_close(j, '}');
	return r;
}

struct schema {
	const char *name, *label;
	const char *keys[2], *titles[2], *formats[2];
	bool overview; /* seen above all */
};

static void put_one_schema(const struct schema *schema, struct json *j)
{
	json_open(j, '{');
	json_put_text(j, "name", schema->name);
	json_put_text(j, "tooltipLabel", schema->label);
	json_put_text(j, "tableLabel", schema->label);
	json_put_text(j, "chartLabel", schema->label);
	json_key(j, "display");
	json_open(j, '[');
	json_text(j, "marker-chart");
	json_text(j, "marker-table");
	if (schema->overview)
		json_text(j, "timeline-overview");
	json_close(j, ']');
	json_key(j, "fields");
	json_open(j, '[');
	for (int i = 0; i < 2 && schema->keys[i]; i++) {
		json_open(j, '{');
		json_put_text(j, "key", schema->keys[i]);
		json_put_text(j, "label", schema->titles[i]);
		json_put_text(j, "format", schema->formats[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

void firefox_put_schema(struct sink *sink)
{
	static const struct schema schemas[] = {
		{ .name = "fork",
		  .label = "fork {marker.data.pid} {marker.data.command}",
		  .keys = { "pid", "command" },
		  .titles = { "Child", "Command" },
		  .formats = { "string", "string" },
		  .overview = true },
		{ .name = "exec",
		  .label = "exec {marker.data.command}",
		  .keys = { "pid", "command" },
		  .titles = { "Process", "Command" },
		  .formats = { "string", "string" },
		  .overview = true },
		{ .name = "exit",
		  .label = "{marker.data.status}",
		  .keys = { "status" },
		  .titles = { "Status" },
		  .formats = { "string" },
		  .overview = true },
		{ .name = "idle",
		  .label = "waits for {marker.data.wait}",
		  .keys = { "wait" },
		  .titles = { "Waits for" },
		  .formats = { "string" } },
		{ .name = "gil", .label = "waits for the GIL" },
	};

	json_key(&sink->json, "markerSchema");
	json_open(&sink->json, '[');
	for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++)
		put_one_schema(&schemas[i], &sink->json);
	json_close(&sink->json, ']');
}
