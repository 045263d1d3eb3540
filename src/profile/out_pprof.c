/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "profile/out.h"
#include "profile/protobuf.h"
#include "profile/timeline.h"

/*
 * pprof's profile.proto: one Sample for each different stack of each thread, with
 * all of its weights, and labels that say whose it is:
 *
 *   pid, tid   numbers
 *   process    the command line
 *   thread     its name, else its number
 *   host, python
 *
 * With GROUP_ROLE those that tell processes with one command line apart are left
 * out (pid, tid, thread), with GROUP_ALL process and python as well, and what is
 * the same then is one Sample. The labels of a thread are made once, as bytes, and
 * a Sample is found by them and its stack.
 *
 * A stack is made of Locations, the leaf first; a Location is a line of a
 * Function. A stack without any frame gets one that says so, since readers leave
 * out what stands nowhere. Locations and Functions are written when they first
 * come up, the strings last: the format allows any order.
 *
 * A Function has no system_name: where it equals the name, pprof takes that for
 * one of C++, and `<module>` for a template, which it leaves out.
 */

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum value_type_field {
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
};

enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
};

enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
};

enum line_field {
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
};

enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILE = 4,
};

#define CHUNK (64 * 1024) /* bytes are compressed when there are this many */

/* What a stack without a frame has for one. */
#define OUTSIDE "(outside of Python frames)"

/* --- adding up */

/* The sum of a stack under some labels, in sums; an index. */
static int find_sum(struct pprof *p, uint32_t labels, uint32_t stack,
		    size_t *ret)
{
	struct sum sum = { .stack = stack, .labels = labels };
	uint64_t key = (uint64_t)labels << 32 | stack;
	uint64_t i = p->sums.n;

	if (!map_get(&p->sum_of, key, &i) &&
	    (!map_put(&p->sum_of, key, i) || !vec_push(&p->sums, sum)))
		return -ENOMEM;
	*ret = (size_t)i;
	return 0;
}

static void add_to(struct sum *sum, const struct slice *slice)
{
	sum->weight.samples += slice->weight.samples;
	sum->weight.wall_ns += slice->weight.wall_ns;
	sum->weight.cpu_ns += slice->weight.cpu_ns;
	if (slice->seen.gil == GIL_HELD)
		sum->gil_ns += slice->weight.wall_ns;
}

static int add_thread(void *ctx, uint32_t thread, struct course *course)
{
	struct pprof *p = ctx;
	uint32_t labels = pprof_labels(p, thread);
	uint32_t last = STACKS_NONE;
	size_t i = 0;
	int r = labels == STRTAB_NONE ? -ENOMEM : 0;

	while (!r && course_next(course)) {
		uint32_t stack = course->slice.seen.stack;

		if (stack != last)
			r = find_sum(p, labels, stack, &i);
		if (!r)
			add_to(&p->sums.at[i], &course->slice);
		last = stack;
	}
	return r;
}

/* --- stacks */

/* The Function of a frame, written the first time. Ids are 1 and up. */
static uint64_t function_id(struct pprof *p, struct frame frame)
{
	uint64_t key = (uint64_t)frame.function << 32 | frame.file;
	uint32_t name = pprof_string(p, frame.function);
	uint64_t id;

	if (map_get(&p->function_of, key, &id))
		return id;
	/* 1 is that of no frame. */
	id = p->function_of.n + 2;
	if (!map_put(&p->function_of, key, id))
		p->to.failed = true;
	/* Of files alone (FRAMES_FILES), their names are what is to be seen. */
	if (!frame.function)
		name = pprof_string(p, frame.file);
	str_clear(&p->part);
	protobuf_number(&p->part, FUNCTION_ID, id);
	protobuf_number(&p->part, FUNCTION_NAME, name);
	protobuf_number(&p->part, FUNCTION_FILE, pprof_string(p, frame.file));
	protobuf_bytes(&p->to, PROFILE_FUNCTION, p->part.at, p->part.len);
	return id;
}

static void put_location(struct pprof *p, uint64_t id, uint64_t function,
			 int32_t line)
{
	str_clear(&p->part);
	protobuf_number(&p->part, LINE_FUNCTION, function);
	protobuf_number(&p->part, LINE_NUMBER, (uint64_t)(int64_t)line);
	str_clear(&p->whole);
	protobuf_number(&p->whole, LOCATION_ID, id);
	protobuf_number(&p->whole, LOCATION_MAPPING, 1);
	protobuf_bytes(&p->whole, LOCATION_LINE, p->part.at, p->part.len);
	protobuf_bytes(&p->to, PROFILE_LOCATION, p->whole.at, p->whole.len);
}

/* The Location that stands for no frame. */
static uint64_t outside_location(struct pprof *p)
{
	if (p->outside)
		return 1;
	p->outside = true;
	str_clear(&p->part);
	protobuf_number(&p->part, FUNCTION_ID, 1);
	protobuf_number(&p->part, FUNCTION_NAME, pprof_literal(p, OUTSIDE));
	protobuf_bytes(&p->to, PROFILE_FUNCTION, p->part.at, p->part.len);
	put_location(p, 1, 1, 0);
	return 1;
}

static uint64_t location(struct pprof *p, uint32_t number)
{
	uint64_t id = (uint64_t)number + 2;
	struct frame frame;

	if (p->located[number])
		return id;
	p->located[number] = true;
	frame = stacks_frame_at(filter_stacks(p->filter), number);
	put_location(p, id, function_id(p, frame), frame.line);
	return id;
}

/* The Locations of a stack, from its leaf on. */
static int make_path(struct pprof *p, uint32_t number)
{
	const struct stacks *stacks = filter_stacks(p->filter);
	struct stack stack = stacks_at(stacks, number);

	p->path.n = 0;
	if (!vec_reserve(&p->path, (size_t)stack.depth + 1))
		return -ENOMEM;
	if (!stack.depth)
		p->path.at[p->path.n++] = outside_location(p);
	while (stack.depth) {
		p->path.at[p->path.n++] = location(p, stack.frame);
		stack = stacks_at(stacks, stack.parent);
	}
	return 0;
}

static int put_sample(struct pprof *p, const struct sum *sum)
{
	const uint64_t values[] = { sum->weight.samples, sum->weight.cpu_ns,
				    sum->weight.wall_ns, sum->gil_ns };
	const char *labels;
	size_t len;

	if (make_path(p, sum->stack))
		return -ENOMEM;
	str_clear(&p->whole);
	protobuf_numbers(&p->whole, SAMPLE_LOCATION, p->path.at, p->path.n);
	protobuf_numbers(&p->whole, SAMPLE_VALUE, values, p->gil ? 4 : 3);
	labels = strtab_get(p->labels, sum->labels, &len);
	str_add(&p->whole, labels, len);
	protobuf_bytes(&p->to, PROFILE_SAMPLE, p->whole.at, p->whole.len);
	return p->whole.failed || p->part.failed || p->to.failed ? -ENOMEM : 0;
}

/* --- the rest */

static void put_value_type(struct pprof *p, enum profile_field field,
			   const char *type, const char *unit)
{
	str_clear(&p->part);
	protobuf_number(&p->part, VALUE_TYPE, pprof_literal(p, type));
	protobuf_number(&p->part, VALUE_UNIT, pprof_literal(p, unit));
	protobuf_bytes(&p->to, field, p->part.at, p->part.len);
}

static void put_comment(struct pprof *p, const char *text)
{
	protobuf_number(&p->to, PROFILE_COMMENT,
			pprof_escaped(p, text, strlen(text)));
}

/* What was recorded, by whom and where: one comment, and one for each run. */
static void put_comments(struct pprof *p, const struct out_options *options)
{
	struct str line = { 0 };

	if (options->title)
		put_comment(p, options->title);
	for (size_t i = 0; i < p->h->runs.n; i++) {
		const struct past_run *past = &p->h->runs.at[i];
		const struct strtab *strings = p->h->strings;

		str_clear(&line);
		str_printf(&line,
			   "recorded by forkflame %s on %s, %" PRIu32 " CPUs",
			   strtab_get(strings, past->run.version, NULL),
			   strtab_get(strings, past->run.host, NULL),
			   past->run.cpus);
		if (past->end != RECORDING_WHOLE)
			str_puts(&line, "; the file was not ended in order");
		if (line.failed)
			p->to.failed = true;
		else
			put_comment(p, line.at);
	}
	str_free(&line);
}

/* When the time that was asked for began, and how long it is. */
static void put_time(struct pprof *p)
{
	uint64_t start_ns = 0;
	uint64_t until_ns = p->h->end_ns;
	uint64_t interval_ns = 0;

	for (size_t i = 0; i < p->h->runs.n; i++) {
		const struct record_run *run = &p->h->runs.at[i].run;

		if (!i || run->unix_ns < start_ns)
			start_ns = run->unix_ns;
		if (!i)
			interval_ns = run->interval_ns;
	}
	if (until_ns > p->query->until_ns)
		until_ns = p->query->until_ns;
	protobuf_number(&p->to, PROFILE_TIME_NANOS,
			start_ns + p->query->since_ns);
	protobuf_number(&p->to, PROFILE_DURATION_NANOS,
			nsec_since(until_ns, p->query->since_ns));
	put_value_type(p, PROFILE_PERIOD_TYPE, "wall", "nanoseconds");
	protobuf_number(&p->to, PROFILE_PERIOD, interval_ns);
}

/* One for all: readers want to know that there is nothing left to look up. */
static void put_mapping(struct pprof *p)
{
	str_clear(&p->part);
	protobuf_number(&p->part, MAPPING_ID, 1);
	protobuf_number(&p->part, MAPPING_FILE, pprof_literal(p, "[python]"));
	protobuf_number(&p->part, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_number(&p->part, MAPPING_HAS_FILES, 1);
	protobuf_number(&p->part, MAPPING_HAS_LINES, 1);
	protobuf_bytes(&p->to, PROFILE_MAPPING, p->part.at, p->part.len);
}

static void put_head(struct pprof *p, const struct out_options *options)
{
	static const char *const names[] = {
		[OUT_WALL] = "wall",
		[OUT_CPU] = "cpu",
		[OUT_SAMPLES] = "samples",
		[OUT_GIL] = "gil",
	};

	put_value_type(p, PROFILE_SAMPLE_TYPE, "samples", "count");
	put_value_type(p, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	put_value_type(p, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
	if (p->gil)
		put_value_type(p, PROFILE_SAMPLE_TYPE, "gil", "nanoseconds");
	protobuf_number(&p->to, PROFILE_DEFAULT_SAMPLE_TYPE,
			pprof_literal(p, names[options->value]));
	put_mapping(p);
	put_time(p);
	put_comments(p, options);
}

/* Compress what there is, if it is worth it or @all. */
static int pass(struct pprof *p, bool all)
{
	int r;

	if (p->to.failed)
		return -ENOMEM;
	if (!all && p->to.len < CHUNK)
		return 0;
	r = gzip_add(p->gz, p->to.at, p->to.len);
	str_clear(&p->to);
	return r;
}

static int write_all(struct pprof *p, const struct out_options *options)
{
	const char *text;
	size_t len;
	int r = 0;

	put_head(p, options);
	for (size_t i = 0; !r && i < p->sums.n; i++) {
		r = put_sample(p, &p->sums.at[i]);
		if (!r)
			r = pass(p, false);
	}
	for (uint32_t i = 0; !r && i < strtab_count(p->strings); i++) {
		text = strtab_get(p->strings, i, &len);
		protobuf_bytes(&p->to, PROFILE_STRING, text, len);
		r = pass(p, false);
	}
	if (!r)
		r = pass(p, true);
	return r ? r : gzip_end(p->gz);
}

/*
 * One thread after the other: what its stacks add up to stays at hand in the
 * processor's caches.
 */
static int add_up(struct pprof *p)
{
	struct timeline tl = { .history = p->h,
			       .filter = p->filter,
			       .batch = TIMELINE_BATCH };
	int r;

	r = selection_make(&tl.selection, p->h, p->query);
	if (!r)
		r = timeline_threads(&tl, add_thread, p);
	selection_free(&tl.selection);
	if (r)
		return r;
	p->located =
		calloc((size_t)stacks_frame_count(filter_stacks(p->filter)) + 1,
		       sizeof(*p->located));
	return p->located ? 0 : -ENOMEM;
}

/* @n numbers that are not set yet. */
static uint32_t *unset(size_t n)
{
	uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, (n + 1) * sizeof(*numbers));
	return numbers;
}

int out_pprof(const struct history *h, const struct query *query,
	      const struct out_options *options, out_write write, void *ctx)
{
	struct pprof p = { .h = h, .query = query };
	int r = -ENOMEM;

	p.gil = h->has_gil || options->value == OUT_GIL;
	p.filter = filter_new(h, query);
	p.strings = strtab_new();
	p.labels = strtab_new();
	p.string_of = unset(strtab_count(h->strings));
	p.labels_of = unset(h->threads.n);
	p.gz = gzip_new(write, ctx);
	if (!p.filter || !p.strings || !p.labels || !p.string_of ||
	    !p.labels_of || !p.gz)
		goto out;
	r = add_up(&p);
	if (!r)
		r = write_all(&p, options);
out:
	filter_free(p.filter);
	strtab_free(p.strings);
	strtab_free(p.labels);
	free(p.string_of);
	free(p.labels_of);
	free(p.located);
	vec_free(&p.sums);
	map_free(&p.sum_of);
	map_free(&p.function_of);
	vec_free(&p.path);
	str_free(&p.text);
	str_free(&p.part);
	str_free(&p.whole);
	str_free(&p.to);
	gzip_free(p.gz);
	return r;
}
