/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

static void before_value(struct json *j)
{
	if (j->comma)
		str_add(j->to, ",", 1);
	j->comma = true;
}

void json_open(struct json *j, char bracket)
{
	before_value(j);
	str_add(j->to, &bracket, 1);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	str_add(j->to, &bracket, 1);
	j->comma = true;
}

static bool must_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' ||
	       c == '&' || c == 0x7f;
}

static void quoted(struct str *to, const char *bytes, size_t len)
{
	size_t at = 0, plain = 0;

	str_add(to, "\"", 1);
	while (at < len) {
		unsigned char c = (unsigned char)bytes[at];
		size_t n = str_utf8(bytes + at, len - at);

		/* U+2028 and U+2029 end a line of JavaScript. */
		if (n == 3 && c == 0xe2 &&
		    (unsigned char)bytes[at + 1] == 0x80 &&
		    ((unsigned char)bytes[at + 2] & 0xfe) == 0xa8) {
			str_add(to, bytes + plain, at - plain);
			str_printf(to, "\\u20%02x",
				   0x28 | ((unsigned char)bytes[at + 2] & 1));
			plain = at += n;
		} else if (n == 0 || must_escape(c)) {
			str_add(to, bytes + plain, at - plain);
			str_printf(to, "\\u%04x", n ? c : 0xdc00u | c);
			plain = ++at;
		} else {
			at += n;
		}
	}
	if (at > plain) /* @bytes may be NULL where there are none */
		str_add(to, bytes + plain, at - plain);
	str_add(to, "\"", 1);
}

void json_key(struct json *j, const char *key)
{
	before_value(j);
	quoted(j->to, key, strlen(key));
	str_add(j->to, ":", 1);
	j->comma = false;
}

void json_string(struct json *j, const char *bytes, size_t len)
{
	before_value(j);
	quoted(j->to, bytes, len);
}

void json_text(struct json *j, const char *text)
{
	before_value(j);
	if (text)
		quoted(j->to, text, strlen(text));
	else
		str_puts(j->to, "null");
}

void json_u64(struct json *j, uint64_t value)
{
	before_value(j);
	str_printf(j->to, "%" PRIu64, value);
}

void json_i64(struct json *j, int64_t value)
{
	before_value(j);
	str_printf(j->to, "%" PRId64, value);
}

void json_bool(struct json *j, bool value)
{
	before_value(j);
	str_puts(j->to, value ? "true" : "false");
}

void json_put_u64(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_u64(j, value);
}

void json_put_text(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, text);
}
