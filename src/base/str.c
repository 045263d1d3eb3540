/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool str_reserve(struct str *s, size_t more)
{
	size_t want = s->room ? s->room : 64;
	char *to;

	if (s->failed)
		return false;
	if (more < s->room - s->len)
		return true;
	while (want - s->len <= more) {
		if (want > SIZE_MAX / 4)
			goto failed;
		want *= 2;
	}
	to = realloc(s->at, want);
	if (!to)
		goto failed;
	s->at = to;
	s->room = want;
	return true;
failed:
	s->failed = true;
	return false;
}

void str_add(struct str *s, const char *bytes, size_t len)
{
	if (!str_reserve(s, len))
		return;
	if (len)
		memcpy(s->at + s->len, bytes, len);
	s->len += len;
	s->at[s->len] = '\0';
}

void str_puts(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

void str_printf(struct str *s, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		s->failed = true;
	if (len < 0 || !str_reserve(s, (size_t)len))
		return;
	va_start(args, format);
	(void)vsnprintf(s->at + s->len, s->room - s->len, format, args);
	va_end(args);
	s->len += (size_t)len;
}

char *str_grow(struct str *s, size_t more)
{
	return str_reserve(s, more) ? s->at + s->len : NULL;
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->at)
		s->at[0] = '\0';
}

void str_free(struct str *s)
{
	free(s->at);
	*s = (struct str){ 0 };
}

size_t str_utf8(const char *bytes, size_t len)
{
	/* The least code point of each length: below it, a form is overlong. */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t c;
	size_t n;

	if (!len)
		return 0;
	if (b[0] < 0x80)
		return 1;
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;
	n = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	if (n > len)
		return 0;
	c = b[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (b[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

/* A character that moves the cursor or turns the direction of what follows. */
static uint32_t steering(const unsigned char *b, size_t n)
{
	uint32_t c;

	if (n == 2 && b[0] == 0xc2 && b[1] < 0xa0)
		return b[1]; /* C1 */
	if (n != 3 || b[0] != 0xe2)
		return 0;
	c = 0x2000u | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
	if ((c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return c;
	return 0;
}

/* Escape one byte, if it must be. Returns false when it may stand as it is. */
static bool escape_byte(struct str *s, unsigned char c, const char *also)
{
	if (c == '\\')
		str_puts(s, "\\\\");
	else if (c == '\n')
		str_puts(s, "\\n");
	else if (c == '\t')
		str_puts(s, "\\t");
	else if (c < 0x20 || c >= 0x7f || strchr(also, c))
		str_printf(s, "\\x%02x", c);
	else
		return false;
	return true;
}

void str_escape(struct str *s, const char *bytes, size_t len, const char *also)
{
	size_t plain = 0; /* bytes before @at that may stand as they are */
	size_t at = 0;

	if (!len)
		return; /* @bytes may be NULL */
	while (at < len) {
		const unsigned char *b = (const unsigned char *)bytes + at;
		size_t n = str_utf8(bytes + at, len - at);
		uint32_t turn = n > 1 ? steering(b, n) : 0;

		if (n > 1 && !turn) {
			at += n;
			plain += n;
			continue;
		}
		str_add(s, bytes + at - plain, plain);
		plain = 0;
		if (turn)
			str_printf(s, "\\u%04x", turn);
		else if (!escape_byte(s, b[0], also))
			plain = 1;
		at += turn ? n : 1;
	}
	str_add(s, bytes + at - plain, plain);
}
