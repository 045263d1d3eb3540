/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <zlib.h>

#include "recordtest.h"

/* --- there and back --------------------------------------------------------- */

static void reads_back_what_was_told(void **state)
{
	struct told t;

	(void)state;
	for (int codec = RECORDER_PLAIN; codec <= RECORDER_ZSTD; codec++) {
		told_begin(&t, (enum recorder_codec)codec);
		tell_a_life(&t);
		expect(&t.file, ALL, RECORDING_WHOLE, a_life);
		told_end(&t);
	}
}

static void hands_out_only_what_is_wanted(void **state)
{
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	tell_a_life(&t);
	expect(&t.file, 1u << RECORD_THREAD_END | 1u << RECORD_NOTE,
	       RECORDING_WHOLE, "thread 1 ends 45000000\nnote 1 46000000 3\n");
	expect(&t.file, 0, RECORDING_WHOLE, "");
	told_end(&t);
}

static int stop_at_thread(void *ctx, const struct record *record)
{
	++*(int *)ctx;
	return record->kind == RECORD_THREAD ? 42 : 0;
}

static void stops_when_it_is_told_to_and_begins_anew(void **state)
{
	struct recording_reader *reader;
	struct told t;
	int n = 0;

	(void)state;
	told_begin(&t, RECORDER_PLAIN);
	tell_a_life(&t);
	assert_int_equal(
		recording_open(&reader, file_at(&t.file), t.file.bytes.n), 0);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(recording_read(reader, ALL, stop_at_thread, &n,
						NULL, NULL),
				 42);
		assert_int_equal(n, 11 * i);
	}
	recording_close(reader);
	told_end(&t);
}

/* --- damage ----------------------------------------------------------------- */

static int begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The whole, whatever @codec, cut at each byte. */
static void cut_everywhere(enum recorder_codec codec)
{
	struct told t;
	size_t whole = 0;

	told_begin(&t, codec);
	tell_a_life(&t);
	for (size_t len = 0; len < t.file.bytes.n; len++) {
		struct result result = read_kinds(file_at(&t.file), len, ALL);

		if (whole < t.file.n_blocks && len >= t.file.blocks[whole])
			whole++;
		if (len < WIRE_FILE_SIZE) {
			assert_int_equal(result.opened, -EINVAL);
		} else {
			size_t good = whole ? t.file.blocks[whole - 1]
					    : WIRE_FILE_SIZE;

			assert_int_equal(result.opened, 0);
			assert_int_equal(result.good, good);
			assert_int_equal(result.end, len == good
							     ? RECORDING_RUNNING
							     : RECORDING_CUT);
			assert_true(begins_with(a_life, result.text.at));
			assert_int_equal(result.text.len > 0, whole > 0);
		}
		result_free(&result);
	}
	assert_int_equal(whole, 2);
	told_end(&t);
}

static void reads_up_to_the_last_whole_block_wherever_it_is_cut(void **state)
{
	(void)state;
	cut_everywhere(RECORDER_PLAIN);
	cut_everywhere(RECORDER_ZLIB);
	cut_everywhere(RECORDER_ZSTD);
}

static void finds_each_bit_that_is_flipped(void **state)
{
	struct told t;

	(void)state;
	told_begin(&t, RECORDER_ZLIB);
	tell_a_life(&t);
	for (size_t bit = 0; bit < t.file.bytes.n * 8; bit++) {
		uint8_t *byte = &t.file.bytes.at[bit / 8];
		struct result result;

		*byte ^= (uint8_t)(1u << bit % 8);
		result = read_kinds(file_at(&t.file), t.file.bytes.n, ALL);
		if (bit < WIRE_FILE_SIZE * 8) {
			assert_int_equal(result.opened, -EINVAL);
		} else {
			assert_int_equal(result.opened, 0);
			assert_true(result.end == RECORDING_DAMAGED ||
				    result.end == RECORDING_CUT);
			assert_true(result.good <= bit / 8);
			assert_true(begins_with(a_life, result.text.at));
		}
		result_free(&result);
		*byte ^= (uint8_t)(1u << bit % 8);
	}
	told_end(&t);
}

/* --- files made by hand ----------------------------------------------------- */

/* A plain file of one block. */
static struct result read_block(const void *plain, size_t n)
{
	struct bytes file = { 0 };
	struct result result;

	assert_true(block_put_header(&file, WIRE_PLAIN));
	assert_true(block_pack(&file, plain, n, WIRE_PLAIN));
	result = read_kinds((const char *)file.at, file.n, ALL);
	assert_int_equal(result.opened, 0);
	vec_free(&file);
	return result;
}

/* A string, a run, a process, an image, a thread, a frame and a stack. */
#define SOME                                           \
	"\x02\x01s"                                    \
	"\x01\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00" \
	"\x05\x08\x00\x00\x00\x00\x00\x00\x00\x00"     \
	"\x06\x04\x00\x00\x00\x00"                     \
	"\x07\x04\x00\x00\x00\x00"                     \
	"\x03\x03\x00\x00\x00"                         \
	"\x04\x02\x00\x00"
#define SOME_TEXT                                      \
	"string s\n"                                   \
	"run 0 0 0 cpus 0: 0 0 0 0 0\n"                \
	"process 0 (0) of -1, 0 uid 0 ns 0 cgroup 0\n" \
	"image of 0 0 0 0\n"                           \
	"thread 0 of 0 0 0\n"                          \
	"frame 0 0 0\n"                                \
	"stack 0 0\n"

/* SOME, and then @more: what comes of it. */
#define AFTER_SOME(more) read_block(SOME more, sizeof(SOME more) - 1)

static void skips_records_that_it_does_not_know(void **state)
{
	struct result result =
		AFTER_SOME("\x7f\x03xyz\x00\x00\x12\x00\x10\x01\x05");

	(void)state;
	assert_string_equal(result.text.at, SOME_TEXT "time 5\n");
	assert_int_equal(result.end, RECORDING_RUNNING);
	result_free(&result);
}

static void ignores_fields_that_it_does_not_know(void **state)
{
	struct result result = AFTER_SOME("\x10\x03\x05\xff\xff");

	(void)state;
	assert_string_equal(result.text.at, SOME_TEXT "time 5\n");
	assert_int_equal(result.end, RECORDING_RUNNING);
	result_free(&result);
}

static void decodes_a_slice_by_its_flags(void **state)
{
	/* All written out; then nothing but wall time; then CPU time in each way. */
	struct result result = AFTER_SOME("\xef\x00\x0e\x29\x02\x64\x32\x03"
					  "\x80\x05"
					  "\x90\x05"
					  "\xb0\x05\x02");

	(void)state;
	assert_string_equal(result.text.at, SOME_TEXT
			    "slice 0 7 stack 1 1/2/2 weight 100 50 3\n"
			    "slice 0 107 stack 1 1/2/2 weight 5 0 1\n"
			    "slice 0 112 stack 1 1/2/2 weight 5 5 1\n"
			    "slice 0 117 stack 1 1/2/2 weight 5 4 1\n");
	result_free(&result);
}

static void takes_a_reason_to_wait_that_is_new_for_another(void **state)
{
	struct result result = AFTER_SOME("\x84\xf0\x05");

	(void)state;
	assert_string_equal(result.text.at, SOME_TEXT
			    "slice 0 0 stack 0 0/0/10 weight 5 0 1\n");
	assert_int_equal(WAIT_OTHER, 10);
	result_free(&result);
}

/* Each of them cannot be, after SOME. */
static const struct {
	const char *bytes;
	size_t n;
	const char *why;
} senseless[] = {
#define ROW(bytes, why)                       \
	{                                     \
		bytes, sizeof(bytes) - 1, why \
	}
	ROW("\x01\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00", "a second run"),
	ROW("\x03\x03\x01\x00\x00", "a frame without its function"),
	ROW("\x03\x03\x00\x01\x00", "a frame without its file"),
	ROW("\x03\x02\x00\x00", "a frame that is too short"),
	ROW("\x03\x07\x00\x00\xff\xff\xff\xff\x7f", "a line beyond 32 bits"),
	ROW("\x04\x02\x02\x00", "a stack without its parent"),
	ROW("\x04\x02\x00\x01", "a stack without its frame"),
	ROW("\x05\x08\x02\x00\x00\x00\x00\x00\x00\x00", "no such parent"),
	ROW("\x05\x08\x00\x00\x00\x00\x00\x00\x01\x00", "no such cgroup"),
	ROW("\x06\x04\x01\x00\x00\x00", "an image of no process"),
	ROW("\x06\x04\x00\x00\x01\x00", "an image without its command"),
	ROW("\x06\x04\x00\x00\x00\x01", "an image without its version"),
	ROW("\x07\x04\x01\x00\x00\x00", "a thread of no process"),
	ROW("\x07\x04\x00\x01\x00\x00", "a thread of no image"),
	ROW("\x08\x02\x01\x00", "the version of no image"),
	ROW("\x08\x02\x00\x01", "no such version"),
	ROW("\x09\x02\x01\x00", "the name of no thread"),
	ROW("\x09\x02\x00\x01", "no such name"),
	ROW("\x0b\x04\x01\x00\x00\x00", "no thread stands"),
	ROW("\x0b\x04\x00\x00\x03\x00", "stands in no state"),
	ROW("\x0b\x04\x00\x00\x00\x02", "stands on no stack"),
	ROW("\x0c\x02\x01\x00", "no thread ends"),
	ROW("\x0d\x05\x01\x00\x00\x00\x00", "no process ends"),
	ROW("\x10\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "after time"),
	ROW("\x10\x02\x05", "longer than its block"),
	ROW("\x10\x01\x80", "a number longer than its record"),
	ROW("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05", "endless"),
	ROW("\x10", "without a length"),
	ROW("\x81\x02\x05", "a slice of no thread"),
	ROW("\x81\x01\x05", "a slice of a thread below the first"),
	ROW("\x82\x01\x05", "a slice before the run"),
	ROW("\x84\x03\x05", "a slice in no state"),
	ROW("\x88\x04\x05", "a slice on no stack"),
	ROW("\x88\x01\x05", "a slice on a stack below the empty one"),
	ROW("\x80", "a slice without weight"),
	ROW("\xb0\x05\x0c", "less CPU time than none"),
	ROW("\xc0\x05", "a slice that is too short"),
#undef ROW
};

static void takes_what_makes_no_sense_for_damage(void **state)
{
	uint8_t plain[256];

	(void)state;
	for (size_t i = 0; i < sizeof(senseless) / sizeof(*senseless); i++) {
		struct result result;

		memcpy(plain, SOME, sizeof(SOME) - 1);
		memcpy(plain + sizeof(SOME) - 1, senseless[i].bytes,
		       senseless[i].n);
		result = read_block(plain, sizeof(SOME) - 1 + senseless[i].n);
		if (result.end != RECORDING_DAMAGED ||
		    result.good != WIRE_FILE_SIZE ||
		    strcmp(result.text.at, SOME_TEXT) != 0)
			fail_msg("%s: %s", senseless[i].why, result.text.at);
		result_free(&result);
	}
}

static void wants_the_run_before_all_but_names(void **state)
{
	struct result result = read_block("\x02\x01s\x10\x01\x05", 6);

	(void)state;
	assert_string_equal(result.text.at, "string s\n");
	assert_int_equal(result.end, RECORDING_DAMAGED);
	result_free(&result);
}

/* --- headers ---------------------------------------------------------------- */

/* What opening says with byte @at of the header as @value, and its sum right. */
static int open_changed(size_t at, uint8_t value)
{
	struct recording_reader *reader = NULL;
	struct bytes file = { 0 };
	int r;

	assert_true(block_put_header(&file, WIRE_PLAIN));
	file.at[at] = value;
	wire_put32(file.at + WIRE_FILE_CRC,
		   (uint32_t)crc32(0, file.at, WIRE_FILE_CRC));
	r = recording_open(&reader, (const char *)file.at, file.n);
	recording_close(reader);
	vec_free(&file);
	return r;
}

static void says_which_files_it_cannot_read(void **state)
{
	(void)state;
	assert_int_equal(open_changed(WIRE_FILE_VERSION, 1), 0);
	assert_int_equal(open_changed(0, 'x'), -EINVAL);
	assert_int_equal(open_changed(WIRE_FILE_VERSION, 2), -ENOTSUP);
	assert_int_equal(open_changed(WIRE_FILE_VERSION + 1, 1), -ENOTSUP);
	assert_int_equal(open_changed(WIRE_FILE_CODEC, 99), -ENOTSUP);
}

/* A block that claims these sizes, its sum right: how its file ends. */
static enum recording_end end_of_claim(uint32_t stored, uint32_t plain,
				       uint8_t codec, size_t really)
{
	struct bytes file = { 0 };
	struct result result;
	enum recording_end end;
	uint8_t *at;

	assert_true(block_put_header(&file, WIRE_ZLIB));
	assert_true(vec_reserve(&file, WIRE_BLOCK_SIZE + really));
	at = file.at + file.n;
	memset(at, 0, WIRE_BLOCK_SIZE + really);
	wire_put32(at + WIRE_BLOCK_STORED, stored);
	wire_put32(at + WIRE_BLOCK_PLAIN, plain);
	at[WIRE_BLOCK_CODEC] = codec;
	wire_put32(at, (uint32_t)crc32(0, at + 4,
				       (uInt)(WIRE_BLOCK_SIZE - 4 + really)));
	file.n += WIRE_BLOCK_SIZE + really;
	result = read_kinds((const char *)file.at, file.n, ALL);
	assert_int_equal(result.opened, 0);
	assert_string_equal(result.text.at, "");
	end = result.end;
	result_free(&result);
	vec_free(&file);
	return end;
}

static void believes_no_size_that_a_block_claims(void **state)
{
	(void)state;
	/* Records of kind 0 and length 0: all is well with these. */
	assert_int_equal(end_of_claim(8, 8, WIRE_PLAIN, 8), RECORDING_RUNNING);
	assert_int_equal(end_of_claim(8, 9, WIRE_PLAIN, 8), RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(9, 8, WIRE_PLAIN, 9), RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(0, 0, WIRE_PLAIN, 0), RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(8, WIRE_PLAIN_MAX + 1, WIRE_ZLIB, 8),
			 RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(8, UINT32_MAX, WIRE_ZLIB, 8),
			 RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(UINT32_MAX, UINT32_MAX, WIRE_PLAIN, 8),
			 RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(9, 9, WIRE_PLAIN, 8), RECORDING_CUT);
	/* No zlib stream; a codec that is not the file's. */
	assert_int_equal(end_of_claim(8, 100, WIRE_ZLIB, 8), RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(8, 100, WIRE_ZSTD, 8), RECORDING_DAMAGED);
	assert_int_equal(end_of_claim(8, 8, 99, 8), RECORDING_DAMAGED);
}

/* Does a block of 1000 bytes read, with its sum made right after a change? */
static bool unpacks(struct bytes *block)
{
	struct block_room room = { 0 };
	struct block ret;
	int r;

	wire_put32(block->at,
		   (uint32_t)crc32(0, block->at + 4, (uInt)block->n - 4));
	r = block_unpack(&room, block->at, block->n, WIRE_ZLIB, &ret);
	if (r == 0)
		assert_int_equal(ret.n, 1000);
	block_room_free(&room);
	return r == 0;
}

static void refuses_a_block_that_is_not_what_it_says(void **state)
{
	uint8_t plain[1000] = { 0 };
	struct bytes bytes = { 0 };

	(void)state;
	assert_true(block_pack(&bytes, plain, sizeof(plain), WIRE_ZLIB));
	assert_true(bytes.n < 100);
	for (uint32_t claim = 990; claim < 1010; claim++) {
		wire_put32(bytes.at + WIRE_BLOCK_PLAIN, claim);
		assert_int_equal(unpacks(&bytes), claim == 1000);
	}
	wire_put32(bytes.at + WIRE_BLOCK_PLAIN, 1000);
	bytes.at[WIRE_BLOCK_CODEC] = WIRE_CODECS;
	assert_false(unpacks(&bytes));
	bytes.at[WIRE_BLOCK_CODEC] = WIRE_ZLIB;
	assert_true(unpacks(&bytes));
	/* A byte behind the end of the stream. */
	assert_true(vec_push(&bytes, 0));
	wire_put32(bytes.at + WIRE_BLOCK_STORED,
		   (uint32_t)(bytes.n - WIRE_BLOCK_SIZE));
	assert_false(unpacks(&bytes));
	vec_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_was_told),
		cmocka_unit_test(hands_out_only_what_is_wanted),
		cmocka_unit_test(stops_when_it_is_told_to_and_begins_anew),
		cmocka_unit_test(
			reads_up_to_the_last_whole_block_wherever_it_is_cut),
		cmocka_unit_test(finds_each_bit_that_is_flipped),
		cmocka_unit_test(skips_records_that_it_does_not_know),
		cmocka_unit_test(ignores_fields_that_it_does_not_know),
		cmocka_unit_test(decodes_a_slice_by_its_flags),
		cmocka_unit_test(
			takes_a_reason_to_wait_that_is_new_for_another),
		cmocka_unit_test(takes_what_makes_no_sense_for_damage),
		cmocka_unit_test(wants_the_run_before_all_but_names),
		cmocka_unit_test(says_which_files_it_cannot_read),
		cmocka_unit_test(believes_no_size_that_a_block_claims),
		cmocka_unit_test(refuses_a_block_that_is_not_what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
