/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strtab.h"
#include "profile/out_svg.h"

#define LABEL_CHAR 7.23 /* pixels of a character of 12 pixels, fixed width */
#define LABEL_EDGE 6.0
#define HEADLINE_ROOM 110 /* letters */

#define HUES 24
#define SHADES 3
#define STEPS 5 /* of a colour that tells a change */

/* --- names */

/*
 * The bytes that str_escape makes are UTF-8 without controls. XML wants besides
 * that its marks are escaped, and knows two characters less: U+FFFE and U+FFFF.
 */
static void put_xml(struct str *to, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool last = len - i >= 3 && !memcmp(bytes + i, "\xef\xbf", 2) &&
			    (bytes[i + 2] & 0xfe) == 0xbe;

		if (bytes[i] == '&')
			str_puts(to, "&amp;");
		else if (bytes[i] == '<')
			str_puts(to, "&lt;");
		else if (bytes[i] == '>')
			str_puts(to, "&gt;");
		else if (last)
			str_puts(to, bytes[i + 2] & 1 ? "\\uffff" : "\\ufffe");
		else
			str_add(to, bytes + i, 1);
		if (last)
			i += 2;
	}
}

static void put_escaped(struct svg *svg, const char *bytes, size_t len)
{
	str_clear(&svg->scratch);
	str_escape(&svg->scratch, bytes, len, "");
	if (svg->scratch.failed)
		svg->to.failed = true;
	else
		put_xml(&svg->to, svg->scratch.at, svg->scratch.len);
}

static void put_string(struct svg *svg, uint32_t string)
{
	size_t len;
	const char *bytes =
		strtab_get(aggregate_strings(svg->agg), string, &len);

	if (len)
		put_escaped(svg, bytes, len);
}

static struct frame frame_of(const struct svg *svg, uint32_t node)
{
	const struct node *n = aggregate_node(svg->agg, node);
	const struct agg_entry *entry;

	if (n->parent != AGGREGATE_NONE)
		return aggregate_frame(svg->agg, n->frame);
	entry = aggregate_entry(svg->agg, node);
	return (struct frame){ .function = entry->label };
}

/* What a block is called. Ours or of the tree's strings: not escaped yet. */
static const char *name_of(const struct svg *svg, uint32_t node,
			   size_t *ret_len)
{
	const struct strtab *strings = aggregate_strings(svg->agg);
	const char *ours = node == AGGREGATE_NONE ? "all" : "(no name)";
	struct frame frame = { 0 };

	if (node != AGGREGATE_NONE)
		frame = frame_of(svg, node);
	/* A view by files has frames without a function. */
	if (frame.function || frame.file)
		return strtab_get(strings,
				  frame.function ? frame.function : frame.file,
				  ret_len);
	*ret_len = strlen(ours);
	return ours;
}

/* --- numbers */

static void put_time(struct str *to, uint64_t us)
{
	uint64_t s = us / 1000000;

	if (s >= 3600)
		str_printf(to, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
			   s % 3600 / 60);
	else if (s >= 60)
		str_printf(to, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else if (s)
		str_printf(to, "%" PRIu64 ".%02" PRIu64 " s", s,
			   us % 1000000 / 10000);
	else if (us >= 1000)
		str_printf(to, "%" PRIu64 ".%" PRIu64 " ms", us / 1000,
			   us % 1000 / 100);
	else
		str_printf(to, "%" PRIu64 " \xc2\xb5s", us);
}

static void put_weight(struct svg *svg, uint64_t weight)
{
	if (svg->options->value != OUT_SAMPLES)
		put_time(&svg->to, weight);
	else
		str_printf(&svg->to, "%" PRIu64 " sample%s", weight,
			   weight == 1 ? "" : "s");
}

static void put_share(struct svg *svg, uint64_t part, uint64_t whole)
{
	double share = whole ? (double)part / (double)whole : 0;
	unsigned hundredths = (unsigned)(share * 10000 + 0.5);

	if (part && !hundredths)
		str_puts(&svg->to, "&lt; 0.01 %");
	else
		str_printf(&svg->to, "%u.%02u %%", hundredths / 100,
			   hundredths % 100);
}

static void put_part(struct svg *svg, uint64_t part, uint64_t whole)
{
	put_weight(svg, part);
	str_puts(&svg->to, ", ");
	put_share(svg, part, whole);
}

static void put_change(struct svg *svg, uint64_t now, uint64_t before)
{
	str_puts(&svg->to, "; before ");
	put_part(svg, before, svg->base_all);
	str_puts(&svg->to, now < before ? ": \xe2\x88\x92" : ": +");
	put_weight(svg, now < before ? before - now : now - before);
}

/* --- colours */

/* FNV-1a, mixed once more: its low bits hardly tell short names apart. */
static uint32_t hash(const char *bytes, size_t len)
{
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x01000193;
	h = (h ^ h >> 15) * 0x2c1b3c6d;
	return h ^ h >> 13;
}

/* The bytes behind the first @what of @bytes; NULL where it is not. */
static const char *behind(const char *bytes, const char *what)
{
	const char *found = strstr(bytes, what);

	return found ? found + strlen(what) : NULL;
}

/* Is it in a folder lib/python3.11 or the like? */
static bool is_standard(const char *file)
{
	static const char digits[] = "0123456789.";
	const char *at = behind(file, "/lib/python");
	size_t n;

	if (!at)
		at = behind(file, "/lib64/python");
	n = at ? strspn(at, digits) : 0;
	return n && at[n] == '/';
}

/*
 * What gives a frame its hue: an installed package is one, other code has one for
 * each file. False, which is grey: the standard library and what has no file.
 */
static bool family_of(const char *file, const char **ret, size_t *ret_len)
{
	const char *at = behind(file, "/site-packages/");

	if (!at)
		at = behind(file, "/dist-packages/");
	*ret = at ? at : file;
	*ret_len = strcspn(*ret, at ? "/" : "");
	return at || (*file && *file != '<' && !is_standard(file));
}

/* How much a weight has changed, in steps of its larger value. */
static int change_step(uint64_t now, uint64_t before)
{
	static const double from[STEPS] = { 0.02, 0.1, 0.25, 0.5, 0.8 };
	uint64_t most = now > before ? now : before;
	uint64_t change = now > before ? now - before : before - now;
	int step = 0;

	while (step < STEPS && most &&
	       (double)change / (double)most >= from[step])
		step++;
	return step;
}

static void change_class(const struct svg *svg, uint32_t node,
			 char ret_class[16])
{
	bool all = node == AGGREGATE_NONE;
	uint64_t now = all ? svg->all : svg->total[node];
	uint64_t before = all ? svg->base_all : svg->base_total[node];
	int step = change_step(now, before);

	if (step)
		(void)snprintf(ret_class, 16, "%c%d", now > before ? 'm' : 'l',
			       step);
	else
		(void)snprintf(ret_class, 16, "same");
}

void svg_class(const struct svg *svg, uint32_t node, char ret_class[16])
{
	const struct strtab *strings = aggregate_strings(svg->agg);
	const char *file, *function, *family;
	size_t function_len, family_len;
	uint32_t hue = HUES; /* grey */
	struct frame frame;

	if (svg->base_total) {
		change_class(svg, node, ret_class);
		return;
	}
	if (node == AGGREGATE_NONE ||
	    aggregate_node(svg->agg, node)->parent == AGGREGATE_NONE) {
		(void)snprintf(ret_class, 16, "%s",
			       node == AGGREGATE_NONE ? "total" : "process");
		return;
	}
	frame = frame_of(svg, node);
	file = strtab_get(strings, frame.file, NULL);
	function = strtab_get(strings, frame.function, &function_len);
	if (family_of(file, &family, &family_len))
		hue = hash(family, family_len) % 360 / (360 / HUES);
	(void)snprintf(ret_class, 16, "h%" PRIu32,
		       hue * SHADES + hash(function, function_len) % SHADES);
}

/* --- texts */

void svg_title(struct svg *svg, uint32_t node)
{
	bool all = node == AGGREGATE_NONE;
	uint64_t total = all ? svg->all : svg->total[node];
	struct frame frame = { 0 };
	const char *name;
	size_t len;

	str_puts(&svg->to, "<title>");
	name = name_of(svg, node, &len);
	put_escaped(svg, name, len);
	if (!all)
		frame = frame_of(svg, node);
	if (frame.file) {
		str_puts(&svg->to, "\n");
		put_string(svg, frame.file);
	}
	if (frame.file && frame.line)
		str_printf(&svg->to, ":%" PRId32, frame.line);
	str_puts(&svg->to, "\n");
	put_part(svg, total, svg->all);
	if (!all && svg->own[node] && svg->own[node] < total) {
		str_puts(&svg->to, ", by itself ");
		put_part(svg, svg->own[node], svg->all);
	}
	if (svg->base_total)
		put_change(svg, total,
			   all ? svg->base_all : svg->base_total[node]);
	str_puts(&svg->to, "</title>");
}

void svg_rest_title(struct svg *svg, uint64_t weight)
{
	str_puts(&svg->to, "<title>blocks too narrow to be shown\n");
	put_part(svg, weight, svg->all);
	str_puts(&svg->to, "</title>");
}

/* Characters that are about twice as wide as a letter: those of East Asia, and
 * symbols. All of three bytes from U+1100 on, and of four. */
static bool is_wide(const char *bytes, size_t len)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return len == 4 || (len == 3 && (b[0] > 0xe1 || b[1] >= 0x84));
}

/* As much of a text as fits in the place of @room letters. */
static void put_fitted(struct svg *svg, const char *bytes, size_t len,
		       size_t room)
{
	struct str *text = &svg->scratch;
	size_t at = 0, used = 0, end = 0, n;

	/* A character takes four bytes at the most: no more need be looked at. */
	if (len > 4 * room + 4)
		len = 4 * room + 4;
	str_clear(text);
	str_escape(text, bytes, len, "");
	if (text->failed)
		svg->to.failed = true;
	if (text->failed || !text->len)
		return;
	for (; at < text->len && used <= room; at += n) {
		n = str_utf8(text->at + at, text->len - at);
		if (!n)
			break; /* does not happen: it is well-formed */
		if (used < room)
			end = at;
		used += is_wide(text->at + at, n) ? 2 : 1;
	}
	put_xml(&svg->to, text->at, used <= room ? text->len : end);
	if (used > room)
		str_puts(&svg->to, "\xe2\x80\xa6");
}

void svg_label(struct svg *svg, uint32_t node, double width)
{
	double room = (width - LABEL_EDGE) / LABEL_CHAR;
	const char *name;
	size_t len;

	name = name_of(svg, node, &len);
	put_fitted(svg, name, len, room > 0 ? (size_t)room : 0);
}

static const char *value_name(enum out_value value)
{
	switch (value) {
	case OUT_WALL:
		return "Wall time";
	case OUT_CPU:
		return "CPU time";
	case OUT_SAMPLES:
		return "Samples";
	case OUT_GIL:
		return "Time with the GIL";
	}
	return "";
}

void svg_headline(struct svg *svg)
{
	const char *title = svg->options->title;

	if (!title || !*title)
		title = "forkflame";
	/* In its own size, and in a proportional font, which is narrower. */
	put_fitted(svg, title, strlen(title), HEADLINE_ROOM);
}

void svg_facts(struct svg *svg)
{
	str_puts(&svg->to, value_name(svg->options->value));
	str_puts(&svg->to, ": ");
	put_weight(svg, svg->all);
	if (!svg->base_total)
		return;
	str_puts(&svg->to, "; before ");
	put_weight(svg, svg->base_all);
	str_puts(&svg->to, ". Red has become more, blue less.");
}

/* What was there before and is no more has no width: say how much it was. */
static uint64_t gone(const struct svg *svg)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < aggregate_count(svg->agg); i++) {
		uint32_t parent = aggregate_node(svg->agg, i)->parent;
		bool above = parent == AGGREGATE_NONE ? svg->all
						      : svg->total[parent];

		if (!svg->total[i] && above)
			sum += svg->base_total[i];
	}
	return svg->all ? sum : svg->base_all;
}

void svg_footnote(struct svg *svg, uint64_t left_out)
{
	if (!svg->all)
		str_puts(&svg->to, "Nothing was recorded that fits.");
	if (left_out) {
		str_puts(&svg->to, "Too narrow to be shown: ");
		put_part(svg, left_out, svg->all);
		str_puts(&svg->to, ". ");
	}
	if (svg->base_total && gone(svg)) {
		str_puts(&svg->to, "Not there any more: ");
		put_part(svg, gone(svg), svg->base_all);
		str_puts(&svg->to, ". ");
	}
}
