/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recording_decode.h"

#include <errno.h>

#include "base/outcome.h"

/*
 * What is left of a record. After something that makes no sense `bad` is set, and
 * all that is read is 0: it is asked once, at the end of a record.
 */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get_u64(struct cursor *c)
{
	uint64_t value = 0;

	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	if (!varint_get(&c->at, c->end, &value)) {
		c->bad = true;
		return 0;
	}
	return value;
}

static int64_t get_i64(struct cursor *c)
{
	return varint_unfold(get_u64(c));
}

/* A number below @limit. */
static uint64_t get_below(struct cursor *c, uint64_t limit)
{
	uint64_t value = get_u64(c);

	if (value < limit)
		return value;
	c->bad = true;
	return 0;
}

static uint32_t get_u32(struct cursor *c)
{
	return (uint32_t)get_below(c, UINT64_C(1) << 32);
}

static int32_t get_i32(struct cursor *c)
{
	int64_t value = get_i64(c);

	if (value >= INT32_MIN && value <= INT32_MAX)
		return (int32_t)value;
	c->bad = true;
	return 0;
}

static uint8_t get_byte(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = true;
	return 0;
}

static uint64_t get_time(struct cursor *c)
{
	return get_below(c, WIRE_TIME_MAX + 1);
}

/* The number of one of the @n defined so far. */
static uint32_t get_ref(struct cursor *c, uint32_t n)
{
	return (uint32_t)get_below(c, n);
}

/* The same, told by how many were defined after it. */
static uint32_t get_ref_back(struct cursor *c, uint32_t n)
{
	uint32_t back = get_ref(c, n);

	return c->bad ? 0 : n - 1 - back;
}

static bool set_state(struct seen *seen, uint8_t state)
{
	seen->run = state & 3u;
	seen->gil = state >> 2 & 3u;
	seen->wait = state >> 4;
	/* A newer version may know more of these. */
	if (seen->wait >= WAIT_COUNT)
		seen->wait = WAIT_OTHER;
	return seen->run < RUN_COUNT;
}

/* Count a definition. */
static void define(struct cursor *c, uint32_t *n, uint32_t limit)
{
	if (*n >= limit)
		c->bad = true;
	else if (!c->bad)
		++*n;
}

/* --- one function a kind ---------------------------------------------------- */

typedef void (*decode_fn)(struct decode *d, struct cursor *c,
			  struct record *to);

static void get_run(struct decode *d, struct cursor *c, struct record *to)
{
	if (d->has_run)
		c->bad = true;
	d->has_run = true;
	to->run.unix_ns = get_time(c);
	to->run.interval_ns = get_time(c);
	to->run.start_ns = get_time(c);
	to->run.cpus = get_u32(c);
	to->run.host = get_ref(c, d->strings);
	to->run.version = get_ref(c, d->strings);
	to->run.title = get_ref(c, d->strings);
	to->run.events = get_ref(c, d->strings);
	to->run.oncpu = get_ref(c, d->strings);
}

static void get_bytes(struct cursor *c, struct record *to, size_t max)
{
	to->bytes.at = (const char *)c->at;
	to->bytes.len = (size_t)(c->end - c->at);
	if (to->bytes.len > max)
		c->bad = true;
}

static void get_string(struct decode *d, struct cursor *c, struct record *to)
{
	get_bytes(c, to, WIRE_STRING_MAX);
	define(c, &d->strings, RECORD_NONE);
}

static void get_frame(struct decode *d, struct cursor *c, struct record *to)
{
	to->frame.function = get_ref_back(c, d->strings);
	to->frame.file = get_ref_back(c, d->strings);
	to->frame.line = get_i32(c);
	define(c, &d->frames, RECORD_NONE);
}

static void get_stack(struct decode *d, struct cursor *c, struct record *to)
{
	to->stack.parent = get_ref_back(c, d->stacks);
	to->stack.frame = get_ref_back(c, d->frames);
	define(c, &d->stacks, RECORD_NONE);
}

static void get_process(struct decode *d, struct cursor *c, struct record *to)
{
	/* 0 is none, and becomes RECORD_NONE. */
	to->process.parent = get_ref(c, d->processes + 1) - 1;
	to->process.pid = get_i32(c);
	to->process.ns_pid = get_i32(c);
	to->process.born_ns = get_time(c);
	to->process.pid_ns = get_u64(c);
	to->process.uid = get_u32(c);
	to->process.cgroup = get_ref(c, d->strings);
	to->process.before = get_u64(c) & 1;
	define(c, &d->processes, WIRE_NUMBERS_MAX);
}

static void get_image(struct decode *d, struct cursor *c, struct record *to)
{
	to->image.process = get_ref(c, d->processes);
	to->image.at_ns = get_time(c);
	to->image.command = get_ref(c, d->strings);
	to->image.python = get_ref(c, d->strings);
	define(c, &d->images, WIRE_NUMBERS_MAX);
}

/* The thread itself is counted by decode_record: that may need memory. */
static void get_thread(struct decode *d, struct cursor *c, struct record *to)
{
	to->thread.process = get_ref(c, d->processes);
	to->thread.image = get_ref(c, d->images);
	to->thread.tid = get_i32(c);
	to->thread.born_ns = get_time(c);
	if (d->threads.n >= WIRE_NUMBERS_MAX)
		c->bad = true;
}

static void get_image_python(struct decode *d, struct cursor *c,
			     struct record *to)
{
	to->image_python.image = get_ref(c, d->images);
	to->image_python.python = get_ref(c, d->strings);
}

static void get_image_title(struct decode *d, struct cursor *c,
			    struct record *to)
{
	to->image_title.image = get_ref(c, d->images);
	to->image_title.title = get_ref(c, d->strings);
}

static void get_thread_name(struct decode *d, struct cursor *c,
			    struct record *to)
{
	to->thread_name.thread = get_ref(c, (uint32_t)d->threads.n);
	to->thread_name.name = get_ref(c, d->strings);
}

static void get_stand(struct decode *d, struct cursor *c, struct record *to)
{
	to->stand.thread = get_ref(c, (uint32_t)d->threads.n);
	to->stand.start_ns = get_time(c);
	if (!set_state(&to->stand.seen, (uint8_t)get_below(c, 256)))
		c->bad = true;
	to->stand.seen.stack = get_ref(c, d->stacks);
}

static void get_thread_end(struct decode *d, struct cursor *c,
			   struct record *to)
{
	to->thread_end.thread = get_ref(c, (uint32_t)d->threads.n);
	to->thread_end.at_ns = get_time(c);
}

static void get_process_end(struct decode *d, struct cursor *c,
			    struct record *to)
{
	uint64_t flags;

	to->process_end.process = get_ref(c, d->processes);
	to->process_end.at_ns = get_time(c);
	to->process_end.verdict = (uint8_t)get_below(c, 256);
	flags = get_u64(c);
	to->process_end.left = flags & 1;
	to->process_end.has_status = flags >> 1 & 1;
	to->process_end.status = get_i32(c);
}

static void get_note(struct decode *d, struct cursor *c, struct record *to)
{
	(void)d;
	to->note.kind = (uint8_t)get_below(c, 256);
	to->note.at_ns = get_time(c);
	to->note.value = get_u64(c);
}

static void get_summary(struct decode *d, struct cursor *c, struct record *to)
{
	d->summary = true;
	get_bytes(c, to, WIRE_SUMMARY_MAX);
}

static void get_moment(struct decode *d, struct cursor *c, struct record *to)
{
	(void)d;
	to->time_ns = get_time(c);
}

static const decode_fn decoders[] = {
	[RECORD_RUN] = get_run,
	[RECORD_STRING] = get_string,
	[RECORD_FRAME] = get_frame,
	[RECORD_STACK] = get_stack,
	[RECORD_PROCESS] = get_process,
	[RECORD_IMAGE] = get_image,
	[RECORD_THREAD] = get_thread,
	[RECORD_IMAGE_PYTHON] = get_image_python,
	[RECORD_THREAD_NAME] = get_thread_name,
	[RECORD_STAND] = get_stand,
	[RECORD_THREAD_END] = get_thread_end,
	[RECORD_PROCESS_END] = get_process_end,
	[RECORD_NOTE] = get_note,
	[RECORD_SUMMARY] = get_summary,
	[RECORD_TIME] = get_moment,
	[RECORD_IMAGE_TITLE] = get_image_title,
};

/* --- slices ----------------------------------------------------------------- */

static void get_cpu(struct cursor *c, unsigned flags, struct weight *to)
{
	switch (flags & WIRE_SLICE_CPU) {
	case WIRE_SLICE_CPU_NONE:
		to->cpu_ns = 0;
		break;
	case WIRE_SLICE_CPU_WALL:
		to->cpu_ns = to->wall_ns;
		break;
	case WIRE_SLICE_CPU_OWN:
		to->cpu_ns = get_time(c);
		break;
	default:
		to->cpu_ns = to->wall_ns - (uint64_t)get_i64(c);
		if (to->cpu_ns > WIRE_TIME_MAX)
			c->bad = true;
	}
}

static void get_slice(struct decode *d, struct cursor *c, unsigned flags,
		      struct slice *to)
{
	const struct wire_last *expected;
	uint8_t state;
	int64_t to_thread = d->block.thread, to_stack;

	if (flags & WIRE_SLICE_THREAD)
		to_thread += get_i64(c) % (INT64_C(1) << 32);
	if (to_thread < 0 || to_thread >= (int64_t)d->threads.n) {
		c->bad = true;
		return;
	}
	to->thread = (uint32_t)to_thread;
	expected = wire_expect(&d->block, &d->threads.at[to->thread]);
	to->start_ns = expected->end_ns;
	if (flags & WIRE_SLICE_START)
		to->start_ns += (uint64_t)get_i64(c);
	state = flags & WIRE_SLICE_STATE ? get_byte(c) : expected->state;
	to_stack = expected->stack;
	if (flags & WIRE_SLICE_STACK)
		to_stack += get_i64(c) % (INT64_C(1) << 32);
	to->weight.wall_ns = get_time(c);
	get_cpu(c, flags, &to->weight);
	to->weight.samples = flags & WIRE_SLICE_SAMPLES ? get_time(c) : 1;
	if (!set_state(&to->seen, state) || to->start_ns > WIRE_TIME_MAX ||
	    to_stack < 0 || to_stack >= (int64_t)d->stacks)
		c->bad = true;
	to->seen.stack = (uint32_t)to_stack;
	wire_passed(&d->block, &d->threads.at[to->thread], to, state);
}

/* --- records ---------------------------------------------------------------- */

/* Decode one, of any kind. False when it was of a kind that is not known. */
static bool decode_record(struct decode *d, struct cursor *c,
			  struct record *record, int *ret)
{
	struct cursor fields = *c;
	unsigned kind = get_byte(&fields);
	uint64_t len;

	if (kind & WIRE_SLICE) {
		record->kind = RECORD_SLICE;
		c->at++;
		get_slice(d, c, kind, &record->slice);
		d->summary = false;
		return true;
	}
	len = get_u64(&fields);
	if (fields.bad || len > (size_t)(fields.end - fields.at)) {
		c->bad = true;
		return false;
	}
	fields.end = fields.at + len;
	c->at = fields.end;
	if (kind >= sizeof(decoders) / sizeof(*decoders) || !decoders[kind])
		return false;
	d->summary = false;
	record->kind = (enum record_kind)kind;
	decoders[kind](d, &fields, record);
	/*
	 * Strings that RUN names stand before it, and nothing else. (A slice
	 * needs a thread.)
	 */
	c->bad = fields.bad || (!d->has_run && kind != RECORD_STRING);
	if (kind == RECORD_THREAD && !c->bad &&
	    !vec_push(&d->threads, (struct wire_last){ 0 }))
		*ret = -ENOMEM;
	return true;
}

int decode_block(struct decode *d, const uint8_t *plain, size_t n,
		 uint32_t kinds, record_fn fn, void *ctx, int *ret_fn)
{
	struct cursor c = { .at = plain, .end = plain + n };
	struct record record;
	int r = 0;

	*ret_fn = 0;
	wire_block_begin(&d->block);
	while (c.at < c.end) {
		bool known = decode_record(d, &c, &record, &r);

		if (c.bad || r != 0)
			return r != 0 ? r : OUT_UNKNOWN;
		if (!known || !(kinds & 1u << record.kind))
			continue;
		*ret_fn = fn(ctx, &record);
		if (*ret_fn != 0)
			return 0;
	}
	return 0;
}

void decode_begin(struct decode *d)
{
	d->strings = 0;
	d->frames = 0;
	d->stacks = 1;
	d->processes = 0;
	d->images = 0;
	d->threads.n = 0;
	d->block = (struct wire_block){ 0 };
	d->has_run = false;
	d->summary = false;
}

void decode_free(struct decode *d)
{
	vec_free(&d->threads);
}
