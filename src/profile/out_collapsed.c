/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/out.h"

/* Text is handed on when there is this much of it. */
#define CHUNK (64 * 1024)

/* The texts of all frames, one after the other: each is escaped once only. */
struct texts {
	struct str bytes;
	struct VEC(size_t) end; /* of each frame's text */
};

/* What a writer works with. */
struct writer {
	const struct aggregate *agg;
	struct texts texts;
	struct VEC(uint32_t) path; /* nodes, from a stack's end to its root */
	uint64_t *own, *base;      /* weights by node; base NULL: no diff */
	struct str to;
};

static void frame_text(struct str *to, const struct strtab *strings,
		       struct frame frame)
{
	const char *name;
	size_t len;

	if (frame.file) {
		name = strtab_get(strings, frame.file, &len);
		str_escape(to, name, len, ";");
	}
	/* A file alone is a frame of a view by files. */
	if (frame.file && (frame.function || frame.line))
		str_puts(to, ":");
	name = strtab_get(strings, frame.function, &len);
	str_escape(to, name, len, frame.file ? ";:" : ";");
	if (frame.file && frame.line)
		str_printf(to, ":%" PRId32, frame.line);
}

static int texts_make(struct texts *texts, const struct aggregate *agg)
{
	for (uint32_t i = 0; i < aggregate_frame_count(agg); i++) {
		frame_text(&texts->bytes, aggregate_strings(agg),
			   aggregate_frame(agg, i));
		if (!vec_push(&texts->end, texts->bytes.len))
			return -ENOMEM;
	}
	return texts->bytes.failed ? -ENOMEM : 0;
}

static void add_label(struct writer *w, uint32_t node)
{
	const struct agg_entry *entry = aggregate_entry(w->agg, node);
	const char *label;
	size_t len;

	label = strtab_get(aggregate_strings(w->agg), entry->label, &len);
	str_escape(&w->to, label, len, ";");
}

static void add_frame(struct writer *w, uint32_t frame)
{
	size_t from = frame ? w->texts.end.at[frame - 1] : 0;

	str_puts(&w->to, ";");
	str_add(&w->to, w->texts.bytes.at + from,
		w->texts.end.at[frame] - from);
}

static int add_line(struct writer *w, uint32_t node)
{
	uint32_t at = node;

	w->path.n = 0;
	for (; at != AGGREGATE_NONE; at = aggregate_node(w->agg, at)->parent)
		if (!vec_push(&w->path, at))
			return -ENOMEM;
	add_label(w, w->path.at[w->path.n - 1]);
	for (size_t i = w->path.n - 1; i-- > 0;)
		add_frame(w, aggregate_node(w->agg, w->path.at[i])->frame);
	if (w->base)
		str_printf(&w->to, " %" PRIu64, w->base[node]);
	str_printf(&w->to, " %" PRIu64 "\n", w->own[node]);
	return w->to.failed ? -ENOMEM : 0;
}

static int writer_make(struct writer *w, const struct out_options *options)
{
	size_t room = ((size_t)aggregate_count(w->agg) + 1) * sizeof(*w->own);
	int r;

	w->own = malloc(room);
	if (!w->own)
		return -ENOMEM;
	r = out_weights(w->agg, options->value, false, w->own);
	if (!r && options->diff) {
		w->base = malloc(room);
		r = w->base ? out_weights(w->agg, options->value, true, w->base)
			    : -ENOMEM;
	}
	return r ? r : texts_make(&w->texts, w->agg);
}

static void writer_free(struct writer *w)
{
	free(w->own);
	free(w->base);
	str_free(&w->texts.bytes);
	vec_free(&w->texts.end);
	vec_free(&w->path);
	str_free(&w->to);
}

int out_collapsed(const struct aggregate *agg,
		  const struct out_options *options, out_write write, void *ctx)
{
	uint32_t count = aggregate_count(agg);
	struct writer w = { .agg = agg };
	int r;

	r = writer_make(&w, options);
	for (uint32_t i = 0; !r && i < count; i++) {
		if (w.own[i] || (w.base && w.base[i]))
			r = add_line(&w, i);
		if (!r && w.to.len >= CHUNK) {
			r = write(ctx, w.to.at, w.to.len);
			str_clear(&w.to);
		}
	}
	if (!r && w.to.len)
		r = write(ctx, w.to.at, w.to.len);
	writer_free(&w);
	return r;
}
