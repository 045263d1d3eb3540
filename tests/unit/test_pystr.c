/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/pystr.h"

#define AT 0x7f0000002000u
#define FAR 0x7f0000900000u

enum {
	COMPACT = 1,
	ASCII = 2
};

struct bench {
	struct fakemem fm;
	struct mem mem;
	const struct layout *layout;
	struct str text;
};

static struct bench setup(unsigned minor, bool free_threaded)
{
	struct bench b = { .layout = fakemem_row(minor, free_threaded) };

	return b;
}

static void teardown(struct bench *b)
{
	str_free(&b->text);
	fakemem_free(&b->fm);
}

/* A string of @n characters of @kind bytes each, as @flags say it is kept. */
static void put(struct bench *b, unsigned flags, unsigned kind,
		const void *chars, size_t n)
{
	const struct layout *l = b->layout;
	uint32_t state = (uint32_t)kind << l->str.kind_shift;
	uint64_t data = AT + l->str.compact_data;

	if (flags & ASCII)
		data = AT + l->str.ascii_data;
	if (!(flags & COMPACT))
		data = FAR;
	if (flags & COMPACT)
		state |= 1u << l->str.compact_shift;
	if (flags & ASCII)
		state |= 1u << l->str.ascii_shift;
	fakemem_zero(&b->fm, AT, l->str.legacy_data + 8u);
	fakemem_put_u64(&b->fm, AT + l->str.length, n);
	fakemem_put_u64(&b->fm, AT + l->str.hash, 0x123456789abcd);
	fakemem_put_u32(&b->fm, AT + l->str.state, state);
	if (!(flags & COMPACT))
		fakemem_put_u64(&b->fm, AT + l->str.legacy_data, data);
	fakemem_put(&b->fm, data, chars, n * kind);
}

static int read_text(struct bench *b)
{
	b->mem = fakemem_mem(&b->fm);
	str_clear(&b->text);
	return pystr_read(&b->mem, b->layout, AT, &b->text);
}

static void reads_every_kind_in_every_version(void **state)
{
	static const uint8_t latin[] = { 'a', 0xe4, 0xff };
	static const uint16_t two[] = { 'b', 0x4e2d, 0x7ff };
	static const uint32_t four[] = { 0x1f40d, 'c', 0x10ffff };

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		for (int ft = 0; ft < (minor >= 13 ? 2 : 1); ft++) {
			struct bench b = setup(minor, ft);

			put(&b, COMPACT | ASCII, 1, "hello", 5);
			assert_int_equal(read_text(&b), 0);
			assert_string_equal(b.text.at, "hello");
			put(&b, COMPACT, 1, latin, 3);
			assert_int_equal(read_text(&b), 0);
			assert_string_equal(b.text.at, "a\u00e4\u00ff");
			put(&b, COMPACT, 2, two, 3);
			assert_int_equal(read_text(&b), 0);
			assert_string_equal(b.text.at, "b\u4e2d\u07ff");
			put(&b, COMPACT, 4, four, 3);
			assert_int_equal(read_text(&b), 0);
			assert_string_equal(b.text.at, "\U0001f40dc\U0010ffff");
			put(&b, 0, 2, two, 3);
			assert_int_equal(read_text(&b), 0);
			assert_string_equal(b.text.at, "b\u4e2d\u07ff");
			teardown(&b);
		}
	}
}

static void
turns_escaped_bytes_back_and_replaces_what_is_no_character(void **state)
{
	static const uint16_t two[] = { 'x', 0xdc80, 0xdcff, 0xd800, 0xdc7f };
	static const uint32_t four[] = { 0x110000, 0xffffffff, 'y' };
	struct bench b = setup(12, false);

	(void)state;
	put(&b, COMPACT, 2, two, 5);
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at, "x\x80\xff\ufffd\ufffd");
	put(&b, COMPACT, 4, four, 3);
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at, "\ufffd\ufffdy");
	teardown(&b);
}

static void put_bytes(struct bench *b, const char *bytes, size_t n)
{
	fakemem_zero(&b->fm, AT, 36);
	fakemem_put_u64(&b->fm, AT + 16, n);
	fakemem_put_u64(&b->fm, AT + 24, 0x123456789abcd);
	fakemem_put(&b->fm, AT + 36, bytes, n);
}

static void keeps_the_bytes_of_2_7_as_they_are(void **state)
{
	static const char bytes[] = "a\xe4\xff\u4e2d\0z";
	static char many[PYSTR_MAX + 1];
	struct bench b = setup(27, false);

	(void)state;
	put_bytes(&b, bytes, 8);
	/* What follows is none of its. */
	fakemem_unmap(&b.fm, AT + 36 + 8, 64);
	assert_int_equal(read_text(&b), 0);
	assert_int_equal(b.text.len, 8);
	assert_memory_equal(b.text.at, bytes, 8);
	put_bytes(&b, "", 0);
	assert_int_equal(read_text(&b), 0);
	assert_int_equal(b.text.len, 0);
	memset(many, 0xe4, sizeof(many));
	put_bytes(&b, many, sizeof(many));
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at + PYSTR_MAX - 1, "\xe4...+1~abcd");
	fakemem_put_u64(&b.fm, AT + 16, UINT64_MAX - 8);
	assert_int_equal(read_text(&b), OUT_TORN);
	teardown(&b);
}

static void reads_a_string_at_the_end_of_memory(void **state)
{
	struct bench b = setup(12, false);

	(void)state;
	put(&b, COMPACT | ASCII, 1, "end", 3);
	fakemem_unmap(&b.fm, AT + b.layout->str.ascii_data + 3, 64);
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at, "end");
	assert_int_equal(b.fm.calls, 2);
	put(&b, COMPACT | ASCII, 1, "", 0);
	assert_int_equal(read_text(&b), 0);
	assert_int_equal(b.text.len, 0);
	teardown(&b);
}

static void cuts_long_strings_and_keeps_them_apart(void **state)
{
	static char chars[PYSTR_MAX + 9];
	struct bench b = setup(11, false);

	(void)state;
	memset(chars, 'z', sizeof(chars));
	put(&b, COMPACT | ASCII, 1, chars, PYSTR_MAX);
	assert_int_equal(read_text(&b), 0);
	assert_int_equal(b.text.len, PYSTR_MAX);
	put(&b, COMPACT | ASCII, 1, chars, PYSTR_MAX + 9);
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at + PYSTR_MAX - 1, "z...+9~abcd");
	fakemem_put_u64(&b.fm, AT + b.layout->str.hash, UINT64_MAX);
	assert_int_equal(read_text(&b), 0);
	assert_string_equal(b.text.at + PYSTR_MAX - 1, "z...+9~2009");
	teardown(&b);
}

static void leaves_the_text_alone_when_it_is_no_string(void **state)
{
	struct bench b = setup(12, false);
	const struct layout *l = b.layout;

	(void)state;
	put(&b, COMPACT | ASCII, 1, "abc", 3);
	b.mem = fakemem_mem(&b.fm);
	str_puts(&b.text, "before");
	/* kind 3; characters to the end of memory and beyond; odd addresses */
	fakemem_put_u32(&b.fm, AT + l->str.state, 3u << l->str.kind_shift);
	assert_int_equal(pystr_read(&b.mem, l, AT, &b.text), OUT_TORN);
	fakemem_put_u32(&b.fm, AT + l->str.state,
			4u << l->str.kind_shift | 1u << l->str.compact_shift);
	fakemem_put_u64(&b.fm, AT + l->str.length, UINT64_MAX / 4);
	fakemem_zero(&b.fm, AT + l->str.compact_data, PYSTR_MAX * 4);
	assert_int_equal(pystr_read(&b.mem, l, AT, &b.text), OUT_TORN);
	assert_int_equal(pystr_read(&b.mem, l, AT + 1, &b.text), OUT_TORN);
	assert_int_equal(pystr_read(&b.mem, l, 0, &b.text), OUT_TORN);
	assert_int_equal(pystr_read(&b.mem, l, UINT64_MAX - 7, &b.text),
			 OUT_TORN);
	/* more characters than there are bytes: fails when some were added */
	fakemem_put_u64(&b.fm, AT + l->str.length, 4000);
	fakemem_unmap(&b.fm, AT + 3000, PYSTR_MAX * 4);
	assert_int_equal(pystr_read(&b.mem, l, AT, &b.text), OUT_TORN);
	b.fm.fail = OUT_GONE;
	assert_int_equal(pystr_read(&b.mem, l, AT, &b.text), OUT_GONE);
	assert_string_equal(b.text.at, "before");
	assert_int_equal(b.text.len, 6);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_kind_in_every_version),
		cmocka_unit_test(
			turns_escaped_bytes_back_and_replaces_what_is_no_character),
		cmocka_unit_test(keeps_the_bytes_of_2_7_as_they_are),
		cmocka_unit_test(reads_a_string_at_the_end_of_memory),
		cmocka_unit_test(cuts_long_strings_and_keeps_them_apart),
		cmocka_unit_test(leaves_the_text_alone_when_it_is_no_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
