/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_chrome_calls.h"

#include <errno.h>
#include <string.h>

/*
 * A call lasts as long as slices that follow one another have the same function
 * at the same depth below the same callers; lines do not count. The weights of
 * slices stand in `args` of the event of the innermost frame, exactly: durations
 * tell of places only (see struct slice).
 *
 * A call is written when it ends, so that no more is held than one that lasts.
 * But of calls that began at one moment a viewer takes the one that comes first
 * for the caller. So a call that began together with its caller waits for it;
 * and since of the calls of one caller only the first can have begun with it,
 * those that wait for a call are a chain. The chains lie in `held` one above the
 * other, the innermost call of each at its bottom, and that of the innermost open
 * call on top.
 *
 * There is a call for each frame that a sample has and the one before it had not:
 * ten times as many as samples, where those find ever other stacks. So nothing is
 * formatted twice if that can be helped. Of an event
 *
 *	BEGIN,"ts":1.5,"dur":2,"name":"f","args":{"file":"a.py","line":3,...}}
 *
 * all up to the name is the head: it is the same for calls that begin and end
 * together, as most do. The piece of a frame is `"f","args":{"file":"a.py"` (`len`
 * bytes), then `,"line":3` (`line`).
 */

/* What copy() may touch behind the end of both: most texts are shorter. */
#define BEYOND 32

/* Room for all of an event that is not BEGIN or a piece. */
#define REST 512

/* Much faster than memcpy of a length that differs each time. */
static char *copy(char *to, const char *from, size_t len)
{
	size_t i = 0;

	do
		memcpy(to + i, from + i, BEYOND);
	while ((i += BEYOND) < len);
	return to + len;
}

/*
 * Times are given in eighths of a microsecond: those and their sums are exact as
 * doubles. Else the end of one call may come to lie behind the beginning of the
 * next, and readers take that for a call within it.
 */
static uint64_t exact(uint64_t ns)
{
	return ns - ns % 125;
}

static char *put_time(char *to, struct chrome_time *time, uint64_t ns)
{
	if (!time->len || time->ns != ns) {
		time->ns = ns;
		time->len = decimal_put(time->text, ns, 3);
	}
	memcpy(to, time->text, sizeof(time->text));
	return to + time->len;
}

/* A length of time: many are of one length. */
static char *put_us(struct chrome_calls *c, char *to, uint64_t ns)
{
	uint64_t mixed = ns * 0x9e3779b97f4a7c15u;

	return put_time(to, &c->times[mixed >> 32 & (CHROME_TIMES - 1)], ns);
}

static char *put_text(char *to, const char *text)
{
	size_t len = strlen(text); /* of a constant */

	memcpy(to, text, len);
	return to + len;
}

static int make_head(struct chrome_calls *c, uint64_t from_ns,
		     uint64_t until_ns)
{
	char *to;

	if (c->head.len && c->from_ns == from_ns && c->until_ns == until_ns)
		return 0;
	c->from_ns = from_ns;
	c->until_ns = until_ns;
	str_clear(&c->head);
	to = str_room(&c->head, c->begin.len + REST);
	if (!to)
		return -ENOMEM;
	to = copy(to, c->begin.at, c->begin.len);
	to = put_text(to, ",\"ts\":");
	to = put_time(to, &c->from, from_ns);
	to = put_text(to, ",\"dur\":");
	to = put_us(c, to, until_ns - from_ns);
	to = put_text(to, ",\"name\":");
	c->head.len = (size_t)(to - c->head.at);
	return 0;
}

/* --- pieces */

static struct frame frame_of(const struct chrome_calls *c, uint32_t frame)
{
	static const struct frame none;

	return frame ? timeline_frame(c->tl, frame - 1) : none;
}

static int make_piece(struct chrome_calls *c, uint32_t number)
{
	const struct strtab *strings = c->tl->history->strings;
	struct frame frame = frame_of(c, number);
	uint32_t name = frame.function ? frame.function : frame.file;
	struct chrome_piece piece = { 0 };
	struct sink texts = { 0 };

	if (number >= c->pieces.n) {
		size_t more = number + 1 - c->pieces.n;

		if (!vec_reserve(&c->pieces, more))
			return -ENOMEM;
		memset(c->pieces.at + c->pieces.n, 0,
		       more * sizeof(*c->pieces.at));
		c->pieces.n += more;
	}
	if (c->texts.len > TEXTS_BYTES) {
		str_clear(&c->texts);
		memset(c->pieces.at, 0, c->pieces.n * sizeof(*c->pieces.at));
	}
	texts.text = c->texts;
	texts.json.to = &texts.text;
	piece.at = (uint32_t)texts.text.len;
	if (name)
		sink_id(&texts, strings, name);
	else
		json_text(&texts.json, TIMELINE_NO_FRAMES);
	sink_field(&texts, ",\"args\":{");
	if (frame.file) {
		sink_field(&texts, "\"file\":");
		sink_id(&texts, strings, frame.file);
	}
	piece.len = (uint32_t)texts.text.len - piece.at;
	if (frame.line > 0) {
		sink_field(&texts, frame.file ? ",\"line\":" : "\"line\":");
		sink_u64(&texts, (uint64_t)frame.line);
	}
	piece.line = (uint32_t)texts.text.len - piece.at - piece.len;
	piece.bare = !frame.file;
	(void)str_room(&texts.text, BEYOND);
	c->texts = texts.text;
	c->pieces.at[number] = piece;
	return c->texts.failed ? -ENOMEM : 0;
}

/* That of frame @number; NULL without memory. It stays until the next is made. */
static const struct chrome_piece *find_piece(struct chrome_calls *c,
					     uint32_t number)
{
	if (number < c->pieces.n && c->pieces.at[number].len)
		return &c->pieces.at[number];
	return make_piece(c, number) ? NULL : &c->pieces.at[number];
}

/* --- events */

static bool weighs(const struct weight *self)
{
	return self->wall_ns || self->cpu_ns || self->samples;
}

static char *put_self(struct chrome_calls *c, char *to,
		      const struct weight *self)
{
	to = put_text(to, "\"self_wall_us\":");
	to = put_us(c, to, self->wall_ns);
	to = put_text(to, ",\"self_cpu_us\":");
	to = put_us(c, to, self->cpu_ns);
	to = put_text(to, ",\"self_samples\":");
	if (self->samples > 9)
		return to + decimal_put(to, self->samples, 0);
	*to = (char)('0' + self->samples);
	return to + 1;
}

static int write_call(struct chrome_calls *c, const struct chrome_call *call)
{
	const struct chrome_piece *piece = find_piece(c, call->frame);
	struct str *text = &c->sink->text;
	size_t len;
	char *begin, *to;

	if (!piece)
		return -ENOMEM;
	len = piece->len + (call->several ? 0 : piece->line);
	begin = to = str_room(text, c->head.len + len + REST);
	if (!begin)
		return -ENOMEM;
	to = copy(to, c->head.at, c->head.len);
	to = copy(to, c->texts.at + piece->at, len);
	if (weighs(&call->self)) {
		if (!piece->bare || len > piece->len)
			*to++ = ',';
		to = put_self(c, to, &call->self);
	}
	to = put_text(to, "}}");
	*to = '\0';
	text->len += (size_t)(to - begin);
	return 0;
}

/* Write @n calls that begin and end together, the outermost first. */
static int write_calls(struct chrome_calls *c, const struct chrome_call *call,
		       size_t n, uint64_t until_ns)
{
	int r = make_head(c, call->from_ns, until_ns);

	for (size_t i = 0; !r && i < n; i++)
		r = write_call(c, &call[i]);
	return r ? r : sink_pass(c->sink);
}

/* --- calls */

/* Write the calls that wait: @n of them. */
static int write_held(struct chrome_calls *c, size_t n)
{
	int r = 0;

	for (; !r && n; n--) {
		const struct chrome_call *call = &c->held.at[--c->held.n];

		r = write_calls(c, call, 1, call->until_ns);
	}
	return r;
}

/* Let the open calls from @depth on, which end, wait for the one before them. */
static int hold(struct chrome_calls *c, size_t depth, uint64_t until_ns)
{
	size_t n = c->open.n - depth;
	size_t *held = &c->open.at[depth - 1].held;

	if (!vec_reserve(&c->held, n))
		return -ENOMEM;
	while (c->open.n > depth) {
		struct chrome_call call = c->open.at[--c->open.n];

		*held += call.held + 1;
		call.until_ns = until_ns;
		c->held.at[c->held.n++] = call;
	}
	return 0;
}

/*
 * End all that is open from @depth on: as often as not, calls that began at one
 * moment. Of those the innermost has others that wait for it, if any has. (So have
 * its callers only where a call took no time.)
 */
static int close_calls(struct chrome_calls *c, size_t depth, uint64_t at_ns)
{
	uint64_t until_ns = exact(at_ns);
	int r = 0;

	while (!r && c->open.n > depth) {
		const struct chrome_call *open = c->open.at;
		size_t n = c->open.n, from = n - 1, held = 0;

		while (from > depth &&
		       open[from - 1].from_ns == open[from].from_ns)
			from--;
		if (from && open[from - 1].from_ns == open[from].from_ns)
			return hold(c, from, until_ns);
		for (size_t i = from; i < n; i++)
			held += open[i].held;
		r = write_calls(c, open + from, n - from, until_ns);
		if (!r)
			r = write_held(c, held);
		c->open.n = from;
	}
	return r;
}

/* The stacks below @stack, as far as the one before had others. */
static int walk_nodes(struct chrome_calls *c, uint32_t stack, size_t *ret_depth,
		      size_t *ret_same)
{
	const struct stack *all = stacks_all(filter_stacks(c->tl->filter));
	struct stack node = all[stack];
	size_t depth = node.depth ? node.depth : 1;
	size_t at = depth;

	*ret_depth = depth;
	if (depth > c->nodes.n) {
		size_t more = depth - c->nodes.n;

		if (!vec_reserve(&c->nodes, more))
			return -ENOMEM;
		memset(c->nodes.at + c->nodes.n, 0xff,
		       more * sizeof(*c->nodes.at));
		c->nodes.n = depth;
	}
	/* A stack without frames is one of a frame that says so. */
	while (at && !(at <= c->open.n && c->nodes.at[at - 1].stack == stack)) {
		c->nodes.at[--at] = (struct chrome_node){
			.stack = stack,
			.frame = node.depth ? node.frame + 1 : 0,
		};
		stack = node.parent;
		if (at)
			node = all[stack];
	}
	*ret_same = at;
	return 0;
}

/* Is the open call at @depth one of this frame? It may be at another line. */
static bool goes_on(struct chrome_calls *c, size_t depth, uint32_t number)
{
	struct chrome_call *call;
	struct frame frame, other;

	if (depth >= c->open.n)
		return false;
	call = &c->open.at[depth];
	if (call->frame == number)
		return true;
	frame = frame_of(c, number);
	other = frame_of(c, call->frame);
	if (frame.function != other.function || frame.file != other.file)
		return false;
	call->several |= frame.line != other.line;
	return true;
}

static int take_stack(struct chrome_calls *c, uint32_t stack, uint64_t at_ns)
{
	struct chrome_call call = { .from_ns = exact(at_ns) };
	size_t depth, same;
	int r = walk_nodes(c, stack, &depth, &same);

	if (r)
		return r;
	while (same < depth && goes_on(c, same, c->nodes.at[same].frame))
		same++;
	r = close_calls(c, same, at_ns);
	for (; !r && same < depth; same++) {
		call.frame = c->nodes.at[same].frame;
		if (!vec_push(&c->open, call))
			r = -ENOMEM;
	}
	return r;
}

int chrome_calls(struct chrome_calls *calls, const struct str *begin,
		 struct course *course)
{
	uint32_t stack = STACKS_NONE;
	uint64_t until_ns = UINT64_MAX;
	int r = 0;

	str_clear(&calls->begin);
	str_add(&calls->begin, begin->at, begin->len);
	str_clear(&calls->head);
	if (!str_room(&calls->begin, BEYOND))
		return -ENOMEM;
	for (course_rewind(course); !r && course_next(course);) {
		const struct slice *slice = &course->slice;
		struct weight *self;

		if (slice->start_ns > until_ns)
			r = close_calls(calls, 0, until_ns);
		if (!r && (slice->seen.stack != stack || !calls->open.n))
			r = take_stack(calls, slice->seen.stack,
				       slice->start_ns);
		if (r)
			break;
		stack = slice->seen.stack;
		self = &calls->open.at[calls->open.n - 1].self;
		self->wall_ns += slice->weight.wall_ns;
		self->cpu_ns += slice->weight.cpu_ns;
		self->samples += slice->weight.samples;
		until_ns = course->until_ns;
	}
	return r ? r : close_calls(calls, 0, until_ns);
}

void chrome_calls_free(struct chrome_calls *calls)
{
	str_free(&calls->begin);
	str_free(&calls->head);
	str_free(&calls->texts);
	vec_free(&calls->pieces);
	vec_free(&calls->open);
	vec_free(&calls->held);
	vec_free(&calls->nodes);
}
