/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CODETEST_H
#define TESTS_CODETEST_H

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/code.h"

/* A code object of any version. To be included after cmocka.h. */

#define TYPE 0x7f0000010000u
#define TYPE_NAME 0x7f0000011000u
#define CODE 0x7f0000020000u
#define OTHER_CODE 0x7f0000021000u
#define FILE_NAME 0x7f0000030000u
#define NAME 0x7f0000031000u
#define QUALNAME 0x7f0000032000u
#define OTHER_NAME 0x7f0000033000u
#define TABLE 0x7f0000040000u

#define NO_HASH (-1)

struct bench {
	struct fakemem fm;
	struct mem mem;
	const struct layout *layout;
	struct strtab *strings;
	struct codecache *cache;
	struct codeseen *seen; /* NULL: none is kept */
	struct codeseen own;   /* for a test that wants one */
};

static inline void put_str(struct bench *b, uint64_t at, const char *text,
			   int64_t hash)
{
	const struct layout *l = b->layout;

	fakemem_zero(&b->fm, at, l->str.ascii_data);
	fakemem_put_u64(&b->fm, at + l->str.length, strlen(text));
	fakemem_put_u64(&b->fm, at + l->str.hash, (uint64_t)hash);
	if (!l->str.is_bytes)
		fakemem_put_u32(&b->fm, at + l->str.state,
				1u << l->str.kind_shift |
					1u << l->str.compact_shift |
					1u << l->str.ascii_shift);
	fakemem_put(&b->fm, at + l->str.ascii_data, text, strlen(text));
}

static inline void put_table(struct bench *b, const void *bytes, size_t len)
{
	const struct layout *l = b->layout;

	fakemem_zero(&b->fm, TABLE, l->object.bytes_data);
	fakemem_put_u64(&b->fm, TABLE + l->object.bytes_size, len);
	fakemem_put(&b->fm, TABLE + l->object.bytes_data, bytes, len);
}

static inline void put_code(struct bench *b, uint64_t at, uint64_t name,
			    uint64_t qualname, uint32_t firstline)
{
	const struct layout *l = b->layout;

	fakemem_zero(&b->fm, at, l->code.size);
	fakemem_put_u64(&b->fm, at + l->object.type - 8, 2); /* references */
	fakemem_put_u64(&b->fm, at + l->object.type, TYPE);
	fakemem_put_u64(&b->fm, at + l->code.filename, FILE_NAME);
	fakemem_put_u64(&b->fm, at + l->code.name, name);
	if (l->code.qualname != LAYOUT_NONE)
		fakemem_put_u64(&b->fm, at + l->code.qualname, qualname);
	fakemem_put_u32(&b->fm, at + l->code.firstlineno, firstline);
	fakemem_put_u64(&b->fm, at + l->code.linetable, TABLE);
}

/*
 * One code object: run, or Klass.run where there are qualified names, of
 * /srv/app.py; instruction 0 is in line 40, the first, instruction 2 in 41.
 */
static inline void setup(struct bench *b, unsigned minor, bool free_threaded)
{
	static const uint8_t pairs[] = { 2, 1, 2, 0 };
	static const uint8_t pairs310[] = { 2, 0, 2, 1 };
	static const uint8_t locations[] = { 128 | 10 << 3, 0, 0,
					     128 | 11 << 3, 0, 0 };

	*b = (struct bench){ .layout = fakemem_row(minor, free_threaded),
			     .strings = strtab_new() };
	b->cache = codecache_new(b->strings);
	assert_non_null(b->cache);
	b->mem = fakemem_mem(&b->fm);
	fakemem_zero(&b->fm, TYPE, 64);
	fakemem_put_u64(&b->fm, TYPE + b->layout->object.type_name, TYPE_NAME);
	fakemem_put(&b->fm, TYPE_NAME, "code", 5);
	put_str(b, FILE_NAME, "/srv/app.py", NO_HASH);
	put_str(b, NAME, "run", 1111);
	put_str(b, QUALNAME, "Klass.run", 2222);
	put_code(b, CODE, NAME, QUALNAME, 40);
	if (b->layout->lines_kind == LINES_LNOTAB ||
	    b->layout->lines_kind == LINES_LNOTAB_UNSIGNED)
		put_table(b, pairs, sizeof(pairs));
	else if (b->layout->lines_kind == LINES_LINETABLE)
		put_table(b, pairs310, sizeof(pairs310));
	else
		put_table(b, locations, sizeof(locations));
}

static inline void teardown(struct bench *b)
{
	codecache_free(b->cache);
	vec_free(&b->own);
	strtab_free(b->strings);
	fakemem_free(&b->fm);
}

/* Give the code object its number among all that its interpreter makes. */
static inline void put_version(struct bench *b, uint32_t version)
{
	fakemem_put_u32(&b->fm, CODE + b->layout->code.firstlineno + 24,
			version);
}

static inline int capture(struct bench *b, uint64_t code, uint32_t *ret_id)
{
	struct rawframe raw = { .addr = 8, .code = code };

	b->fm.calls = 0;
	b->fm.ranges = 0;
	return codecache_capture(b->cache, b->seen, &b->mem, b->layout, &raw, 1,
				 ret_id);
}

static inline void expect_frame(struct bench *b, uint32_t id, int64_t instr,
				const char *function, int line)
{
	struct rawframe raw = { .instr = instr };
	struct frame frame = codecache_frame(b->cache, id, &raw);

	assert_string_equal(strtab_get(b->strings, frame.function, NULL),
			    function);
	assert_string_equal(strtab_get(b->strings, frame.file, NULL),
			    "/srv/app.py");
	assert_int_equal(frame.line, line);
}

/* Capture CODE; what is at @instr 2 must be @function, @line. */
static inline void expect(struct bench *b, const char *function, int line)
{
	uint32_t id;

	assert_int_equal(capture(b, CODE, &id), 0);
	expect_frame(b, id, 2, function, line);
}

#endif
