/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "profile/out.h"
#include "profile/out_firefox_internal.h"
#include "profile/timeline.h"

/*
 * The Firefox Profiler's processed format: a track a process and thread, from
 * birth to end.
 *
 * A sample stands for a slice, at its beginning, with the slice's weight. A
 * sample without a stack begins a gap, and ends the thread. The CPU time of a
 * sample is that since the one before it, as the format wants it, so that it is
 * found one sample later than the slice; the first is always 0.
 */

struct view {
	struct timeline tl;
	struct sink sink;
	enum out_value value;
	struct firefox_tables tables;
	struct firefox_markers markers;
	struct firefox_counters counters;
	struct firefox_family family;
	struct numbers pids, tids;
	struct str text;
	uint32_t threads; /* so many have been written */
	uint32_t process; /* of the newest of them */
	bool has_main;    /* this process has had its main thread */
};

/* A sample: a slice, or with NULL the beginning of time without one. */
struct row {
	const struct slice *slice;
	uint64_t at_ns;
	uint64_t cpu_ns; /* since the row before it */
};

typedef int (*row_fn)(struct view *v, const struct row *row);

/* Does time without a slice follow, or nothing? */
static bool before_gap(const struct course *course)
{
	return !course->has_next || course->next.start_ns > course->until_ns;
}

/* Hand out all rows of a thread. */
static int each_row(struct view *v, struct course *course, row_fn fn)
{
	uint64_t cpu_ns = 0;
	int r = 0;

	for (course_rewind(course); !r && course_next(course);) {
		struct row row = { .slice = &course->slice,
				   .at_ns = course->slice.start_ns,
				   .cpu_ns = cpu_ns };

		r = fn(v, &row);
		cpu_ns = course->slice.weight.cpu_ns;
		if (r || !before_gap(course))
			continue;
		row = (struct row){ .at_ns = course->until_ns,
				    .cpu_ns = cpu_ns };
		r = fn(v, &row);
		cpu_ns = 0;
	}
	return r;
}

static int put_stack(struct view *v, const struct row *row)
{
	uint32_t stack;
	int r;

	if (!row->slice) {
		json_text(&v->sink.json, NULL);
		return 0;
	}
	r = firefox_stack(&v->tables, &row->slice->seen, &stack);
	if (r)
		return r;
	sink_u64(&v->sink, stack);
	return sink_pass(&v->sink);
}

static int put_time(struct view *v, const struct row *row)
{
	sink_decimal(&v->sink, row->at_ns, 6);
	return sink_pass(&v->sink);
}

static int put_weight(struct view *v, const struct row *row)
{
	uint64_t amount = row->slice ? timeline_amount(row->slice, v->value)
				     : 0;

	sink_decimal(&v->sink, amount, v->value == OUT_SAMPLES ? 0 : 6);
	return sink_pass(&v->sink);
}

static int put_cpu(struct view *v, const struct row *row)
{
	sink_u64(&v->sink, row->cpu_ns);
	return sink_pass(&v->sink);
}

static int put_samples(struct view *v, struct course *course)
{
	static const struct {
		const char *key;
		row_fn fn;
	} columns[] = {
		{ "stack", put_stack },
		{ "time", put_time },
		{ "weight", put_weight },
		{ "threadCPUDelta", put_cpu },
	};
	struct json *j = &v->sink.json;
	uint64_t length = course->slices;
	int r = 0;

	for (course_rewind(course); course_next(course);)
		length += before_gap(course);
	json_key(j, "samples");
	json_open(j, '{');
	for (size_t i = 0; !r && i < sizeof(columns) / sizeof(*columns); i++) {
		json_key(j, columns[i].key);
		json_open(j, '[');
		r = each_row(v, course, columns[i].fn);
		json_close(j, ']');
	}
	json_put_text(j, "weightType",
		      v->value == OUT_SAMPLES ? "samples" : "tracing-ms");
	json_put_u64(j, "length", length);
	json_close(j, '}');
	return r;
}

static void put_ms(struct view *v, const char *key, uint64_t ns)
{
	json_key(&v->sink.json, key);
	sink_decimal(&v->sink, ns, 6);
}

static void put_ms_if(struct view *v, const char *key, bool known, uint64_t ns)
{
	if (known)
		put_ms(v, key, ns);
	else
		json_put_text(&v->sink.json, key, NULL);
}

/* With the pid in it: the members of a pool have one command. */
static int put_process_name(struct view *v, const char *key, uint32_t process,
			    uint32_t image)
{
	const char *name;

	str_clear(&v->text);
	timeline_process_name(v->tl.history, process, image, &v->text);
	if (v->text.failed)
		return -ENOMEM;
	name = v->text.at;
	json_key(&v->sink.json, key);
	json_string(&v->sink.json, name, strlen(name));
	return 0;
}

/* Who it is, and when it lived. */
static int put_identity(struct view *v, uint32_t thread, bool is_main)
{
	const struct history *h = v->tl.history;
	const struct past_thread *t = &h->threads.at[thread];
	const struct past_process *p = &h->processes.at[t->process];
	struct json *j = &v->sink.json;
	uint32_t turn = numbers_turn(&v->tids, t->tid, thread);
	int r;

	json_put_text(j, "processType", "default");
	r = put_process_name(v, "processName", t->process, HISTORY_NONE);
	/* The main thread stands for its process. */
	if (!r && is_main)
		r = put_process_name(v, "name", t->process, t->image);
	if (r)
		return r;
	str_clear(&v->text);
	timeline_thread_name(h, thread, &v->text);
	if (!is_main) {
		json_key(j, "name");
		json_string(j, v->text.at, v->text.len);
	}
	json_key(j, "isMainThread");
	json_bool(j, is_main);
	json_key(j, "tid");
	if (turn) {
		str_printf(&v->text, "#%u", thread);
		json_string(j, v->text.at, v->text.len);
	} else {
		json_i64(j, t->tid);
	}
	str_clear(&v->text);
	firefox_pid(h, &v->pids, t->process, &v->text);
	json_key(j, "pid");
	json_string(j, v->text.at, v->text.len);
	put_ms(v, "processStartupTime", p->born_ns);
	put_ms_if(v, "processShutdownTime", p->left, p->left_ns);
	put_ms(v, "registerTime", t->born_ns);
	put_ms_if(v, "unregisterTime", p->left || t->end_ns < p->left_ns,
		  t->end_ns);
	return v->text.failed || turn == UINT32_MAX ? -ENOMEM : 0;
}

static int add_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct view *v = ctx;
	const struct past_thread *t = &v->tl.history->threads.at[thread];
	bool first = v->process != t->process;
	struct json *j = &v->sink.json;
	int r = 0;

	v->markers.at.n = 0;
	if (first) {
		v->process = t->process;
		v->has_main = false;
		r = firefox_counter_begin(&v->counters, v->tl.history,
					  t->process, v->threads);
		if (!r)
			r = firefox_mark_lives(&v->markers, &v->tl, &v->family,
					       t->process);
	}
	if (!r)
		r = firefox_mark_waits(&v->markers, course);
	if (r)
		return r;
	firefox_count(&v->counters, course);
	json_open(j, '{');
	r = put_identity(v, thread, t->main && !v->has_main);
	v->has_main |= t->main;
	json_key(j, "pausedRanges");
	json_open(j, '[');
	json_close(j, ']');
	json_key(j, "showMarkersInTimeline");
	json_bool(j, true);
	if (!r)
		r = put_samples(v, course);
	if (!r)
		r = firefox_put_markers(&v->markers, &v->tl, &v->sink);
	json_close(j, '}');
	v->threads++;
	return r ? r : sink_pass(&v->sink);
}

static void put_categories(struct json *j)
{
	static const struct {
		const char *name, *color;
	} categories[] = {
		[FIREFOX_OTHER] = { "Other", "grey" },
		[FIREFOX_PYTHON] = { "Python", "yellow" },
		[FIREFOX_GIL] = { "GIL wait", "orange" },
		[FIREFOX_STOPPED] = { "Stopped", "darkgrey" },
		[FIREFOX_IDLE] = { "Idle", "transparent" },
	};

	json_key(j, "categories");
	json_open(j, '[');
	for (int i = 0; i <= FIREFOX_IDLE; i++) {
		json_open(j, '{');
		json_put_text(j, "name", categories[i].name);
		json_put_text(j, "color", categories[i].color);
		json_key(j, "subcategories");
		json_open(j, '[');
		json_text(j, "Other");
		for (uint8_t wait = 1; i == FIREFOX_IDLE && wait < WAIT_COUNT;
		     wait++)
			json_text(j, timeline_wait_text(wait));
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_meta(struct view *v, const struct out_options *options)
{
	const struct history *h = v->tl.history;
	const struct record_run *run = h->runs.n ? &h->runs.at[0].run : NULL;
	uint64_t start_ns = UINT64_MAX;
	struct json *j = &v->sink.json;

	for (size_t i = 0; i < h->runs.n; i++)
		if (h->runs.at[i].run.unix_ns < start_ns)
			start_ns = h->runs.at[i].run.unix_ns;
	json_key(j, "meta");
	json_open(j, '{');
	put_ms(v, "interval", run ? run->interval_ns : NSEC_PER_MSEC);
	put_ms(v, "startTime", h->runs.n ? start_ns : 0);
	put_ms(v, "profilingStartTime", 0);
	put_ms(v, "profilingEndTime", h->end_ns);
	json_put_u64(j, "processType", 0);
	json_put_text(j, "product",
		      options->title ? options->title : "forkflame");
	json_put_text(j, "importedFrom", "forkflame");
	json_put_u64(j, "stackwalk", 1);
	/* Of the format that Firefox itself writes, and of this one. */
	json_put_u64(j, "version", 31);
	json_put_u64(j, "preprocessedProfileVersion", 60);
	if (run)
		json_put_u64(j, "logicalCPUs", run->cpus);
	for (int i = 0; i < 4; i++) {
		static const char *const facts[] = {
			"symbolicated", "symbolicationNotSupported",
			"usesOnlyOneStackType", "sourceCodeIsNotOnSearchfox"
		};

		json_key(j, facts[i]);
		json_bool(j, true);
	}
	json_key(j, "sampleUnits");
	json_open(j, '{');
	json_put_text(j, "time", "ms");
	json_put_text(j, "eventDelay", "ms");
	json_put_text(j, "threadCPUDelta", "ns");
	json_close(j, '}');
	put_categories(j);
	firefox_put_schema(&v->sink);
	json_close(j, '}');
}

static int put_all(struct view *v, const struct out_options *options)
{
	struct json *j = &v->sink.json;
	int r;

	json_open(j, '{');
	put_meta(v, options);
	json_key(j, "libs");
	json_open(j, '[');
	json_close(j, ']');
	json_key(j, "threads");
	json_open(j, '[');
	r = timeline_threads(&v->tl, add_thread, v);
	json_close(j, ']');
	if (!r)
		r = firefox_put_counters(&v->counters, v->tl.history, &v->pids,
					 &v->sink);
	if (!r)
		r = firefox_shared(&v->tables, &v->sink);
	json_close(j, '}');
	str_puts(&v->sink.text, "\n");
	return r ? r : sink_end(&v->sink);
}

int out_firefox(const struct history *h, const struct query *query,
		const struct out_options *options, out_write write, void *ctx)
{
	struct view v = { .value = options->value, .process = HISTORY_NONE };
	int r;

	sink_open(&v.sink, write, ctx);
	v.tables.tl = &v.tl;
	r = timeline_open(&v.tl, h, query);
	if (!r)
		r = firefox_family_make(&v.family, h);
	if (!r)
		r = put_all(&v, options);
	timeline_close(&v.tl);
	sink_free(&v.sink);
	firefox_tables_free(&v.tables);
	vec_free(&v.markers.at);
	firefox_counters_free(&v.counters);
	firefox_family_free(&v.family);
	numbers_free(&v.pids);
	numbers_free(&v.tids);
	str_free(&v.text);
	return r;
}
