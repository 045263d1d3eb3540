/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "linux/kframes.h"

struct record {
	struct kframes_head head;
	struct kframes_frame frames[3];
};

static struct record example(void)
{
	return (struct record){
		.head = { .time_ns = 1000,
			  .cpu_ns = 500,
			  .tstate = 0x7f0000001000,
			  .pid = 42,
			  .tid = 43,
			  .generation = 7,
			  .status = KFRAMES_WHOLE,
			  .n = 2,
			  .gil = KFRAMES_GIL_HELD,
			  .cpu = 3 },
		.frames = { { .code = 0x1000, .instr = 0x1010, .check = 1 },
			    { .code = 0x2000, .instr = 0x2020, .check = 2 } },
	};
}

static size_t size_with(size_t frames)
{
	return offsetof(struct record, frames) +
	       frames * sizeof(struct kframes_frame);
}

static void decodes_a_sample_with_its_frames(void **state)
{
	struct record record = example();
	struct kframes_sample sample;

	(void)state;
	assert_int_equal(kframes_decode(&record, size_with(2), &sample), 1);
	assert_int_equal(sample.time_ns, 1000);
	assert_int_equal(sample.cpu_ns, 500);
	assert_int_equal(sample.tstate, 0x7f0000001000);
	assert_int_equal(sample.pid, 42);
	assert_int_equal(sample.tid, 43);
	assert_int_equal(sample.cpu, 3);
	assert_int_equal(sample.generation, 7);
	assert_int_equal(sample.gil, KFRAMES_GIL_HELD);
	assert_int_equal(sample.n, 2);
	assert_int_equal(sample.frames[1].code, 0x2000);
	assert_int_equal(sample.frames[1].check, 2);
}

static void decodes_a_failure_without_frames(void **state)
{
	struct record record = example();
	struct kframes_sample sample;

	(void)state;
	record.head.status = KFRAMES_UNREAD;
	record.head.n = 0;
	assert_int_equal(kframes_decode(&record, size_with(0), &sample), 1);
	assert_int_equal(sample.status, KFRAMES_UNREAD);
	assert_int_equal(sample.n, 0);
}

static void refuses_a_record_that_ends_before_its_frames(void **state)
{
	struct record record = example();
	struct kframes_sample sample;

	(void)state;
	for (size_t len = 0; len < size_with(2); len++)
		assert_int_equal(kframes_decode(&record, len, &sample), 0);
}

static void refuses_what_the_program_never_writes(void **state)
{
	struct record records[7];
	struct kframes_sample sample;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		records[i] = example();
	records[0].head.status = KFRAMES_STATUSES;
	records[1].head.status = KFRAMES_TORN; /* and frames all the same */
	records[2].head.n = KFRAMES_MAX + 1;
	records[3].head.pid = 0;
	records[4].head.tid = 0;
	records[5].head.pid = 0x80000000u;
	records[6].head.tid = 0xffffffffu;
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(
			kframes_decode(&records[i], sizeof(*records), &sample),
			0);
}

static void takes_a_lock_state_that_it_does_not_know_for_unknown(void **state)
{
	struct record record = example();
	struct kframes_sample sample;

	(void)state;
	record.head.gil = 99;
	assert_int_equal(kframes_decode(&record, size_with(2), &sample), 1);
	assert_int_equal(sample.gil, KFRAMES_GIL_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_a_sample_with_its_frames),
		cmocka_unit_test(decodes_a_failure_without_frames),
		cmocka_unit_test(refuses_a_record_that_ends_before_its_frames),
		cmocka_unit_test(refuses_what_the_program_never_writes),
		cmocka_unit_test(
			takes_a_lock_state_that_it_does_not_know_for_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
