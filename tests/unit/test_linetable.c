/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/linetable.h"

/* A recorded code object: a line of tests/data/lines/X, see record-lines.py. */
struct recorded {
	char *name;
	int32_t firstline;
	uint8_t *table;
	size_t len;
	char *runs;
};

static size_t from_hex(char *text, uint8_t *to)
{
	size_t n = 0;

	if (!strcmp(text, "-"))
		return 0;
	for (; text[2 * n]; n++) {
		char byte[3] = { text[2 * n], text[2 * n + 1] };

		to[n] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

/* Splits @line; the table takes the place of its own digits. */
static struct recorded parse(char *line)
{
	struct recorded code = { 0 };
	char *save, *hex;

	code.name = strtok_r(line, " \n", &save);
	code.firstline =
		(int32_t)strtol(strtok_r(NULL, " \n", &save), NULL, 10);
	hex = strtok_r(NULL, " \n", &save);
	code.runs = strtok_r(NULL, " \n", &save);
	assert_non_null(code.runs);
	code.table = (uint8_t *)hex;
	code.len = from_hex(hex, code.table);
	return code;
}

/* Compare each instruction; returns how many there were. */
static size_t compare(enum lines_kind kind, const struct recorded *code)
{
	int64_t at = 0;

	for (char *run = code->runs; run;) {
		long n = strtol(run, &run, 10), line = n;

		if (*run == 'x')
			line = strtol(run + 1, &run, 10);
		else
			n = 1;
		for (; n; n--, at += 2) {
			int32_t got = linetable_line(kind, code->table,
						     code->len, code->firstline,
						     at);

			if (got != line)
				fail_msg("%s at %ld: %d, not %ld", code->name,
					 (long)at, (int)got, line);
		}
		run = *run == ',' ? run + 1 : NULL;
	}
	return (size_t)at / 2;
}

static void compare_file(const char *version, enum lines_kind kind)
{
	const char *top = getenv("FORKFLAME_SRCDIR");
	size_t codes = 0, instructions = 0, room = 0;
	char path[4096], *line = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/data/lines/%s", top ? top : ".",
		 version);
	file = fopen(path, "r");
	assert_non_null(file);
	while (getline(&line, &room, file) > 0) {
		struct recorded code;

		if (line[0] == '#')
			continue;
		code = parse(line);
		instructions += compare(kind, &code);
		codes++;
	}
	free(line);
	fclose(file);
	assert_true(codes >= 50);
	assert_true(instructions >= 2000);
}

static void agrees_with_the_interpreters_until_3_9(void **state)
{
	(void)state;
	compare_file("3.6", LINES_LNOTAB);
	compare_file("3.7", LINES_LNOTAB);
	compare_file("3.8", LINES_LNOTAB);
	compare_file("3.9", LINES_LNOTAB);
}

static void agrees_with_the_interpreter_2_7(void **state)
{
	(void)state;
	compare_file("2.7", LINES_LNOTAB_UNSIGNED);
}

static void goes_back_from_3_6_on_only(void **state)
{
	static const uint8_t pairs[] = { 2, 0xff };

	(void)state;
	assert_int_equal(linetable_line(LINES_LNOTAB, pairs, 2, 7, 2), 6);
	assert_int_equal(linetable_line(LINES_LNOTAB_UNSIGNED, pairs, 2, 7, 2),
			 7 + 255);
	assert_int_equal(linetable_line(LINES_LNOTAB_UNSIGNED, NULL, 0, 7, 2),
			 7);
}

static void agrees_with_the_interpreter_3_10(void **state)
{
	(void)state;
	compare_file("3.10", LINES_LINETABLE);
}

static void agrees_with_the_interpreters_from_3_11(void **state)
{
	(void)state;
	compare_file("3.11", LINES_LOCATIONS);
	compare_file("3.12", LINES_LOCATIONS);
	compare_file("3.13", LINES_LOCATIONS);
}

static void gives_the_first_line_before_the_start(void **state)
{
	static const uint8_t table[] = { 0, 5, 4, 5 };

	(void)state;
	for (int kind = LINES_LNOTAB; kind <= LINES_LNOTAB_UNSIGNED; kind++)
		assert_int_equal(linetable_line((enum lines_kind)kind, table,
						sizeof(table), 7, -1),
				 7);
}

static void reaches_to_the_end_in_lnotab_only(void **state)
{
	static const uint8_t pairs[] = { 4, 1 };
	/* One range of 2 instructions, line + 1, without columns. */
	static const uint8_t locations[] = { 128 | 13 << 3 | 1, 2 };

	(void)state;
	assert_int_equal(linetable_line(LINES_LNOTAB, pairs, 2, 7, 3), 7);
	assert_int_equal(linetable_line(LINES_LNOTAB, pairs, 2, 7, 4), 8);
	assert_int_equal(linetable_line(LINES_LNOTAB, pairs, 2, 7, 5000), 8);
	assert_int_equal(linetable_line(LINES_LNOTAB, NULL, 0, 7, 2), 7);
	assert_int_equal(linetable_line(LINES_LINETABLE, pairs, 2, 7, 3), 8);
	assert_int_equal(linetable_line(LINES_LINETABLE, pairs, 2, 7, 4), 0);
	assert_int_equal(linetable_line(LINES_LOCATIONS, locations, 2, 7, 3),
			 8);
	assert_int_equal(linetable_line(LINES_LOCATIONS, locations, 2, 7, 4),
			 0);
	assert_int_equal(linetable_line(LINES_LOCATIONS, NULL, 0, 7, 0), 0);
}

static void gives_no_line_where_the_table_has_none(void **state)
{
	static const uint8_t pairs[] = { 2, 1, 2, 0x80, 2, 1 };
	static const uint8_t locations[] = { 128 | 11 << 3, 0, 0, 128 | 15 << 3,
					     128 | 10 << 3, 0, 0 };

	(void)state;
	assert_int_equal(linetable_line(LINES_LINETABLE, pairs, 6, 7, 2), 0);
	assert_int_equal(linetable_line(LINES_LINETABLE, pairs, 6, 7, 4), 9);
	assert_int_equal(linetable_line(LINES_LOCATIONS, locations, 7, 7, 2),
			 0);
	assert_int_equal(linetable_line(LINES_LOCATIONS, locations, 7, 7, 4),
			 8);
}

static void wraps_no_line(void **state)
{
	/* Line + 0x3fffffff, twice. */
	static const uint8_t far[] = { 128 | 13 << 3, 126, 127, 127,
				       127,           127, 1,   128 | 13 << 3,
				       126,           127, 127, 127,
				       127,           1 };
	static const uint8_t back[] = { 2, 0xff };

	(void)state;
	assert_int_equal(
		linetable_line(LINES_LOCATIONS, far, sizeof(far), 1, 0),
		0x40000000);
	assert_int_equal(
		linetable_line(LINES_LOCATIONS, far, sizeof(far), 3, 2), 0);
	assert_int_equal(linetable_line(LINES_LINETABLE, back, 2, INT32_MIN, 0),
			 0);
	assert_int_equal(linetable_line(LINES_LNOTAB, back, 2, 1, 2), 0);
}

static void stops_at_numbers_that_do_not_end(void **state)
{
	static const uint8_t cut[] = { 128 | 14 << 3, 127, 127 };
	static const uint8_t huge[] = {
		128 | 14 << 3, 127, 127, 127, 127, 127, 127,
		127,           127, 1,   1,   1,   1
	};
	static const uint8_t no_start[] = { 10 << 3, 0, 0 };

	(void)state;
	assert_int_equal(
		linetable_line(LINES_LOCATIONS, cut, sizeof(cut), 1, 0), 0);
	assert_int_equal(
		linetable_line(LINES_LOCATIONS, huge, sizeof(huge), 1, 0), 0);
	assert_int_equal(linetable_line(LINES_LOCATIONS, no_start,
					sizeof(no_start), 1, 0),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_the_interpreters_until_3_9),
		cmocka_unit_test(agrees_with_the_interpreter_2_7),
		cmocka_unit_test(goes_back_from_3_6_on_only),
		cmocka_unit_test(agrees_with_the_interpreter_3_10),
		cmocka_unit_test(agrees_with_the_interpreters_from_3_11),
		cmocka_unit_test(gives_the_first_line_before_the_start),
		cmocka_unit_test(reaches_to_the_end_in_lnotab_only),
		cmocka_unit_test(gives_no_line_where_the_table_has_none),
		cmocka_unit_test(wraps_no_line),
		cmocka_unit_test(stops_at_numbers_that_do_not_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
