/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#include "pasttest.h"
#include "profile/protobuf.h"
#include "prototest.h"
#include "viewtest.h"

/* --- a profile, written, unpacked, and told in words */

struct fixture {
	struct past past;
	struct query query;
	struct out_options options;
	struct str zipped, plain;
	struct bytes profile;
	struct str text;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->query = QUERY_ALL;
	f->options = (struct out_options){ .value = OUT_WALL };
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	past_free(&f->past);
	str_free(&f->zipped);
	str_free(&f->plain);
	str_free(&f->text);
	free(f);
	return 0;
}

static void unzip(const struct str *from, struct str *to)
{
	char room[4096];
	z_stream z = { 0 };
	int r;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)from->at;
	z.avail_in = (uInt)from->len;
	do {
		z.next_out = (Bytef *)room;
		z.avail_out = sizeof(room);
		r = inflate(&z, Z_NO_FLUSH);
		assert_true(r == Z_OK || r == Z_STREAM_END);
		str_add(to, room, sizeof(room) - z.avail_out);
	} while (r != Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(inflateEnd(&z), Z_OK);
}

static void make(struct fixture *f)
{
	str_clear(&f->zipped);
	str_clear(&f->plain);
	str_clear(&f->text);
	assert_int_equal(out_pprof(f->past.h, &f->query, &f->options,
				   view_write, &f->zipped),
			 0);
	unzip(&f->zipped, &f->plain);
	f->profile = (struct bytes){ f->plain.at, f->plain.len };
}

static void add_string(struct fixture *f, uint64_t number)
{
	struct bytes rest = f->profile;
	struct field field = { 0 };

	while (take_field(&rest, &field))
		if (field.number == 6 && !number--)
			break;
	assert_int_equal(field.number, 6);
	str_add(&f->text, field.bytes.at, field.bytes.len);
}

/* The message of field @kind whose id, field 1, is @id. */
static struct bytes by_id(struct fixture *f, unsigned kind, uint64_t id)
{
	struct bytes rest = f->profile;
	struct bytes found = { 0 };
	struct field field;

	while (take_field(&rest, &field)) {
		if (field.number != kind || number_of(field.bytes, 1) != id)
			continue;
		assert_null(found.at);
		found = field.bytes;
	}
	assert_non_null(found.at);
	return found;
}

/* ` FUNCTION FILE:LINE` */
static void add_location(struct fixture *f, uint64_t id)
{
	struct bytes location = by_id(f, 4, id);
	struct bytes function;
	struct field line;

	assert_int_equal(number_of(location, 2), 1);
	assert_true(find(location, 4, &line));
	function = by_id(f, 5, number_of(line.bytes, 1));
	str_puts(&f->text, " ");
	add_string(f, number_of(function, 2));
	str_puts(&f->text, " ");
	add_string(f, number_of(function, 4));
	str_printf(&f->text, ":%" PRIu64, number_of(line.bytes, 2));
}

static void add_label(struct fixture *f, struct bytes label)
{
	str_puts(&f->text, " ");
	add_string(f, number_of(label, 1));
	str_puts(&f->text, "=");
	if (number_of(label, 2))
		add_string(f, number_of(label, 2));
	else
		str_printf(&f->text, "%" PRIu64, number_of(label, 3));
}

/* `VALUE VALUE ...: FUNCTION FILE:LINE ... | KEY=VALUE ...` and a newline. */
static void add_sample(struct fixture *f, struct bytes sample, bool labels)
{
	struct field field;

	assert_true(find(sample, 2, &field));
	while (field.bytes.len)
		str_printf(&f->text, "%" PRIu64 " ", take_varint(&field.bytes));
	str_puts(&f->text, ":");
	assert_true(find(sample, 1, &field));
	while (field.bytes.len)
		add_location(f, take_varint(&field.bytes));
	str_puts(&f->text, labels ? " |" : "");
	while (take_field(&sample, &field))
		if (labels && field.number == 3)
			add_label(f, field.bytes);
	str_puts(&f->text, "\n");
}

static void add_samples(struct fixture *f, bool labels)
{
	struct bytes rest = f->profile;
	struct field field;

	while (take_field(&rest, &field))
		if (field.number == 2)
			add_sample(f, field.bytes, labels);
}

/* `TYPE/UNIT ` of each field of that number. */
static void add_types(struct fixture *f, unsigned number)
{
	struct bytes rest = f->profile;
	struct field field;

	while (take_field(&rest, &field)) {
		if (field.number != number)
			continue;
		add_string(f, number_of(field.bytes, 1));
		str_puts(&f->text, "/");
		add_string(f, number_of(field.bytes, 2));
		str_puts(&f->text, " ");
	}
}

static void add_up(struct fixture *f, uint64_t sums[4])
{
	struct bytes rest = f->profile;
	struct field field, values;

	memset(sums, 0, 4 * sizeof(*sums));
	while (take_field(&rest, &field)) {
		if (field.number != 2)
			continue;
		assert_true(find(field.bytes, 2, &values));
		for (size_t i = 0; values.bytes.len; i++) {
			assert_true(i < 4);
			sums[i] += take_varint(&values.bytes);
		}
	}
}

static bool has(const struct fixture *f, const char *text)
{
	return strstr(f->text.at, text);
}

/* --- histories */

#define MS PAST_MS

static uint32_t tell_thread(struct maker *m, int32_t pid, const char *command,
			    const char *name)
{
	uint32_t process = maker_process(m, HISTORY_NONE, pid, 0);
	uint32_t image = maker_image(m, process, 0, command, "3.11.2");

	return maker_thread(m, process, image, pid, 0, name);
}

/* Two processes of one command with the same stack, and another thread. */
static void tell_pool(struct fixture *f)
{
	struct maker m = { 0 };
	uint32_t stack;

	maker_begin(&m, "host", PAST_UNIX_NS);
	stack = maker_stack(&m, "a.py:main:3;a.py:work:7");
	maker_busy(&m, tell_thread(&m, 11, "p", "Main"), 0, 100, stack);
	maker_busy(&m, tell_thread(&m, 12, "p", NULL), 0, 300, stack);
	maker_idle(&m, tell_thread(&m, 13, "q", "Main"), 100, 50, stack,
		   WAIT_LOCK);
	maker_flush(&m, 500);
	past_take(&f->past, &m);
}

/* --- tests */

static void has_a_sample_for_each_stack_of_each_thread(void **state)
{
	struct fixture *f = *state;

	tell_pool(f);
	make(f);
	add_samples(f, true);
	assert_string_equal(
		f->text.at,
		"10 100000000 100000000 100000000 : work a.py:7 main a.py:3 | "
		"pid=11 tid=11 thread=Main process=p python=3.11.2 host=host\n"
		"30 300000000 300000000 300000000 : work a.py:7 main a.py:3 | "
		"pid=12 tid=12 thread=12 process=p python=3.11.2 host=host\n"
		"5 0 50000000 0 : work a.py:7 main a.py:3 | "
		"pid=13 tid=13 thread=Main process=q python=3.11.2 "
		"host=host\n");
}

static void makes_one_of_processes_that_are_merged(void **state)
{
	struct fixture *f = *state;

	tell_pool(f);
	f->query.group = GROUP_ROLE;
	make(f);
	add_samples(f, true);
	assert_string_equal(
		f->text.at,
		"40 400000000 400000000 400000000 : work a.py:7 main a.py:3 | "
		"process=p python=3.11.2 host=host\n"
		"5 0 50000000 0 : work a.py:7 main a.py:3 | "
		"process=q python=3.11.2 host=host\n");
	f->query.group = GROUP_ALL;
	make(f);
	add_samples(f, true);
	assert_string_equal(f->text.at,
			    "45 400000000 450000000 400000000 : "
			    "work a.py:7 main a.py:3 | host=host\n");
}

static void adds_up_to_the_history(void **state)
{
	struct fixture *f = *state;
	uint64_t sums[4];

	past_small(&f->past);
	make(f);
	add_up(f, sums);
	assert_int_equal(sums[0], 870);
	assert_int_equal(sums[1], 3400 * MS);
	assert_int_equal(sums[2], 8900 * MS);
	assert_int_equal(sums[3], 3100 * MS);
}

static void tells_types_units_and_times(void **state)
{
	struct fixture *f = *state;

	past_small(&f->past);
	f->options.value = OUT_CPU;
	make(f);
	add_types(f, 1);
	assert_string_equal(f->text.at, "samples/count cpu/nanoseconds "
					"wall/nanoseconds gil/nanoseconds ");
	str_clear(&f->text);
	add_types(f, 11);
	assert_string_equal(f->text.at, "wall/nanoseconds ");
	str_clear(&f->text);
	add_string(f, number_of(f->profile, 14));
	assert_string_equal(f->text.at, "cpu");
	assert_int_equal(number_of(f->profile, 9), PAST_UNIX_NS);
	assert_int_equal(number_of(f->profile, 10), 2000 * MS);
	assert_int_equal(number_of(f->profile, 12), 10 * MS);
}

static void tells_the_time_that_was_asked_for(void **state)
{
	struct fixture *f = *state;
	uint64_t sums[4];

	tell_pool(f);
	f->query.since_ns = 50 * MS;
	f->query.until_ns = 150 * MS;
	make(f);
	add_up(f, sums);
	assert_int_equal(sums[2], (50 + 100 + 50) * MS);
	assert_int_equal(number_of(f->profile, 9), PAST_UNIX_NS + 50 * MS);
	assert_int_equal(number_of(f->profile, 10), 100 * MS);
}

static void has_no_lock_where_none_is_known(void **state)
{
	struct fixture *f = *state;
	struct maker m = { 0 };
	struct slice slice = { .weight = { .wall_ns = 5, .samples = 1 } };

	maker_begin(&m, "host", PAST_UNIX_NS);
	slice.thread = tell_thread(&m, 11, "p", NULL);
	slice.seen.stack = maker_stack(&m, "a.py:main:3");
	maker_slice(&m, &slice);
	maker_flush(&m, 500);
	past_take(&f->past, &m);
	make(f);
	add_types(f, 1);
	assert_string_equal(f->text.at,
			    "samples/count cpu/nanoseconds wall/nanoseconds ");
	str_clear(&f->text);
	add_samples(f, false);
	assert_string_equal(f->text.at, "1 0 5 : main a.py:3\n");
}

static void gives_a_frame_to_time_outside_of_frames(void **state)
{
	struct fixture *f = *state;

	past_small(&f->past);
	make(f);
	add_samples(f, false);
	assert_true(has(f, "20 0 200000000 0 : "
			   "(outside of Python frames) :0\n"));
}

static void shows_the_stacks_that_the_query_wants(void **state)
{
	struct fixture *f = *state;

	tell_pool(f);
	f->query.group = GROUP_ALL;
	f->query.frames = FRAMES_FUNCTIONS;
	make(f);
	add_samples(f, false);
	assert_true(has(f, ": work a.py:0 main a.py:0\n"));
	f->query.frames = FRAMES_FILES;
	make(f);
	add_samples(f, false);
	assert_true(has(f, ": a.py a.py:0\n"));
}

/* Of the strings: 0 is "", all are UTF-8 without controls. */
static void has_strings_that_are_safe_to_print(void **state)
{
	struct fixture *f = *state;
	struct bytes rest;
	struct field field;
	size_t n = 0;

	past_small(&f->past);
	f->options.title = "a\n\xff";
	make(f);
	rest = f->profile;
	while (take_field(&rest, &field)) {
		if (field.number != 6)
			continue;
		assert_int_equal(!n, !field.bytes.len);
		str_escape(&f->text, field.bytes.at, field.bytes.len, "");
		str_puts(&f->text, "\n");
		for (size_t i = 0; i < field.bytes.len; i++)
			assert_true((unsigned char)field.bytes.at[i] >= ' ');
		n++;
	}
	assert_true(has(f, "a\\\\n\\\\xff\n"));
	assert_true(has(f, "\nfeeder;<x>:\\\\x1b\\\\xff\n"));
	assert_true(has(f, "\nna\xc3\xafve\\\\u202e\n"));
}

/* pprof takes names for those of C++ where this field repeats the name. */
static void has_no_system_names(void **state)
{
	struct fixture *f = *state;
	struct bytes rest;
	struct field field;

	past_small(&f->past);
	make(f);
	rest = f->profile;
	while (take_field(&rest, &field))
		if (field.number == 5)
			assert_int_equal(number_of(field.bytes, 3), 0);
}

static void tells_hosts_apart(void **state)
{
	struct fixture *f = *state;
	struct maker m = { 0 };

	maker_small(&m, "one", PAST_UNIX_NS + 1000 * MS);
	past_take(&f->past, &m);
	m = (struct maker){ 0 };
	maker_small(&m, "two", PAST_UNIX_NS);
	past_take(&f->past, &m);
	make(f);
	add_samples(f, true);
	assert_true(has(f, " host=one\n"));
	assert_true(has(f, " host=two\n"));
	assert_int_equal(number_of(f->profile, 9), PAST_UNIX_NS);
	assert_int_equal(number_of(f->profile, 10), 3000 * MS);
}

static void passes_on_what_the_writer_says(void **state)
{
	struct fixture *f = *state;

	tell_pool(f);
	assert_int_equal(
		out_pprof(f->past.h, &f->query, &f->options, view_refuse, NULL),
		-28);
}

static void writes_numbers_as_varints(void **state)
{
	struct fixture *f = *state;
	const uint64_t values[] = { 1, 300 };

	protobuf_number(&f->text, 1, 0);
	assert_int_equal(f->text.len, 0);
	protobuf_number(&f->text, 1, 150);
	protobuf_number(&f->text, 16, UINT64_MAX);
	protobuf_numbers(&f->text, 4, values, 2);
	protobuf_bytes(&f->text, 2, "hi", 2);
	protobuf_bytes(&f->text, 2, "", 0);
	assert_int_equal(f->text.len, 3 + 12 + 5 + 4 + 2);
	assert_memory_equal(f->text.at,
			    "\x08\x96\x01"
			    "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			    "\x22\x03\x01\xac\x02"
			    "\x12\x02hi"
			    "\x12\x00",
			    f->text.len);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(has_a_sample_for_each_stack_of_each_thread),
		TEST(makes_one_of_processes_that_are_merged),
		TEST(adds_up_to_the_history),
		TEST(tells_types_units_and_times),
		TEST(tells_the_time_that_was_asked_for),
		TEST(has_no_lock_where_none_is_known),
		TEST(gives_a_frame_to_time_outside_of_frames),
		TEST(shows_the_stacks_that_the_query_wants),
		TEST(has_strings_that_are_safe_to_print),
		TEST(has_no_system_names),
		TEST(tells_hosts_apart),
		TEST(passes_on_what_the_writer_says),
		TEST(writes_numbers_as_varints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
