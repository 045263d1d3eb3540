/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

/* Text that is put together: plain, escaped for a terminal, and as JSON. */

#define BYTES(text) (text), sizeof(text) - 1

static uint64_t chance(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

/* Bytes as names of strangers may have them; NUL-terminated besides. */
static size_t random_bytes(uint64_t *random, char *bytes, size_t max)
{
	static const char *const pieces[] = {
		";",
		"\\",
		"\\x41",
		"\\u2028",
		"\"",
		"<",
		"&",
		"\n",
		"\x7f",
		"\x80",
		"\xff",
		"\xc3",
		"\xc3\xa9",
		"\xe2",
		"\xe2\x80",
		"\xc2",
		"\xed\xa0\x80",
		"\xe2\x80\xa8",
		"\xe2\x80\xae",
		"\xf0\x9f\x98\x80",
		"\xc2\x85",
		"\x1b[2J",
	};
	size_t count = chance(random, 12), n = 0;

	while (count--) {
		const char *piece =
			pieces[chance(random, sizeof(pieces) / sizeof(*pieces))];
		size_t len = strlen(piece);

		if (n + len + 1 >= max)
			break;
		memcpy(bytes + n, piece, len);
		n += len;
		if (!chance(random, 20))
			bytes[n++] = '\0';
	}
	bytes[n] = '\0';
	return n;
}

/* --- str -------------------------------------------------------------------- */

static void puts_a_string_together(void **state)
{
	struct str s = { 0 };

	(void)state;
	str_add(&s, NULL, 0);
	assert_string_equal(s.at, "");
	str_puts(&s, "one ");
	str_printf(&s, "%d %s", 2, "three");
	str_add(&s, BYTES("\0!"));
	assert_int_equal(s.len, 13);
	assert_memory_equal(s.at, "one 2 three\0!", 14);
	str_clear(&s);
	assert_int_equal(s.len, 0);
	assert_string_equal(s.at, "");
	for (int i = 0; i < 1000; i++)
		str_printf(&s, "%04d,", i);
	assert_int_equal(s.len, 5000);
	assert_string_equal(s.at + 4990, "0998,0999,");
	assert_false(s.failed);
	str_free(&s);
	assert_null(s.at);
	str_free(&s);
}

static void ignores_all_after_it_failed(void **state)
{
	struct str s = { 0 };

	(void)state;
	str_puts(&s, "kept");
	str_add(&s, "", SIZE_MAX / 2);
	assert_true(s.failed);
	str_puts(&s, "not");
	str_printf(&s, "%d", 1);
	assert_string_equal(s.at, "kept");
	str_clear(&s);
	assert_false(s.failed);
	str_puts(&s, "again");
	assert_string_equal(s.at, "again");
	str_free(&s);
}

/* The number of a well-formed character, by the definition and slowly. */
static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void takes_every_character_and_no_surrogate(void **state)
{
	char bytes[4];

	(void)state;
	for (uint32_t c = 0; c <= 0x1fffff; c++) {
		size_t len = encode(c, bytes);
		bool fine = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);

		if (str_utf8(bytes, len) != (fine ? len : 0))
			fail_msg("U+%04X", c);
		/* Cut short it is none, nor without its beginning. */
		if (len > 1 &&
		    (str_utf8(bytes, len - 1) || str_utf8(bytes + 1, len - 1)))
			fail_msg("part of U+%04X", c);
	}
	assert_int_equal(str_utf8("", 0), 0);
}

static void refuses_overlong_forms_and_lone_bytes(void **state)
{
	(void)state;
	assert_int_equal(str_utf8(BYTES("\xc0\x80")), 0);
	assert_int_equal(str_utf8(BYTES("\xc1\xbf")), 0);
	assert_int_equal(str_utf8(BYTES("\xe0\x9f\xbf")), 0);
	assert_int_equal(str_utf8(BYTES("\xe0\xa0\x80")), 3);
	assert_int_equal(str_utf8(BYTES("\xf0\x8f\xbf\xbf")), 0);
	assert_int_equal(str_utf8(BYTES("\xf0\x90\x80\x80")), 4);
	assert_int_equal(str_utf8(BYTES("\xf4\x90\x80\x80")), 0);
	assert_int_equal(str_utf8(BYTES("\xf8\x88\x80\x80\x80")), 0);
	assert_int_equal(str_utf8(BYTES("\x80")), 0);
	assert_int_equal(str_utf8(BYTES("\xff")), 0);
	assert_int_equal(str_utf8(BYTES("\xc3(")), 0);
	assert_int_equal(str_utf8(BYTES("\xe2\x82(")), 0);
}

static void escapes(const char *bytes, size_t len, const char *also,
		    const char *to)
{
	struct str s = { 0 };

	str_escape(&s, bytes, len, also);
	str_add(&s, "", 0);
	assert_string_equal(s.at, to);
	str_free(&s);
}

static void escapes_what_could_lead_astray(void **state)
{
	(void)state;
	escapes(NULL, 0, "", "");
	escapes(BYTES("plain caf\xc3\xa9 \xf0\x9f\x98\x80"), "",
		"plain caf\xc3\xa9 \xf0\x9f\x98\x80");
	escapes(BYTES("\x1b[2J\r\n\t\0\x7f"), "",
		"\\x1b[2J\\x0d\\n\\t\\x00\\x7f");
	escapes(BYTES("a\\b"), "", "a\\\\b");
	/* C1 as a character and as a byte. */
	escapes(BYTES("\xc2\x9b\xc2\x80\xc2\x9f\xc2\xa0\x9b"), "",
		"\\u009b\\u0080\\u009f\xc2\xa0\\x9b");
	escapes(BYTES("\xc0\x80"), "", "\\xc0\\x80");
	escapes(BYTES("\xed\xa0\x80"), "", "\\xed\\xa0\\x80");
	escapes(BYTES("x\xe2\x82"), "", "x\\xe2\\x82");
	escapes(BYTES("a;b:c\xc3\xa9;"), ";:", "a\\x3bb\\x3ac\xc3\xa9\\x3b");
}

static void escapes_all_bidi_controls_and_no_others(void **state)
{
	(void)state;
	for (uint32_t c = 0x2000; c <= 0x2070; c++) {
		bool steers = (c >= 0x2028 && c <= 0x202e) ||
			      (c >= 0x2066 && c <= 0x2069);
		struct str want = { 0 };
		char bytes[4];
		size_t len = encode(c, bytes);

		if (steers)
			str_printf(&want, "\\u%04x", c);
		else
			str_add(&want, bytes, len);
		escapes(bytes, len, "", want.at);
		str_free(&want);
	}
	/* The same last byte elsewhere. */
	escapes(BYTES("\xe3\x80\xae\xe2\x81\xa5"), "",
		"\xe3\x80\xae\xe2\x81\xa5");
}

/* Turn escapes back into bytes. */
static size_t unescape(const char *text, char *to)
{
	size_t n = 0;

	while (*text) {
		char digits[5] = { 0 };

		if (*text != '\\') {
			to[n++] = *text++;
			continue;
		}
		text++;
		if (*text == 'x' || *text == 'u') {
			size_t len = *text == 'x' ? 2 : 4;
			uint32_t c;

			memcpy(digits, text + 1, len);
			c = (uint32_t)strtoul(digits, NULL, 16);
			if (len == 2)
				to[n++] = (char)c;
			else
				n += encode(c, to + n);
			text += 1 + len;
			continue;
		}
		to[n++] = *text == 'n' ? '\n' : *text == 't' ? '\t' : '\\';
		text++;
	}
	return n;
}

static void can_turn_back_what_it_escaped(void **state)
{
	uint64_t random = 42;
	char bytes[100], back[400];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t len = random_bytes(&random, bytes, sizeof(bytes));
		struct str s = { 0 };

		str_escape(&s, bytes, len, ";\"");
		str_add(&s, "", 0);
		assert_int_equal(strlen(s.at), s.len);
		assert_null(strpbrk(s.at, ";\"\n\x1b\x7f"));
		assert_int_equal(unescape(s.at, back), len);
		assert_memory_equal(back, bytes, len);
		str_free(&s);
	}
}

/* --- json ------------------------------------------------------------------- */

/*
 * A strict reader, for what the writer may write: returns what follows the
 * value, or NULL when it is not valid. Strings must be UTF-8.
 */
static const char *read_value(const char *at, int depth);

static const char *read_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (*at != '"') {
		size_t n = str_utf8(at, strlen(at));

		if (!n || (unsigned char)*at < 0x20)
			return NULL;
		if (*at == '\\') {
			at++;
			if (*at == 'u' &&
			    strspn(at + 1, "0123456789abcdefABCDEF") < 4)
				return NULL;
			if (!*at || !strchr("\"\\/bfnrtu", *at))
				return NULL;
			n = *at == 'u' ? 5 : 1;
		}
		at += n;
	}
	return at + 1;
}

static const char *read_list(const char *at, char end, int depth)
{
	if (*at == end)
		return at + 1;
	for (;;) {
		if (end == '}') {
			at = read_string(at);
			if (!at || *at++ != ':')
				return NULL;
		}
		at = read_value(at, depth + 1);
		if (!at)
			return NULL;
		if (*at == end)
			return at + 1;
		if (*at++ != ',')
			return NULL;
	}
}

static const char *read_number(const char *at)
{
	size_t digits;

	at += *at == '-';
	digits = strspn(at, "0123456789");
	return digits && (*at != '0' || digits == 1) ? at + digits : NULL;
}

static const char *read_value(const char *at, int depth)
{
	static const char *const words[] = { "true", "false", "null" };

	if (depth > 10)
		return NULL;
	if (*at == '{')
		return read_list(at + 1, '}', depth);
	if (*at == '[')
		return read_list(at + 1, ']', depth);
	if (*at == '"')
		return read_string(at);
	for (size_t i = 0; i < 3; i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	return read_number(at);
}

static void puts_commas_and_colons_by_itself(void **state)
{
	struct str s = { 0 };
	struct json j = { .to = &s };
	const char *end;

	(void)state;
	json_open(&j, '{');
	json_put_u64(&j, "most", UINT64_MAX);
	json_put_text(&j, "none", NULL);
	json_key(&j, "list");
	json_open(&j, '[');
	json_i64(&j, INT64_MIN);
	json_open(&j, '{');
	json_close(&j, '}');
	json_open(&j, '[');
	json_close(&j, ']');
	json_bool(&j, true);
	json_bool(&j, false);
	json_text(&j, "t");
	json_string(&j, NULL, 0);
	json_close(&j, ']');
	json_put_text(&j, "a\"b", "c");
	json_close(&j, '}');
	assert_string_equal(s.at,
			    "{\"most\":18446744073709551615,\"none\":null,"
			    "\"list\":[-9223372036854775808,{},[],true,false,"
			    "\"t\",\"\"],\"a\\u0022b\":\"c\"}");
	end = read_value(s.at, 0);
	assert_non_null(end);
	assert_string_equal(end, "");
	str_free(&s);
}

static void writes(const char *bytes, size_t len, const char *to)
{
	struct str s = { 0 };
	struct json j = { .to = &s };

	json_string(&j, bytes, len);
	assert_string_equal(s.at, to);
	str_free(&s);
}

static void escapes_for_json_and_for_a_script(void **state)
{
	(void)state;
	writes(BYTES("caf\xc3\xa9 \xf0\x9f\x98\x80"),
	       "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
	writes(BYTES("\0\n\x1f\x7f\\\""),
	       "\"\\u0000\\u000a\\u001f\\u007f\\u005c\\u0022\"");
	writes(BYTES("</script>&"), "\"\\u003c/script\\u003e\\u0026\"");
	writes(BYTES("a\xe2\x80\xa8\xe2\x80\xa9"
		     "b\xe2\x80\xaa"),
	       "\"a\\u2028\\u2029b\xe2\x80\xaa\"");
}

static void keeps_lone_bytes_as_lone_surrogates(void **state)
{
	(void)state;
	writes(BYTES("a\x80\xff"), "\"a\\udc80\\udcff\"");
	writes(BYTES("\xed\xa0\x80"), "\"\\udced\\udca0\\udc80\"");
	writes(BYTES("\xe2\x80"), "\"\\udce2\\udc80\"");
}

static void writes_valid_json_of_any_bytes(void **state)
{
	uint64_t random = 7;
	char bytes[100];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t len = random_bytes(&random, bytes, sizeof(bytes));
		struct str s = { 0 };
		struct json j = { .to = &s };
		const char *end;

		json_open(&j, '{');
		json_key(&j, bytes);
		json_string(&j, bytes, len);
		json_close(&j, '}');
		assert_int_equal(strlen(s.at), s.len);
		assert_null(strpbrk(s.at, "<>&"));
		end = read_value(s.at, 0);
		if (!end || *end)
			fail_msg("not valid: %s", s.at);
		str_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(puts_a_string_together),
		cmocka_unit_test(ignores_all_after_it_failed),
		cmocka_unit_test(takes_every_character_and_no_surrogate),
		cmocka_unit_test(refuses_overlong_forms_and_lone_bytes),
		cmocka_unit_test(escapes_what_could_lead_astray),
		cmocka_unit_test(escapes_all_bidi_controls_and_no_others),
		cmocka_unit_test(can_turn_back_what_it_escaped),
		cmocka_unit_test(puts_commas_and_colons_by_itself),
		cmocka_unit_test(escapes_for_json_and_for_a_script),
		cmocka_unit_test(keeps_lone_bytes_as_lone_surrogates),
		cmocka_unit_test(writes_valid_json_of_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
