/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/search.h"

#define DATA 0x500000u
#define BYTES 0x9000u         /* of the program's data: more than one piece */
#define HEAD (DATA + 0x8ff0u) /* where the list of interpreters begins */
#define INTERP 0x600000u
#define OTHER 0x640000u
#define THREAD 0x700000u
#define PTHREAD 0x800000u

struct target {
	struct fakemem fm;
	struct mem mem;
	struct runtime rt;
	const struct layout *row;
};

static void put_interp(struct target *t, uint64_t at, uint64_t next)
{
	fakemem_zero(&t->fm, at, 8192);
	fakemem_put_u64(&t->fm, at + t->row->interp.next, next);
	fakemem_put_u64(&t->fm, at + t->row->interp.thread_head,
			THREAD + at % INTERP);
	fakemem_zero(&t->fm, THREAD + at % INTERP, 512);
	fakemem_put_u64(&t->fm, THREAD + at % INTERP + t->row->thread.interp,
			at);
	fakemem_put_u64(&t->fm, THREAD + at % INTERP + t->row->thread.thread_id,
			PTHREAD);
}

/* A program with an interpreter of 3.@version in it, or of 2.7 for 27. */
static void put_target(struct target *t, unsigned version)
{
	fakemem_free(&t->fm);
	t->row = fakemem_row(version, false);
	t->rt = (struct runtime){ .layout = *t->row };
	fakemem_zero(&t->fm, DATA, BYTES);
	put_interp(t, INTERP, 0);
	fakemem_put_u64(&t->fm, HEAD, INTERP);
	fakemem_put_u64(&t->fm, HEAD + 8, INTERP);
	fakemem_zero(&t->fm, PTHREAD, 64);
	fakemem_put_u64(&t->fm, PTHREAD, PTHREAD);
}

static int set_up(void **state)
{
	static struct target target;

	target = (struct target){ 0 };
	target.mem = fakemem_mem(&target.fm);
	*state = &target;
	return 0;
}

static int tear_down(void **state)
{
	struct target *t = *state;

	fakemem_free(&t->fm);
	return 0;
}

static int search(struct target *t)
{
	return search_interp(&t->mem, DATA, BYTES, &t->rt);
}

static struct search_tag tag_of(const char *text, size_t len)
{
	struct search_tag tag = { 0 };

	search_text(&tag, text, len);
	return tag;
}
#define TAG_OF(text) tag_of(text, sizeof(text))

static void tells_the_version_by_the_tag_of_its_modules(void **state)
{
	(void)state;
	assert_int_equal(TAG_OF("x\0cpython-38\0y").minor, 8);
	assert_int_equal(TAG_OF(".cpython-310-x86_64-linux-gnu.so").minor, 10);
	assert_int_equal(TAG_OF("cpython-313t").minor, 13);
	assert_int_equal(TAG_OF("cpython-36m-x86_64").minor, 6);
	assert_int_equal(TAG_OF("/usr\0lib/python2.7\0").major, 2);
	assert_int_equal(TAG_OF("/usr\0lib/python2.7\0").minor, 7);
}

static void takes_other_texts_for_no_version(void **state)
{
	(void)state;
	assert_int_equal(TAG_OF("cpython-3.12.1").major, 0);
	assert_int_equal(TAG_OF("cpython-3").major, 0);
	assert_int_equal(TAG_OF("cpython-3119").major, 0);
	assert_int_equal(TAG_OF("lib/python2.7/site").major, 0);
	assert_int_equal(tag_of("cpython-38", 10).major, 0);
	assert_int_equal(tag_of("cpython-", 8).major, 0);
	assert_int_equal(tag_of("", 0).major, 0);
}

static void is_told_nothing_by_texts_of_several_versions(void **state)
{
	(void)state;
	assert_false(TAG_OF("cpython-38\0cpython-38-x").torn);
	assert_true(TAG_OF("cpython-38\0cpython-39").torn);
	assert_true(TAG_OF("cpython-38\0lib/python2.7").torn);
}

static void finds_the_list_of_interpreters(void **state)
{
	static const unsigned versions[] = { 27, 6, 7, 8, 9, 10, 11, 12 };
	struct target *t = *state;

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		put_target(t, versions[i]);
		assert_int_equal(search(t), OUT_OK);
		assert_int_equal(t->rt.address + t->row->runtime.interp_head,
				 HEAD);
	}
}

static void finds_it_when_there_are_several(void **state)
{
	struct target *t = *state;

	put_target(t, 8);
	put_interp(t, OTHER, INTERP);
	fakemem_put_u64(&t->fm, HEAD, OTHER);
	assert_int_equal(search(t), OUT_OK);
	assert_int_equal(t->rt.address + t->row->runtime.interp_head, HEAD);
}

static void believes_only_what_points_back(void **state)
{
	struct target *t = *state;

	put_target(t, 8);
	fakemem_put_u64(&t->fm, THREAD + t->row->thread.interp, OTHER);
	assert_int_equal(search(t), OUT_NOT_YET);

	put_target(t, 8);
	fakemem_put_u64(&t->fm, INTERP + t->row->interp.thread_head, 0);
	assert_int_equal(search(t), OUT_NOT_YET);

	/* The first interpreter must be the last of the list. */
	put_target(t, 8);
	fakemem_put_u64(&t->fm, HEAD + 8, OTHER);
	assert_int_equal(search(t), OUT_NOT_YET);

	put_target(t, 8);
	fakemem_put_u64(&t->fm, INTERP + t->row->interp.next, INTERP);
	assert_int_equal(search(t), OUT_NOT_YET);
}

#ifdef __x86_64__
static void believes_no_thread_that_the_c_library_does_not_know(void **state)
{
	struct target *t = *state;

	put_target(t, 8);
	fakemem_put_u64(&t->fm, PTHREAD, PTHREAD + 8);
	assert_int_equal(search(t), OUT_NOT_YET);
}
#endif

static void looks_through_data_of_which_parts_are_missing(void **state)
{
	struct target *t = *state;

	put_target(t, 9);
	fakemem_unmap(&t->fm, DATA, 0x1000);
	assert_int_equal(search_interp(&t->mem, DATA, BYTES + 0x8000, &t->rt),
			 OUT_OK);
}

static void is_not_trapped_by_data_that_is_all_pointers(void **state)
{
	struct target *t = *state;

	put_target(t, 8);
	for (uint64_t at = DATA; at < HEAD; at += 8)
		fakemem_put_u64(&t->fm, at, INTERP + 8);
	assert_int_equal(search(t), OUT_OK);
	assert_int_equal(t->rt.address + t->row->runtime.interp_head, HEAD);
}

static void finds_the_cookie(void **state)
{
	struct target *t = *state;
	uint64_t at = 77;

	put_target(t, 8);
	assert_int_equal(search_cookie(&t->mem, DATA, BYTES, &at), OUT_NOT_YET);
	fakemem_put(&t->fm, HEAD, "xdebugpy", 8);
	assert_int_equal(search_cookie(&t->mem, DATA, BYTES, &at), OUT_OK);
	assert_int_equal(at, HEAD);
}

static void passes_on_that_the_target_is_gone(void **state)
{
	struct target *t = *state;
	uint64_t at;

	put_target(t, 8);
	t->fm.fail = OUT_GONE;
	assert_int_equal(search(t), OUT_GONE);
	assert_int_equal(search_cookie(&t->mem, DATA, BYTES, &at), OUT_GONE);
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_version_by_the_tag_of_its_modules),
		cmocka_unit_test(takes_other_texts_for_no_version),
		cmocka_unit_test(is_told_nothing_by_texts_of_several_versions),
		WITH_TARGET(finds_the_list_of_interpreters),
		WITH_TARGET(finds_it_when_there_are_several),
		WITH_TARGET(believes_only_what_points_back),
#ifdef __x86_64__
		WITH_TARGET(
			believes_no_thread_that_the_c_library_does_not_know),
#endif
		WITH_TARGET(looks_through_data_of_which_parts_are_missing),
		WITH_TARGET(is_not_trapped_by_data_that_is_all_pointers),
		WITH_TARGET(finds_the_cookie),
		WITH_TARGET(passes_on_that_the_target_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
