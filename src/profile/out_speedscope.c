/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>

#include "base/nsec.h"
#include "profile/out.h"
#include "profile/timeline.h"

/*
 * One profile a thread, of samples with weights. speedscope draws them one
 * after the other, each as wide as it weighs, so that a place on the time axis
 * is what has been written before it. All profiles begin with the recording, or
 * with the time that is asked for: an empty stack stands for time before the
 * birth of a thread, and for gaps.
 *
 * Some slices weigh more than their place is wide (see struct slice). Such a
 * one reaches back into the gap before it, and if there is none, pushes on what
 * follows, which finds back to its place at the next gap. So every weight is
 * exact, and every place as good as it can be then.
 */

struct view {
	struct timeline tl;
	struct sink sink;
	enum out_value value;
	struct str name;
	struct texts stacks;
	/* Of the thread that is being written. */
	bool weights;    /* they are written now, else the stacks */
	uint32_t stack;  /* of the newest sample */
	uint64_t weight; /* of it so far; 0: there is none */
	uint64_t cursor_ns;
	uint64_t total;
	uint32_t profiles, busiest;
	uint64_t busiest_ns;
};

static int add_stack(struct view *v, uint32_t stack)
{
	struct str *to = &v->sink.text;
	size_t at;
	int r;

	if (v->sink.json.comma)
		str_add(to, ",", 1);
	v->sink.json.comma = true;
	if (texts_add(&v->stacks, stack, to))
		return sink_pass(&v->sink);
	if (stack != STACKS_NONE && stack != STACKS_EMPTY) {
		r = timeline_stack(&v->tl, stack);
		if (r)
			return r;
	}
	at = to->len;
	v->sink.json.comma = false;
	json_open(&v->sink.json, '[');
	/* Frame 0 is ours, for stacks without any. */
	if (stack == STACKS_EMPTY)
		sink_u64(&v->sink, 0);
	else if (stack != STACKS_NONE)
		for (size_t i = 0; i < v->tl.frames.n; i++)
			sink_u64(&v->sink, v->tl.frames.at[i] + 1ull);
	json_close(&v->sink.json, ']');
	r = texts_keep(&v->stacks, stack, to, at);
	return r ? r : sink_pass(&v->sink);
}

/* The newest sample has all of its weight. */
static int end_sample(struct view *v)
{
	if (v->weights && v->weight)
		sink_u64(&v->sink, v->weight);
	v->weight = 0;
	return sink_pass(&v->sink);
}

/* One sample; with the stack of the one before it, it is part of that. */
static int add_sample(struct view *v, uint32_t stack, uint64_t weight)
{
	int r;

	if (!weight)
		return 0;
	v->total += weight;
	if (v->weight && v->stack == stack) {
		v->weight += weight;
		return 0;
	}
	r = end_sample(v);
	v->weight = weight;
	v->stack = stack;
	return r || v->weights ? r : add_stack(v, stack);
}

/* A slice in nanoseconds, at its place on the axis. */
static int add_slice(struct view *v, const struct course *course)
{
	const struct slice *slice = &course->slice;
	uint64_t wall_ns = slice->weight.wall_ns;
	uint64_t amount = timeline_amount(slice, v->value);
	uint64_t begin_ns = nsec_since(course->until_ns, wall_ns);
	uint64_t gap_ns = nsec_since(begin_ns, v->cursor_ns);
	int r;

	r = add_sample(v, STACKS_NONE, gap_ns);
	if (!r)
		r = add_sample(v, slice->seen.stack, amount);
	if (!r)
		r = add_sample(v, STACKS_NONE, nsec_since(wall_ns, amount));
	v->cursor_ns += gap_ns + (wall_ns > amount ? wall_ns : amount);
	return r;
}

/* All samples: their stacks, or their weights. */
static int add_samples(struct view *v, struct course *course)
{
	int r = 0;

	v->cursor_ns = v->tl.selection.query->since_ns;
	v->total = 0;
	json_key(&v->sink.json, v->weights ? "weights" : "samples");
	json_open(&v->sink.json, '[');
	for (course_rewind(course); !r && course_next(course);) {
		if (v->value == OUT_SAMPLES)
			r = add_sample(v, course->slice.seen.stack,
				       course->slice.weight.samples);
		else
			r = add_slice(v, course);
	}
	if (!r)
		r = end_sample(v);
	json_close(&v->sink.json, ']');
	return r;
}

/* The one that worked most is shown first. */
static void count_profile(struct view *v, struct course *course)
{
	uint64_t cpu_ns = 0;

	for (course_rewind(course); course_next(course);)
		cpu_ns += course->slice.weight.cpu_ns;
	if (cpu_ns > v->busiest_ns) {
		v->busiest_ns = cpu_ns;
		v->busiest = v->profiles;
	}
	v->profiles++;
}

static int add_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct view *v = ctx;
	struct json *j = &v->sink.json;
	const struct history *h = v->tl.history;
	const struct past_thread *t = &h->threads.at[thread];
	int r = 0;

	count_profile(v, course);
	str_clear(&v->name);
	timeline_process_name(h, t->process, t->image, &v->name);
	str_puts(&v->name, " / ");
	timeline_thread_name(h, thread, &v->name);
	if (v->name.failed)
		return -ENOMEM;

	json_open(j, '{');
	json_put_text(j, "type", "sampled");
	json_key(j, "name");
	json_string(j, v->name.at, v->name.len);
	json_put_text(j, "unit",
		      v->value == OUT_SAMPLES ? "none" : "nanoseconds");
	for (int i = 0; !r && i < 2; i++) {
		v->weights = i;
		r = add_samples(v, course);
	}
	json_put_u64(j, "startValue", 0);
	json_put_u64(j, "endValue", v->total);
	json_close(j, '}');
	return r ? r : sink_pass(&v->sink);
}

static int add_frames(struct view *v)
{
	const struct strtab *strings = v->tl.history->strings;
	uint32_t n = stacks_frame_count(filter_stacks(v->tl.filter));
	struct json *j = &v->sink.json;
	int r = 0;

	json_key(j, "shared");
	json_open(j, '{');
	json_key(j, "frames");
	json_open(j, '[');
	json_open(j, '{');
	json_put_text(j, "name", TIMELINE_NO_FRAMES);
	json_close(j, '}');
	for (uint32_t i = 0; !r && i < n; i++) {
		struct frame frame = timeline_frame(&v->tl, i);

		json_open(j, '{');
		json_key(j, "name");
		/* Of FRAMES_FILES only the file is left. */
		sink_id(&v->sink, strings,
			frame.function ? frame.function : frame.file);
		if (frame.file) {
			json_key(j, "file");
			sink_id(&v->sink, strings, frame.file);
		}
		if (frame.line > 0)
			json_put_u64(j, "line", (uint64_t)frame.line);
		json_close(j, '}');
		r = sink_pass(&v->sink);
	}
	json_close(j, ']');
	json_close(j, '}');
	return r;
}

int out_speedscope(const struct history *h, const struct query *query,
		   const struct out_options *options, out_write write,
		   void *ctx)
{
	struct view v = { .value = options->value };
	struct json *j = &v.sink.json;
	int r;

	sink_open(&v.sink, write, ctx);
	r = timeline_open(&v.tl, h, query);
	if (r)
		goto out;
	json_open(j, '{');
	json_put_text(j, "$schema",
		      "https://www.speedscope.app/file-format-schema.json");
	json_put_text(j, "exporter", "forkflame");
	if (options->title)
		json_put_text(j, "name", options->title);
	json_key(j, "profiles");
	json_open(j, '[');
	r = timeline_threads(&v.tl, add_thread, &v);
	json_close(j, ']');
	if (!r)
		r = add_frames(&v);
	json_put_u64(j, "activeProfileIndex", v.busiest);
	json_close(j, '}');
	str_puts(&v.sink.text, "\n");
	if (!r)
		r = sink_end(&v.sink);
out:
	timeline_close(&v.tl);
	sink_free(&v.sink);
	str_free(&v.name);
	texts_free(&v.stacks);
	return r;
}
