/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "codetest.h"

/* A function, called run, whatever it is called by. */
static void begin(struct bench *b, unsigned minor)
{
	struct codeplan plan;

	setup(b, minor, false);
	put_str(b, QUALNAME, "run", 1111);
	/* From 3.12 each object has a number of its own. */
	if (codecache_plan(b->layout, &plan) && plan.version)
		put_version(b, 7);
}

/* Another function takes the place of the first one: all addresses are the same. */
static void replace(struct bench *b, const char *name, int64_t hash)
{
	put_str(b, NAME, name, hash);
	put_str(b, QUALNAME, name, hash);
}

/* As the kernel's program does it; @all: not by the object's own number. */
static uint64_t number_of(struct bench *b, bool all)
{
	uint64_t words[CODECHECK_WORDS], check;
	struct codeplan plan;

	assert_true(codecache_plan(b->layout, &plan));
	if (plan.version && !all) {
		uint32_t version;

		assert_int_equal(mem_read(&b->mem, CODE + plan.version,
					  &version, sizeof(version)),
				 0);
		return version;
	}
	assert_int_equal(
		mem_read(&b->mem, CODE + plan.from, words, plan.words * 8), 0);
	check = codecheck_fields(&plan, words);
	for (size_t i = 0; i < plan.n_names; i++) {
		uint64_t at = words[plan.names[i]], head[2];
		uint64_t lead[CODECHECK_LEAD] = { 0 };

		assert_int_equal(mem_read(&b->mem, at + plan.length, head, 16),
				 0);
		if ((int64_t)head[1] == -1)
			assert_int_equal(mem_read(&b->mem, at + plan.lead, lead,
						  head[0] < 32 ? head[0] : 32),
					 0);
		check = codecheck_name(check, head[0], (int64_t)head[1], lead);
	}
	return check;
}

static uint64_t number_now(struct bench *b)
{
	return number_of(b, false);
}

static int recall(struct bench *b, uint64_t check, uint32_t *ret_id)
{
	struct rawframe raw = { .code = CODE };

	b->fm.calls = 0;
	return codecache_recall(b->cache, &b->own, &b->mem, b->layout, &raw,
				&check, 1, ret_id);
}

static void expect_named(struct bench *b, uint64_t check, const char *function)
{
	struct rawframe raw = { .code = CODE };
	struct frame frame;
	uint32_t id;

	assert_int_equal(recall(b, check, &id), 0);
	frame = codecache_frame(b->cache, id, &raw);
	assert_string_equal(strtab_get(b->strings, frame.function, NULL),
			    function);
}

static void names_an_object_that_it_reads_afterwards(void **state)
{
	static const unsigned minors[] = { 8, 9, 10, 11, 12, 13, 14, 15 };
	struct bench b;

	(void)state;
	for (size_t i = 0; i < sizeof(minors) / sizeof(*minors); i++) {
		begin(&b, minors[i]);
		expect_named(&b, number_now(&b), "run");
		teardown(&b);
	}
}

static void knows_an_object_again_without_a_read(void **state)
{
	struct bench b;
	uint64_t check;

	(void)state;
	begin(&b, 11);
	check = number_now(&b);
	expect_named(&b, check, "run");
	expect_named(&b, check, "run");
	assert_int_equal(b.fm.calls, 0);
	teardown(&b);
}

static void names_a_known_object_though_its_place_is_used_again(void **state)
{
	struct bench b;
	uint64_t check;

	(void)state;
	begin(&b, 11);
	check = number_now(&b);
	expect_named(&b, check, "run");
	replace(&b, "fly", 2222);
	expect_named(&b, check, "run");
	teardown(&b);
}

static void gives_an_object_that_was_replaced_no_name(void **state)
{
	struct bench b;
	uint64_t check;
	uint32_t id;

	(void)state;
	begin(&b, 11);
	check = number_now(&b);
	replace(&b, "fly", 2222);
	assert_int_equal(recall(&b, check, &id), 0);
	assert_int_equal(id, CODE_UNKNOWN);
	expect_named(&b, check, "[freed function]");
	/* The new one has its own. */
	expect_named(&b, number_now(&b), "fly");
	teardown(&b);
}

/* Its fields stand as they stood, and its name is the next one's already. */
static void gives_an_object_that_is_dead_no_name(void **state)
{
	static const unsigned minors[] = { 8, 10, 11, 12, 13, 14 };
	static const uint64_t dead[] = { 0, 0x7f12345678a0, 0x55d012345678 };
	static const uint64_t alive[] = { 1, 0xffffffff, 0x3fffffff };
	struct bench b;
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(minors) / sizeof(*minors); i++) {
		for (size_t k = 0; k < 3; k++) {
			begin(&b, minors[i]);
			fakemem_put_u64(&b.fm, CODE, dead[k]);
			assert_int_equal(recall(&b, number_now(&b), &id), 0);
			assert_int_equal(id, CODE_UNKNOWN);
			fakemem_put_u64(&b.fm, CODE, alive[k]);
			expect_named(&b, number_now(&b), "run");
			teardown(&b);
		}
	}
	/* 3.14 has flags in the upper bits. */
	begin(&b, 14);
	fakemem_put_u64(&b.fm, CODE, 0x00010000c0000000);
	expect_named(&b, number_now(&b), "run");
	teardown(&b);
}

static void asks_again_in_a_process_that_counts_by_itself(void **state)
{
	struct codeseen parent;
	struct bench b;
	uint32_t id;

	(void)state;
	begin(&b, 12);
	expect_named(&b, 7, "run");
	expect_named(&b, 7, "run");
	assert_int_equal(b.fm.calls, 0);
	/* The child has made another function at that place, with that number. */
	parent = b.own;
	b.own = (struct codeseen){ 0 };
	replace(&b, "fly", 2222);
	expect_named(&b, 7, "fly");
	/* And it is still the parent's that was checked there. */
	vec_free(&b.own);
	b.own = parent;
	replace(&b, "run", 1111);
	expect_named(&b, 7, "run");
	put_version(&b, 8);
	assert_int_equal(recall(&b, 9, &id), 0);
	assert_int_equal(id, CODE_UNKNOWN);
	teardown(&b);
}

static void knows_an_object_of_a_forked_process_that_has_ended(void **state)
{
	struct rawframe raw = { .code = CODE };
	struct bench b;
	uint64_t check;
	uint32_t id;

	(void)state;
	begin(&b, 12);
	expect_named(&b, 7, "run");
	check = number_of(&b, true);
	b.fm.fail = OUT_GONE;
	assert_int_equal(codecache_recall(b.cache, NULL, &b.mem, b.layout, &raw,
					  &check, 1, &id),
			 0);
	assert_string_equal(
		strtab_get(b.strings,
			   codecache_frame(b.cache, id, &raw).function, NULL),
		"run");
	/* Another one, with the same number of its own, is not it. */
	b.fm.fail = 0;
	replace(&b, "fly", 2222);
	check = number_of(&b, true);
	b.fm.fail = OUT_GONE;
	assert_int_equal(codecache_recall(b.cache, NULL, &b.mem, b.layout, &raw,
					  &check, 1, &id),
			 OUT_GONE);
	teardown(&b);
}

static void names_nothing_once_the_numbers_have_gone_round(void **state)
{
	struct bench b;
	uint32_t id;

	(void)state;
	begin(&b, 13);
	put_version(&b, 0);
	assert_int_equal(recall(&b, 0, &id), 0);
	assert_int_equal(id, CODE_UNKNOWN);
	teardown(&b);
}

static void tells_files_apart_that_have_no_hash(void **state)
{
	struct bench b;
	uint64_t check;
	uint32_t id;

	(void)state;
	begin(&b, 11);
	check = number_now(&b);
	put_str(&b, FILE_NAME, "/srv/app.pi", NO_HASH);
	assert_int_equal(recall(&b, check, &id), 0);
	assert_int_equal(id, CODE_UNKNOWN);
	teardown(&b);
}

struct change {
	struct bench *b;
	unsigned call;
};

/* At the given read, the object is replaced. */
static void change(struct fakemem *fm, void *arg)
{
	struct change *c = arg;

	if (fm->calls == c->call)
		replace(c->b, "fly", 2222);
}

static void believes_no_mixture_of_two_objects(void **state)
{
	(void)state;
	for (unsigned call = 0; call < 12; call++) {
		struct bench b;
		struct change c = { .b = &b, .call = call };
		struct rawframe raw = { .code = CODE };
		uint64_t check;
		uint32_t id;

		begin(&b, 11);
		check = number_now(&b);
		b.fm.calls = 0;
		b.fm.hook = change;
		b.fm.hook_arg = &c;
		assert_int_equal(codecache_recall(b.cache, &b.own, &b.mem,
						  b.layout, &raw, &check, 1,
						  &id),
				 0);
		if (id != CODE_UNKNOWN)
			assert_string_equal(
				strtab_get(b.strings,
					   codecache_frame(b.cache, id, &raw)
						   .function,
					   NULL),
				"run");
		teardown(&b);
	}
}

static void says_when_the_process_has_gone(void **state)
{
	struct bench b;
	uint64_t check;
	uint32_t id;

	(void)state;
	begin(&b, 12);
	check = number_now(&b);
	b.fm.fail = OUT_GONE;
	assert_int_equal(recall(&b, check, &id), OUT_GONE);
	/* What is known needs no process. */
	b.fm.fail = 0;
	expect_named(&b, check, "run");
	b.fm.fail = OUT_GONE;
	expect_named(&b, check, "run");
	teardown(&b);
}

static void has_no_plan_where_an_object_cannot_be_told(void **state)
{
	struct codeplan plan;

	(void)state;
	assert_false(codecache_plan(fakemem_row(27, false), &plan));
	assert_false(codecache_plan(fakemem_row(13, true), &plan));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_an_object_that_it_reads_afterwards),
		cmocka_unit_test(knows_an_object_again_without_a_read),
		cmocka_unit_test(
			names_a_known_object_though_its_place_is_used_again),
		cmocka_unit_test(gives_an_object_that_was_replaced_no_name),
		cmocka_unit_test(gives_an_object_that_is_dead_no_name),
		cmocka_unit_test(asks_again_in_a_process_that_counts_by_itself),
		cmocka_unit_test(
			knows_an_object_of_a_forked_process_that_has_ended),
		cmocka_unit_test(
			names_nothing_once_the_numbers_have_gone_round),
		cmocka_unit_test(tells_files_apart_that_have_no_hash),
		cmocka_unit_test(believes_no_mixture_of_two_objects),
		cmocka_unit_test(says_when_the_process_has_gone),
		cmocka_unit_test(has_no_plan_where_an_object_cannot_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
