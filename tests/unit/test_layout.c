/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/debugoffsets.h"
#include "python/layout.h"

#define RUNTIME 0x7f0000001000u

/* 3.14.10's table: where each entry is and what it says (GIL build). */
static const struct {
	uint16_t at;
	uint64_t value;
} table_314[] = {
	{ 8, 0x030e0af0 },
	{ 16, 0 },
	/* runtime_state: size, interpreters_head */
	{ 24, 316616 },
	{ 40, 808 },
	/* interpreter_state: size, id, next, threads_head, imports_modules, gil... */
	{ 48, 225864 },
	{ 56, 7280 },
	{ 64, 7272 },
	{ 72, 7344 },
	{ 96, 7688 },
	{ 120, 16 },
	{ 128, 7784 },
	{ 144, 7800 },
	{ 152, 7792 },
	/* thread_state: size, next, interp, current_frame, ids, datastack */
	{ 176, 832 },
	{ 192, 8 },
	{ 200, 16 },
	{ 208, 72 },
	{ 216, 152 },
	{ 224, 160 },
	{ 232, 232 },
	/* interpreter_frame: size, previous, executable, instr_ptr, owner */
	{ 248, 88 },
	{ 256, 8 },
	{ 264, 0 },
	{ 272, 56 },
	{ 288, 74 },
	/* code_object: size, file, name, qualname, linetable, line, bytecode */
	{ 312, 216 },
	{ 320, 112 },
	{ 328, 120 },
	{ 336, 128 },
	{ 344, 136 },
	{ 352, 68 },
	{ 384, 208 },
	/* pyobject, type_object, bytes_object */
	{ 400, 16 },
	{ 408, 8 },
	{ 416, 416 },
	{ 424, 24 },
	{ 592, 40 },
	{ 600, 16 },
	{ 608, 32 },
	/* unicode_object: size, state, length, asciiobject_size */
	{ 616, 64 },
	{ 624, 32 },
	{ 632, 16 },
	{ 640, 40 },
};

#define AT_VERSION 8
#define AT_FREE_THREADED 16
#define AT_INTERP_SIZE 48
#define AT_THREADS_HEAD 72
#define AT_GIL_HOLDER 152
#define AT_THREAD_SIZE 176
#define AT_CURRENT_FRAME 208
#define AT_NATIVE_ID 224
#define AT_FRAME_SIZE 248
#define AT_OWNER 288
#define AT_CODE_SIZE 312
#define AT_FILENAME 320
#define AT_UNICODE_SIZE 616
#define AT_ASCII_SIZE 640
#define TABLE_314_BYTES 760

struct target {
	struct fakemem fm;
	struct mem mem;
	struct layout layout; /* what was read */
	uint32_t version;
};

static int target_setup(void **state)
{
	static struct target target;

	target = (struct target){ .layout = { .minor = 77 }, .version = 77 };
	target.mem = fakemem_mem(&target.fm);
	fakemem_zero(&target.fm, RUNTIME, TABLE_314_BYTES);
	fakemem_put(&target.fm, RUNTIME, "xdebugpy", 8);
	for (size_t i = 0; i < sizeof(table_314) / sizeof(*table_314); i++)
		fakemem_put_u64(&target.fm, RUNTIME + table_314[i].at,
				table_314[i].value);
	*state = &target;
	return 0;
}

static int target_teardown(void **state)
{
	struct target *target = *state;

	fakemem_free(&target->fm);
	return 0;
}

static void put(struct target *t, uint16_t at, uint64_t value)
{
	fakemem_put_u64(&t->fm, RUNTIME + at, value);
}

static int read_table(struct target *t)
{
	return debugoffsets_read(&t->mem, RUNTIME, &t->layout, &t->version);
}

static void has_a_row_for_2_7_and_each_version_from_3_6_to_3_15(void **state)
{
	const struct layout *py27 = layout_find(2, 7, false);

	(void)state;
	assert_non_null(py27);
	assert_int_equal(py27->major, 2);
	assert_int_equal(py27->minor, 7);
	for (unsigned minor = 6; minor <= 15; minor++) {
		const struct layout *row = layout_find(3, minor, false);

		assert_non_null(row);
		assert_int_equal(row->major, 3);
		assert_int_equal(row->minor, minor);
		assert_false(row->free_threaded);
	}
	for (unsigned minor = 13; minor <= 15; minor++)
		assert_true(layout_find(3, minor, true)->free_threaded);
	assert_string_equal(layout_known(), "2.7 and 3.6 to 3.15");
}

static void never_takes_a_neighbours_row(void **state)
{
	(void)state;
	assert_null(layout_find(2, 6, false));
	assert_null(layout_find(2, 8, false));
	assert_null(layout_find(2, 7, true));
	assert_null(layout_find(3, 5, false));
	assert_null(layout_find(3, 16, false));
	assert_null(layout_find(4, 8, false));
	assert_null(layout_find(3, 12, true));
}

static void assert_field_fits(unsigned at, unsigned width, unsigned limit)
{
	if (at != LAYOUT_NONE)
		assert_true(at + width <= limit);
}

static void stays_within_what_readers_have_room_for(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 21; i++) {
		const struct layout *row =
			i < 20 ? layout_find(3, 6 + i / 2, i % 2)
			       : layout_find(2, 7, false);

		if (!row)
			continue;
		assert_true(row->frame.size <= LAYOUT_MAX_FRAME);
		assert_true(row->code.size <= LAYOUT_MAX_CODE);
		assert_field_fits(row->code.bytecode, 1, LAYOUT_MAX_CODE);
		assert_field_fits(row->thread.frame, 8, LAYOUT_MAX_THREAD);
		assert_field_fits(row->thread.native_id, 8, LAYOUT_MAX_THREAD);
		assert_field_fits(row->thread.thread_id, 8, LAYOUT_MAX_THREAD);
		assert_field_fits(row->thread.datastack_chunk, 8,
				  LAYOUT_MAX_THREAD);
		assert_field_fits(row->str.legacy_data, 8, LAYOUT_MAX_OBJECT);
		assert_field_fits(row->object.bytes_data, 1, LAYOUT_MAX_OBJECT);
	}
}

static void knows_how_each_version_links_its_frames(void **state)
{
	const struct layout *py310 = layout_find(3, 10, false);
	const struct layout *py311 = layout_find(3, 11, false);
	const struct layout *py312 = layout_find(3, 12, false);

	(void)state;
	assert_int_equal(py310->frame_kind, FRAME_OBJECT);
	assert_int_equal(py310->instr_scale, 2);
	assert_int_equal(py310->thread.frame, 24);
	assert_int_equal(py310->frame.instr, 96);
	assert_int_equal(py310->thread.native_id, LAYOUT_NONE);

	assert_int_equal(py311->frame_kind, FRAME_CFRAME);
	assert_int_equal(py311->thread.frame, 56);
	assert_int_equal(py311->cframe.current, 8);
	assert_int_equal(py311->frame.code, 32);
	assert_int_equal(py311->frame.previous, 48);
	assert_int_equal(py311->frame.owner, 69);
	assert_int_equal(py311->frame.size, 70);
	assert_int_equal(py311->runtime.tstate_current, 576);

	assert_int_equal(py312->cframe.current, 0);
	assert_int_equal(py312->runtime.tstate_current, LAYOUT_NONE);
	assert_int_equal(py312->interp.gil, 384);
	assert_int_equal(py312->owner_skip, 1 << 3);
}

static void
knows_which_versions_point_to_the_stack_of_an_evaluation(void **state)
{
	(void)state;
	for (uint8_t minor = 6; minor <= 15; minor++) {
		const struct layout *row = layout_find(3, minor, false);

		if (minor == 10)
			assert_int_equal(row->thread.c_stack, 48);
		else if (row->frame_kind == FRAME_CFRAME)
			assert_int_equal(row->thread.c_stack,
					 row->thread.frame);
		else
			assert_int_equal(row->thread.c_stack, LAYOUT_NONE);
	}
}

static void knows_where_the_older_versions_have_things(void **state)
{
	const struct layout *py27 = layout_find(2, 7, false);
	const struct layout *py36 = layout_find(3, 6, false);
	const struct layout *py37 = layout_find(3, 7, false);

	(void)state;
	assert_false(py27->runtime.exists);
	assert_int_equal(py27->runtime.interp_head, 0);
	assert_int_equal(py27->lines_kind, LINES_LNOTAB_UNSIGNED);
	assert_int_equal(py27->thread.next, 0);
	assert_int_equal(py27->thread.frame, 16);
	assert_true(py27->str.is_bytes);
	assert_int_equal(py27->str.ascii_data, 36);
	assert_int_equal(py27->object.bytes_data, 36);

	assert_false(py36->runtime.exists);
	assert_int_equal(py36->lines_kind, LINES_LNOTAB);
	assert_int_equal(py36->frame.instr, 120);
	assert_int_equal(py36->interp.next_thread_id, LAYOUT_NONE);
	assert_false(py36->str.is_bytes);

	assert_true(py37->runtime.exists);
	assert_int_equal(py37->runtime.interp_head, 24);
	/* Another before 3.7.4. */
	assert_int_equal(py37->runtime.tstate_current, LAYOUT_NONE);
	assert_int_equal(py37->frame.instr, 104);
	assert_int_equal(py37->code.filename, 96);
}

static void moves_the_strings_bits_in_free_threaded_3_14(void **state)
{
	const struct layout *t13 = layout_find(3, 13, true);
	const struct layout *t14 = layout_find(3, 14, true);

	(void)state;
	assert_int_equal(t13->str.kind_shift, 2);
	assert_int_equal(t13->str.state, 48);
	assert_int_equal(t14->str.kind_shift, 8);
	assert_int_equal(t14->str.compact_shift, 11);
	assert_int_equal(t14->str.ascii_shift, 12);
	assert_int_equal(t14->str.ascii_data, 56);
	assert_int_equal(t14->frame.tlbc_index, 72);
	assert_int_equal(t14->tlbc.entries, 8);
	assert_int_equal(t14->tag_mask, 1);
}

static void reads_its_own_version_to_the_row_of_it(void **state)
{
	const struct layout *row = layout_find(3, 14, false);
	struct target *t = *state;

	assert_int_equal(read_table(t), OUT_OK);
	assert_int_equal(t->version, 0x030e0af0);
	/* Members without padding may be compared as bytes. */
	assert_memory_equal(&t->layout.runtime, &row->runtime,
			    sizeof(row->runtime));
	assert_memory_equal(&t->layout.interp, &row->interp,
			    sizeof(row->interp));
	assert_memory_equal(&t->layout.gil, &row->gil, sizeof(row->gil));
	assert_memory_equal(&t->layout.thread, &row->thread,
			    sizeof(row->thread));
	assert_memory_equal(&t->layout.frame, &row->frame, sizeof(row->frame));
	assert_memory_equal(&t->layout.code, &row->code, sizeof(row->code));
	assert_memory_equal(&t->layout.object, &row->object,
			    sizeof(row->object));
	assert_memory_equal(&t->layout.str, &row->str,
			    offsetof(struct layout, str.ascii_shift) -
				    offsetof(struct layout, str));
	assert_int_equal(t->layout.tag_mask, row->tag_mask);
	assert_int_equal(t->layout.owner_limit, row->owner_limit);
}

static void believes_the_target_more_than_the_row(void **state)
{
	struct target *t = *state;

	put(t, AT_CURRENT_FRAME, 80);
	put(t, AT_NATIVE_ID, 192);
	put(t, AT_OWNER, 87);
	put(t, AT_FILENAME, 208);
	put(t, AT_THREADS_HEAD, 7352);
	put(t, AT_GIL_HOLDER, 7808);
	assert_int_equal(read_table(t), OUT_OK);
	assert_int_equal(t->layout.thread.frame, 80);
	assert_int_equal(t->layout.thread.native_id, 192);
	assert_int_equal(t->layout.interp.thread_head, 7352);
	assert_int_equal(t->layout.gil.last_holder, 24);
	/* and what follows from it */
	assert_int_equal(t->layout.frame.size, 88);
	assert_int_equal(t->layout.code.size, 216);
	assert_int_equal(t->layout.interp.next_thread_id, 7344);
}

static void does_not_mind_structures_that_grew(void **state)
{
	struct target *t = *state;

	put(t, AT_THREAD_SIZE, 840);
	put(t, AT_INTERP_SIZE, 300000);
	put(t, AT_CODE_SIZE, 4096);
	assert_int_equal(read_table(t), OUT_OK);
	assert_int_equal(t->layout.thread.thread_id, 152);
}

static void moves_all_string_headers_with_the_first(void **state)
{
	struct target *t = *state;

	put(t, AT_UNICODE_SIZE, 80);
	put(t, AT_ASCII_SIZE, 48);
	assert_int_equal(read_table(t), OUT_OK);
	assert_int_equal(t->layout.str.ascii_data, 48);
	assert_int_equal(t->layout.str.compact_data, 64);
	assert_int_equal(t->layout.str.legacy_data, 64);
}

static void starts_from_the_free_threaded_row_where_it_is_one(void **state)
{
	struct target *t = *state;

	put(t, AT_FREE_THREADED, 1);
	put(t, 304, 76);  /* interpreter_frame.tlbc_index */
	put(t, 392, 200); /* code_object.co_tlbc */
	assert_int_equal(read_table(t), OUT_OK);
	assert_true(t->layout.free_threaded);
	assert_int_equal(t->layout.str.kind_shift, 8);
	assert_int_equal(t->layout.frame.tlbc_index, 76);
	assert_int_equal(t->layout.code.tlbc, 200);
}

static void assert_refused(struct target *t, int outcome)
{
	assert_int_equal(read_table(t), outcome);
	assert_int_equal(t->layout.minor, 77);
}

static void refuses_a_field_beyond_its_structure(void **state)
{
	struct target *t = *state;

	put(t, AT_FRAME_SIZE, 74); /* the owner's byte is the 75th */
	assert_refused(t, OUT_UNKNOWN);
	assert_int_equal(t->version, 0x030e0af0);
}

static void refuses_a_field_beyond_what_readers_have_room_for(void **state)
{
	struct target *t = *state;

	put(t, AT_THREAD_SIZE, 100000);
	put(t, AT_NATIVE_ID, LAYOUT_MAX_THREAD - 7);
	assert_refused(t, OUT_UNKNOWN);
	put(t, AT_NATIVE_ID, LAYOUT_MAX_THREAD - 8);
	assert_int_equal(read_table(t), OUT_OK);
}

static void refuses_offsets_that_wrap_around(void **state)
{
	struct target *t = *state;

	put(t, AT_THREAD_SIZE, UINT64_MAX);
	put(t, AT_CURRENT_FRAME, UINT64_MAX - 3);
	assert_refused(t, OUT_UNKNOWN);
}

static void refuses_a_string_header_longer_than_the_string(void **state)
{
	struct target *t = *state;

	put(t, AT_ASCII_SIZE, 72);
	assert_refused(t, OUT_UNKNOWN);
}

static void refuses_a_gil_outside_of_itself(void **state)
{
	struct target *t = *state;

	put(t, AT_GIL_HOLDER, 7776);
	assert_refused(t, OUT_UNKNOWN);
	put(t, AT_GIL_HOLDER, 7784 + LAYOUT_MAX_OBJECT);
	assert_refused(t, OUT_UNKNOWN);
}

static void refuses_versions_without_a_row_by_their_number(void **state)
{
	struct target *t = *state;

	put(t, AT_VERSION, 0x031000f0);
	assert_refused(t, OUT_UNKNOWN);
	assert_int_equal(t->version, 0x031000f0);
	put(t, AT_VERSION, 0x040e00f0);
	assert_refused(t, OUT_UNKNOWN);
	put(t, AT_VERSION, 0x1030e00f0u);
	assert_refused(t, OUT_UNKNOWN);
}

static void refuses_pre_releases(void **state)
{
	struct target *t = *state;

	put(t, AT_VERSION, 0x030e00c3);
	assert_refused(t, OUT_UNKNOWN);
	assert_int_equal(t->version, 0x030e00c3);
}

static void says_not_yet_without_the_cookie(void **state)
{
	struct target *t = *state;

	fakemem_put_u8(&t->fm, RUNTIME, 'X');
	assert_refused(t, OUT_NOT_YET);
	assert_int_equal(t->version, 77);
}

static void passes_on_what_reading_came_to(void **state)
{
	struct target *t = *state;

	t->fm.fail = OUT_GONE;
	assert_refused(t, OUT_GONE);
	t->fm.fail = 0;
	fakemem_unmap(&t->fm, RUNTIME + TABLE_314_BYTES - 1, 1);
	assert_refused(t, OUT_TORN);
	assert_int_equal(t->version, 77);
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, target_setup, target_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			has_a_row_for_2_7_and_each_version_from_3_6_to_3_15),
		cmocka_unit_test(never_takes_a_neighbours_row),
		cmocka_unit_test(stays_within_what_readers_have_room_for),
		cmocka_unit_test(knows_how_each_version_links_its_frames),
		cmocka_unit_test(
			knows_which_versions_point_to_the_stack_of_an_evaluation),
		cmocka_unit_test(knows_where_the_older_versions_have_things),
		cmocka_unit_test(moves_the_strings_bits_in_free_threaded_3_14),
		WITH_TARGET(reads_its_own_version_to_the_row_of_it),
		WITH_TARGET(believes_the_target_more_than_the_row),
		WITH_TARGET(does_not_mind_structures_that_grew),
		WITH_TARGET(moves_all_string_headers_with_the_first),
		WITH_TARGET(starts_from_the_free_threaded_row_where_it_is_one),
		WITH_TARGET(refuses_a_field_beyond_its_structure),
		WITH_TARGET(refuses_a_field_beyond_what_readers_have_room_for),
		WITH_TARGET(refuses_offsets_that_wrap_around),
		WITH_TARGET(refuses_a_string_header_longer_than_the_string),
		WITH_TARGET(refuses_a_gil_outside_of_itself),
		WITH_TARGET(refuses_versions_without_a_row_by_their_number),
		WITH_TARGET(refuses_pre_releases),
		WITH_TARGET(says_not_yet_without_the_cookie),
		WITH_TARGET(passes_on_what_reading_came_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
