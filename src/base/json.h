/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * JSON (RFC 8259), written as it comes: no tree is built. Commas and colons are
 * put in by themselves; the caller opens and closes in the right order. Strings
 * are made valid UTF-8: a byte that is none becomes U+DC80 + its low bits' lone
 * surrogate escape, as Python's surrogateescape has it, so that nothing is lost.
 * '<', '>' and '&' are escaped, so that the text may stand in a <script>.
 */
struct json {
	struct str *to;
	bool comma; /* something stands before, at this level */
};

void json_open(struct json *j, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *bytes, size_t len);
void json_text(struct json *j,
	       const char *text); /* NUL-terminated, or NULL: null */
void json_u64(struct json *j, uint64_t value);
void json_i64(struct json *j, int64_t value);
void json_bool(struct json *j, bool value);

/* A key and its value. */
void json_put_u64(struct json *j, const char *key, uint64_t value);
void json_put_text(struct json *j, const char *key, const char *text);

#endif
