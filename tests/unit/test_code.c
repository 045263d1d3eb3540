/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "codetest.h"

static void names_function_file_and_line_in_every_version(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		for (int ft = 0; ft < (minor >= 13 ? 2 : 1); ft++) {
			const char *name = minor >= 11 ? "Klass.run" : "run";
			struct bench b;
			uint32_t id;

			setup(&b, minor, ft);
			assert_int_equal(capture(&b, CODE, &id), 0);
			/* The check; the type's name; all the rest. */
			assert_int_equal(b.fm.calls, 4);
			expect_frame(&b, id, -1, name, 40);
			for (int again = 0; again < 2; again++) {
				expect_frame(&b, id, 0, name, 40);
				expect_frame(&b, id, 2, name, 41);
				expect_frame(&b, id, 2 + 32, name,
					     minor < 10 ? 41 : 0);
			}
			expect_frame(&b, id, INT64_MAX, name,
				     minor < 10 ? 41 : 0);
			teardown(&b);
		}
	}
}

static void shows_a_function_whose_name_is_empty(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_str(&b, OTHER_NAME, "", 0);
		put_code(&b, CODE, OTHER_NAME, OTHER_NAME, 40);
		assert_int_equal(capture(&b, CODE, &id), OUT_OK);
		expect_frame(&b, id, 0, "<no name>", 40);
		teardown(&b);
	}
}

static void names_function_file_and_line_in_2_7(void **state)
{
	static const uint8_t far[] = { 2, 200 };
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 27, false);
	put_str(&b, NAME, "r\xfcn", NO_HASH);
	put_table(&b, far, sizeof(far));
	assert_int_equal(capture(&b, CODE, &id), 0);
	expect_frame(&b, id, -1, "r\xfcn", 40);
	expect_frame(&b, id, 1, "r\xfcn", 40);
	expect_frame(&b, id, 2, "r\xfcn", 240);
	expect_frame(&b, id, 3, "r\xfcn", 240);
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_int_equal(b.fm.calls, 1);
	teardown(&b);
}

static void reads_lines_anew_when_only_the_bytecode_is_another(void **state)
{
	static const uint8_t far[] = { 2, 100 };
	static const unsigned versions[] = { 27, 6, 7, 8, 9, 10 };

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		struct bench b;

		setup(&b, versions[i], false);
		expect(&b, "run", 41);
		put_table(&b, far, sizeof(far));
		fakemem_put_u64(&b.fm, CODE + b.layout->code.code, TABLE + 8);
		expect(&b, "run", versions[i] == 10 ? 0 : 140);
		teardown(&b);
	}
}

static void checks_known_code_in_one_call(void **state)
{
	struct rawframe raw[60];
	uint32_t ids[60];
	struct bench b;

	(void)state;
	setup(&b, 12, false);
	put_code(&b, OTHER_CODE, OTHER_NAME, OTHER_NAME, 90);
	put_str(&b, OTHER_NAME, "other", 3333);
	for (unsigned i = 0; i < 60; i++)
		raw[i] = (struct rawframe){ .code = i % 2 ? CODE : OTHER_CODE,
					    .instr = 2 };
	assert_int_equal(codecache_capture(b.cache, NULL, &b.mem, b.layout, raw,
					   60, ids),
			 0);
	assert_int_equal(b.fm.calls, 4);
	b.fm.calls = 0;
	b.fm.ranges = 0;
	assert_int_equal(codecache_capture(b.cache, NULL, &b.mem, b.layout, raw,
					   60, ids),
			 0);
	assert_int_equal(b.fm.calls, 1);
	/* Two code objects, four different strings. */
	assert_int_equal(b.fm.ranges, 6);
	expect_frame(&b, ids[58], 2, "other", 91);
	expect_frame(&b, ids[59], 2, "Klass.run", 41);
	teardown(&b);
}

static void sees_another_function_at_the_same_address(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		struct bench b;

		setup(&b, minor, false);
		expect(&b, minor >= 11 ? "Klass.run" : "run", 41);
		/* Another name object. */
		put_code(&b, CODE, OTHER_NAME, OTHER_NAME, 40);
		put_str(&b, OTHER_NAME, "other", 3333);
		expect(&b, "other", 41);
		/* All pointers the same, another first line. */
		put_code(&b, CODE, OTHER_NAME, OTHER_NAME, 50);
		expect(&b, "other", 51);
		/* All pointers the same, another string there. */
		put_str(&b, OTHER_NAME, "third", 4444);
		expect(&b, "third", 51);
		put_str(&b, OTHER_NAME, "fourth", NO_HASH);
		expect(&b, "fourth", 51);
		/* No hash to tell it by, and the same length. */
		put_str(&b, OTHER_NAME, "fifths", NO_HASH);
		expect(&b, "fifths", 51);
		put_str(&b, OTHER_NAME, "fifths, longer", NO_HASH);
		expect(&b, "fifths, longer", 51);
		teardown(&b);
	}
}

static void reads_lines_anew_with_the_function(void **state)
{
	static const uint8_t locations[] = { 128 | 10 << 3, 0, 0,
					     128 | 12 << 3, 0, 0 };
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 11, false);
	expect(&b, "Klass.run", 41);
	put_code(&b, OTHER_CODE, NAME, QUALNAME, 40);
	assert_int_equal(capture(&b, OTHER_CODE, &id), 0);
	/* Another function, in which nothing but a name is another. */
	put_table(&b, locations, sizeof(locations));
	put_str(&b, QUALNAME, "Klass.ran", 5555);
	expect(&b, "Klass.ran", 42);
	/* Another, whose name was read for the first one. */
	assert_int_equal(capture(&b, OTHER_CODE, &id), 0);
	expect_frame(&b, id, 2, "Klass.ran", 42);
	/* Another, of other length. */
	put_table(&b, locations, 3);
	fakemem_put_u64(&b.fm, CODE + b.layout->object.bytes_size, 1);
	expect(&b, "Klass.ran", 0);
	teardown(&b);
}

static void believes_a_string_that_got_its_hash_meanwhile(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 9, false);
	expect(&b, "run", 41);
	put_str(&b, FILE_NAME, "/srv/app.py", 9999);
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_int_equal(b.fm.calls, 1);
	/* From now on by that. */
	put_str(&b, FILE_NAME, "/srv/app.py", 9998);
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_true(b.fm.calls > 1);
	teardown(&b);
}

static void refuses_what_is_no_code_and_recovers(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 13, false);
	fakemem_put(&b.fm, TYPE_NAME, "cell", 5);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	fakemem_put(&b.fm, TYPE_NAME, "code", 5);
	assert_int_equal(capture(&b, CODE + 4, &id), OUT_TORN);
	assert_int_equal(capture(&b, CODE + 0x100000, &id), OUT_TORN);
	assert_int_equal(capture(&b, UINT64_MAX - 7, &id), OUT_TORN);
	assert_int_equal(capture(&b, 0, &id), OUT_TORN);
	put_code(&b, CODE, NAME, 0, 40);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	put_code(&b, CODE, NAME, 0x123450, 40);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	fakemem_put_u64(&b.fm, CODE + b.layout->code.linetable, 0x7000);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	put_code(&b, CODE, NAME, QUALNAME, 40);
	expect(&b, "Klass.run", 41);
	/* Known, and now torn. */
	fakemem_put_u64(&b.fm, CODE + b.layout->object.type, TYPE + 8);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	put_code(&b, CODE, NAME, QUALNAME, 40);
	fakemem_unmap(&b.fm, QUALNAME, 64);
	assert_int_equal(capture(&b, CODE, &id), OUT_TORN);
	put_str(&b, QUALNAME, "Klass.run", 2222);
	expect(&b, "Klass.run", 41);
	b.fm.fail = OUT_GONE;
	assert_int_equal(capture(&b, CODE, &id), OUT_GONE);
	b.fm.fail = OUT_DENIED;
	assert_int_equal(capture(&b, CODE, &id), OUT_DENIED);
	teardown(&b);
}

static void shows_no_line_from_a_table_that_is_too_long(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 12, false);
	fakemem_put_u64(&b.fm, TABLE + b.layout->object.bytes_size,
			CODE_MAX_LINETABLE + 1);
	expect(&b, "Klass.run", 0);
	put_code(&b, CODE, NAME, QUALNAME, 41);
	fakemem_put_u64(&b.fm, TABLE + b.layout->object.bytes_size, UINT64_MAX);
	expect(&b, "Klass.run", 0);
	teardown(&b);
}

static void reads_strings_and_tables_longer_than_their_beginnings(void **state)
{
	char path[1001] = "", table[3000];
	struct rawframe raw = { .instr = 2 * 2998 };
	struct bench b;
	struct frame frame;
	size_t len;
	uint32_t id;

	(void)state;
	setup(&b, 12, false);
	memset(path, 'p', sizeof(path) - 1);
	put_str(&b, FILE_NAME, path, NO_HASH);
	/* Without a line, an instruction a byte. */
	memset(table, (char)(128 | 15 << 3), sizeof(table));
	table[2998] = (char)(128 | 11 << 3);
	put_table(&b, table, sizeof(table));
	for (int again = 0; again < 2; again++) {
		assert_int_equal(capture(&b, CODE, &id), 0);
		frame = codecache_frame(b.cache, id, &raw);
		assert_int_equal(frame.line, 41);
		assert_string_equal(strtab_get(b.strings, frame.file, &len),
				    path);
	}
	assert_int_equal(b.fm.calls, 1);
	teardown(&b);
}

static void hides_the_frame_between_a_class_and_its_init(void **state)
{
	struct rawframe raw = { .instr = 0 };
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 13, false);
	put_str(&b, NAME, "__init__", 4444);
	put_code(&b, CODE, NAME, NAME, 40);
	fakemem_put_u64(&b.fm, CODE + b.layout->code.filename, NAME);
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_int_equal(codecache_frame(b.cache, id, &raw).function, 0);
	/* A function may have one string for all of its names, too. */
	put_str(&b, NAME, "run", 1111);
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_int_not_equal(codecache_frame(b.cache, id, &raw).function, 0);
	put_code(&b, CODE, NAME, NAME, 40);
	expect(&b, "run", 41);
	teardown(&b);
}

/* A memory that shows CODE at all addresses of a range, a page each. */
struct churn {
	struct mem behind;
	unsigned calls;
};

#define CHURN 0x600000000000u
#define CHURNED (CODE_MAX_ENTRIES / 500 * 500 + 1000)

static int churn_readv(void *ctx, struct mem_range *ranges, size_t n)
{
	struct churn *churn = ctx;

	churn->calls++;
	for (size_t i = 0; i < n; i++)
		if (ranges[i].addr - CHURN < CHURNED * 4096ull)
			ranges[i].addr = CODE + ranges[i].addr % 4096;
	return churn->behind.readv(churn->behind.ctx, ranges, n);
}

static void forgets_when_addresses_never_come_back(void **state)
{
	struct churn churn = { 0 };
	struct mem mem = { .readv = churn_readv, .ctx = &churn };
	struct rawframe raw[500];
	uint32_t ids[500];
	struct bench b;
	unsigned first_again;

	(void)state;
	setup(&b, 12, false);
	churn.behind = b.mem;
	for (unsigned at = 0; at < CHURNED; at += 500) {
		for (unsigned i = 0; i < 500; i++)
			raw[i].code = CHURN + (at + i) * 4096ull;
		assert_int_equal(codecache_capture(b.cache, NULL, &mem,
						   b.layout, raw, 500, ids),
				 0);
		assert_true(ids[499] < CODE_MAX_ENTRIES + 500);
		expect_frame(&b, ids[499], 2, "Klass.run", 41);
	}
	raw[0].code = CHURN;
	churn.calls = 0;
	assert_int_equal(
		codecache_capture(b.cache, NULL, &mem, b.layout, raw, 1, ids),
		0);
	first_again = churn.calls;
	assert_true(first_again > 1);
	assert_int_equal(
		codecache_capture(b.cache, NULL, &mem, b.layout, raw, 1, ids),
		0);
	assert_int_equal(churn.calls, first_again + 1);
	teardown(&b);
}

/* As when the object and its table are of two moments, the thread ran between them. */
static void forgets_what_it_learnt_when_the_thread_had_run(void **state)
{
	static const uint8_t far[] = { 2, 100 };
	static const uint8_t near[] = { 2, 1 };
	struct bench b;
	uint32_t id;

	(void)state;
	setup(&b, 8, false);
	put_table(&b, far, sizeof(far));
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_true(codecache_learnt(b.cache));
	expect_frame(&b, id, 2, "run", 140);
	put_table(&b, near, sizeof(near));
	codecache_forget(b.cache);
	assert_false(codecache_learnt(b.cache));
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_true(codecache_learnt(b.cache));
	expect_frame(&b, id, 2, "run", 41);
	/* What was known already had been read before, and is checked each time. */
	assert_int_equal(capture(&b, CODE, &id), 0);
	assert_false(codecache_learnt(b.cache));
	assert_int_equal(codecache_capture(b.cache, NULL, &b.mem, b.layout,
					   NULL, 0, NULL),
			 0);
	assert_false(codecache_learnt(b.cache));
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_function_file_and_line_in_every_version),
		cmocka_unit_test(shows_a_function_whose_name_is_empty),
		cmocka_unit_test(names_function_file_and_line_in_2_7),
		cmocka_unit_test(
			reads_lines_anew_when_only_the_bytecode_is_another),
		cmocka_unit_test(checks_known_code_in_one_call),
		cmocka_unit_test(sees_another_function_at_the_same_address),
		cmocka_unit_test(reads_lines_anew_with_the_function),
		cmocka_unit_test(believes_a_string_that_got_its_hash_meanwhile),
		cmocka_unit_test(refuses_what_is_no_code_and_recovers),
		cmocka_unit_test(shows_no_line_from_a_table_that_is_too_long),
		cmocka_unit_test(
			reads_strings_and_tables_longer_than_their_beginnings),
		cmocka_unit_test(hides_the_frame_between_a_class_and_its_init),
		cmocka_unit_test(forgets_when_addresses_never_come_back),
		cmocka_unit_test(
			forgets_what_it_learnt_when_the_thread_had_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
