/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/nsec.h"
#include "base/strtab.h"

#define CUT_MARK "\xe2\x80\xa6" /* an ellipsis: one column */

void table_look(struct table *t, enum table_look look)
{
	static const char *const codes[] = {
		[LOOK_PLAIN] = "\x1b[0m",  [LOOK_BOLD] = "\x1b[1m",
		[LOOK_DIM] = "\x1b[2m",    [LOOK_RED] = "\x1b[31m",
		[LOOK_GREEN] = "\x1b[32m", [LOOK_YELLOW] = "\x1b[33m",
	};

	if (t->options->color)
		str_puts(&t->to, codes[look]);
}

void table_headline(struct table *t, const char *text)
{
	str_puts(&t->to, "\n");
	table_look(t, LOOK_BOLD);
	str_puts(&t->to, text);
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

/* A well-formed character, decoded. */
static uint32_t decode(const char *bytes, size_t len)
{
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t c = len > 1 ? b[0] & (0x7fu >> len) : b[0];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (b[i] & 0x3fu);
	return c;
}

/* Columns of a character, as most terminals have it: East Asian ones are wide. */
static size_t columns_of(uint32_t c)
{
	static const struct {
		uint32_t first, last, columns;
	} ranges[] = {
		{ 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },
		{ 0x200b, 0x200f, 0 },   { 0x2e80, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
		{ 0xfe00, 0xfe0f, 0 },   { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
		{ 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

/* Columns of text that str_escape made. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t at = 0; at < len;) {
		size_t n = str_utf8(text + at, len - at);

		width += columns_of(decode(text + at, n ? n : 1));
		at += n ? n : 1;
	}
	return width;
}

/* How many bytes from the start of @text take at most @width columns. */
static size_t fitting(const char *text, size_t len, size_t width)
{
	size_t at = 0;

	while (at < len) {
		size_t n = str_utf8(text + at, len - at);
		size_t columns = columns_of(decode(text + at, n ? n : 1));

		if (columns > width)
			break;
		width -= columns;
		at += n ? n : 1;
	}
	return at;
}

/*
 * Where the rest of @text takes at most @width columns; of a path, at the start
 * of a name, if that leaves the half of it.
 */
static size_t tail_from(const char *text, size_t len, size_t width)
{
	size_t all = width_of(text, len), at = 0;

	while (at < len && all > width) {
		size_t n = str_utf8(text + at, len - at);

		all -= columns_of(decode(text + at, n ? n : 1));
		at += n ? n : 1;
	}
	for (size_t i = at; at && i < len && all > width / 2; i++, all--)
		if (text[i] == '/')
			return i;
	return at;
}

void table_cell(struct table *t, const char *bytes, size_t len, size_t width,
		int fit)
{
	const char *text;
	size_t columns, from = 0, to;

	str_clear(&t->cell);
	/* A name of megabytes is not looked at beyond what could be shown. */
	if (len > 4096 && fit & FIT_START)
		bytes += len - 4096;
	str_escape(&t->cell, bytes, len > 4096 ? 4096 : len, "");
	text = t->cell.at ? t->cell.at : "";
	to = t->cell.len;
	columns = width_of(text, to);
	if (columns > width && width && fit & FIT_START) {
		from = tail_from(text, to, width - 1);
		str_puts(&t->to, CUT_MARK);
		columns = 1 + width_of(text + from, to - from);
	} else if (columns > width && width) {
		to = fitting(text, to, width - 1);
		columns = width_of(text, to) + 1;
	}
	str_add(&t->to, text + from, to - from);
	if (to < t->cell.len)
		str_puts(&t->to, CUT_MARK);
	t->to.failed = t->to.failed || t->cell.failed;
	for (; columns < width && !(fit & FIT_RAGGED); columns++)
		str_puts(&t->to, " ");
}

void table_string(struct table *t, uint32_t id, size_t width, int fit)
{
	size_t len;
	const char *text = strtab_get(t->h->strings, id, &len);

	table_cell(t, text, len, width, fit);
}

/* "/usr/bin/python3 x.py": the folder tells little, and takes a line's half. */
void table_command(struct table *t, uint32_t id, size_t width, int fit)
{
	size_t len, from = 0;
	const char *text = strtab_get(t->h->strings, id, &len);

	for (size_t i = 0; i < len && text[i] != ' '; i++)
		if (text[i] == '/' && i + 1 < len && text[i + 1] != ' ')
			from = i + 1;
	table_cell(t, text + from, len - from, width, fit);
}

size_t table_columns(struct table *t, uint32_t id)
{
	size_t len;
	const char *text = strtab_get(t->h->strings, id, &len);

	str_clear(&t->cell);
	str_escape(&t->cell, text, len > 4096 ? 4096 : len, "");
	t->to.failed = t->to.failed || t->cell.failed;
	return t->cell.at ? width_of(t->cell.at, t->cell.len) : 0;
}

void table_seconds(struct table *t, uint64_t ns, int width)
{
	double s = (double)ns / (double)NSEC_PER_SEC;

	str_printf(&t->to, "%*.*f", width,
		   s < 1000     ? 2
		   : s < 100000 ? 1
				: 0,
		   s);
}

void table_percent(struct table *t, uint64_t part, uint64_t whole, int width)
{
	double percent = whole ? 100 * (double)part / (double)whole : 0;

	if (!whole)
		str_printf(&t->to, "%*s", width, "-");
	else
		str_printf(&t->to, "%*.*f", width, percent < 9999 ? 1 : 0,
			   percent);
}
