/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "codetest.h"

/* How many ranges a look at a known object reads: its fields, and names. */
static size_t ranges_of_a_look(struct bench *b)
{
	uint32_t id;

	assert_int_equal(capture(b, CODE, &id), 0);
	return b->fm.ranges;
}

static void knows_code_by_its_number_within_a_process(void **state)
{
	struct codeseen seen = { 0 };
	struct bench b;

	(void)state;
	for (unsigned minor = 12; minor <= 14; minor++) {
		setup(&b, minor, false);
		put_version(&b, 7);
		b.seen = &seen;
		expect(&b, "Klass.run", 41);
		assert_int_equal(ranges_of_a_look(&b), 1);
		/* Another object at the address: nothing but the number tells. */
		put_str(&b, QUALNAME, "Klass.hop", 3333);
		put_version(&b, 8);
		expect(&b, "Klass.hop", 41);
		assert_int_equal(ranges_of_a_look(&b), 1);
		seen.n = 0;
		teardown(&b);
	}
	vec_free(&seen);
}

/* After a fork, both count on from the same number. */
static void knows_code_by_no_number_of_another_process(void **state)
{
	struct codeseen parent = { 0 }, child = { 0 };
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_version(&b, 7);
	b.seen = &parent;
	expect(&b, "Klass.run", 41);
	assert_int_equal(ranges_of_a_look(&b), 1);
	/* The child has made another one, with the number and all pointers. */
	put_str(&b, QUALNAME, "Klass.hop", 3333);
	b.seen = &child;
	expect(&b, "Klass.hop", 41);
	assert_int_equal(ranges_of_a_look(&b), 1);
	put_str(&b, QUALNAME, "Klass.run", 2222);
	b.seen = &parent;
	expect(&b, "Klass.run", 41);
	vec_free(&parent);
	vec_free(&child);
	teardown(&b);
}

static void looks_at_names_where_numbers_tell_nothing(void **state)
{
	static const struct {
		unsigned minor;
		bool free_threaded;
		uint32_t version;
	} none[] = { { 11, false, 7 },
		     { 13, true, 7 },
		     { 15, false, 7 },
		     { 13, false, 0 } };
	struct codeseen seen = { 0 };
	struct bench b;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		setup(&b, none[i].minor, none[i].free_threaded);
		put_version(&b, none[i].version);
		b.seen = &seen;
		expect(&b, "Klass.run", 41);
		assert_true(ranges_of_a_look(&b) > 1);
		put_str(&b, QUALNAME, "Klass.hop", 3333);
		expect(&b, "Klass.hop", 41);
		seen.n = 0;
		teardown(&b);
	}
	vec_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_code_by_its_number_within_a_process),
		cmocka_unit_test(knows_code_by_no_number_of_another_process),
		cmocka_unit_test(looks_at_names_where_numbers_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
