/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A string that is being put together. The owner frees it with str_free; a
 * zeroed one is empty. `at` is always NUL-terminated once something was added.
 * When memory is gone, `failed` is set, what follows is ignored, and the owner
 * asks once at the end.
 */
struct str {
	char *at;
	size_t len;
	size_t room;
	bool failed;
};

void str_add(struct str *s, const char *bytes, size_t len);
void str_puts(struct str *s, const char *text);
void str_printf(struct str *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make room for @more bytes and a NUL, whatever there is; returns as str_room. */
char *str_grow(struct str *s, size_t more);

/*
 * Room for @more bytes and a NUL behind what there is, for what is quicker to
 * write there directly. The caller makes `len` grow by what it wrote, and writes
 * the NUL. NULL without memory.
 */
static inline char *str_room(struct str *s, size_t more)
{
	if (s->failed || more >= s->room - s->len)
		return str_grow(s, more);
	return s->at + s->len;
}

void str_clear(struct str *s);
void str_free(struct str *s);

/*
 * The length of the well-formed UTF-8 character at the start of @bytes (1 to
 * 4), or 0 when there is none. Overlong forms, surrogates and numbers above
 * U+10FFFF are not well-formed.
 */
size_t str_utf8(const char *bytes, size_t len);

/*
 * Add @bytes so that a terminal or a line-based reader cannot be led astray:
 * control characters (C0, DEL), bytes that are not UTF-8, backslashes and each
 * byte of @also become \xHH escapes, or \\ for the backslash, \n and \t; the
 * characters of C1 (U+0080..009F), bidi controls and line separators
 * (U+2028..2029, U+202A..202E, U+2066..2069) become \uHHHH. What comes out can
 * be turned back: \xHH is a byte, \uHHHH a character.
 */
void str_escape(struct str *s, const char *bytes, size_t len, const char *also);

#endif
