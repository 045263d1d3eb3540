/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "linux/oncpu.h"

static void feed(struct oncpu *o, enum perf_kind kind, pid_t tid, uint32_t cpu,
		 uint64_t time_ns)
{
	struct perf_record record = { .kind = kind,
				      .pid = tid,
				      .tid = tid,
				      .cpu = cpu,
				      .time_ns = time_ns };

	oncpu_feed(o, &record);
}

static void knows_who_is_on_a_cpu(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	assert_true(oncpu_find(o, 7)->on);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	assert_false(oncpu_find(o, 7)->on);
	assert_false(oncpu_find(o, 7)->away);
	assert_int_equal(oncpu_find(o, 7)->out_ns, 150);
	assert_int_equal(oncpu_find(o, 7)->cpu_ns, 50);
	assert_null(oncpu_find(o, 8));
	oncpu_close(o);
}

static void tells_one_pushed_aside_from_one_asleep(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_AWAY, 7, 0, 150);
	assert_true(oncpu_find(o, 7)->away);
	assert_false(oncpu_find(o, 7)->on);
	oncpu_close(o);
}

/* The ring of CPU 1 is read before that of CPU 0, which has the older record. */
static void orders_records_of_two_cpus_by_time(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 1, 300);
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_AWAY, 7, 0, 200);
	assert_true(oncpu_find(o, 7)->on);
	assert_int_equal(oncpu_find(o, 7)->in_ns, 300);
	assert_int_equal(oncpu_find(o, 7)->cpu_ns, 100);
	oncpu_close(o);
}

static void counts_each_record_of_a_thread(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	feed(o, PERF_SWITCH_IN, 8, 0, 150);
	assert_int_equal(oncpu_find(o, 7)->records, 2);
	assert_int_equal(oncpu_find(o, 8)->records, 1);
	assert_int_equal(oncpu_records(o), 3);
	oncpu_close(o);
}

/* The table moves its last entry to where another was taken out. */
static void finds_those_on_a_cpu_when_the_table_has_moved(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_IN, 8, 1, 100);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	oncpu_forget(o, 7, 150);
	feed(o, PERF_SWITCH_IN, 9, 0, 160); /* where 8 was */
	feed(o, PERF_SWITCH_OUT, 8, 1, 200);
	assert_false(oncpu_find(o, 8)->on);
	assert_int_equal(oncpu_find(o, 8)->cpu_ns, 100);
	assert_int_equal(oncpu_find(o, 8)->records, 2);
	assert_true(oncpu_find(o, 9)->on);
	assert_int_equal(oncpu_find(o, 9)->records, 1);
	/* And where one was there is nothing. */
	feed(o, PERF_SWITCH_IN, 8, 1, 210);
	oncpu_forget(o, 9, 160);
	oncpu_forget(o, 8, 210);
	feed(o, PERF_SWITCH_OUT, 9, 0, 220);
	assert_int_equal(oncpu_find(o, 9)->records, 1);
	assert_null(oncpu_find(o, 8));
	oncpu_close(o);
}

static void names_each_that_ran_once(void **state)
{
	struct oncpu *o = oncpu_new();
	pid_t first, second;

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	feed(o, PERF_SWITCH_IN, 8, 0, 150);
	first = oncpu_next(o);
	second = oncpu_next(o);
	assert_int_equal(first + second, 15);
	assert_int_equal(oncpu_next(o), 0);
	feed(o, PERF_SWITCH_OUT, 8, 0, 160);
	assert_int_equal(oncpu_next(o), 8);
	assert_int_equal(oncpu_next(o), 0);
	oncpu_close(o);
}

static void remembers_the_first_waking_since_it_was_seen(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	oncpu_seen(o, 7);
	assert_int_equal(oncpu_find(o, 7)->woke_ns, 0);
	feed(o, PERF_SWITCH_IN, 7, 0, 500);
	feed(o, PERF_SWITCH_OUT, 7, 0, 510);
	feed(o, PERF_SWITCH_IN, 7, 0, 600);
	assert_int_equal(oncpu_find(o, 7)->woke_ns, 500);
	oncpu_close(o);
}

static void knows_who_has_slept_since_it_was_seen(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_AWAY, 7, 0, 150);
	feed(o, PERF_SWITCH_IN, 7, 0, 200);
	assert_int_equal(oncpu_find(o, 7)->slept_ns, 0);
	feed(o, PERF_SWITCH_OUT, 7, 0, 250);
	feed(o, PERF_SWITCH_IN, 7, 0, 300);
	assert_int_equal(oncpu_find(o, 7)->slept_ns, 250);
	oncpu_seen(o, 7);
	assert_int_equal(oncpu_find(o, 7)->slept_ns, 0);
	oncpu_close(o);
}

static void vouches_for_nobody_after_a_loss(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_IN, 8, 1, 100);
	assert_true(oncpu_drain(o));
	assert_true(oncpu_find(o, 7)->known);
	feed(o, PERF_LOST, 0, 0, 110);
	assert_false(oncpu_drain(o));
	assert_false(oncpu_find(o, 7)->known);
	assert_true(oncpu_drain(o));
	feed(o, PERF_SWITCH_OUT, 7, 0, 120);
	assert_true(oncpu_find(o, 7)->known);
	assert_false(oncpu_find(o, 8)->known);
	oncpu_close(o);
}

static void forgets_the_dead_but_not_who_has_their_number(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	feed(o, PERF_SWITCH_OUT, 7, 0, 150);
	oncpu_forget(o, 7, 140);
	assert_non_null(oncpu_find(o, 7));
	oncpu_forget(o, 7, 150);
	assert_null(oncpu_find(o, 7));
	oncpu_close(o);
}

static void passes_over_the_idle_task(void **state)
{
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 0, 0, 100);
	feed(o, PERF_SWITCH_IN, -1, 0, 100);
	assert_int_equal(oncpu_next(o), 0);
	oncpu_close(o);
}

/* Strangers come and go: 200,000 of them must not stay. */
static void keeps_its_table_small(void **state)
{
	struct oncpu *o = oncpu_new();
	uint64_t now = 1;

	(void)state;
	feed(o, PERF_SWITCH_IN, 3, 1, now);
	for (pid_t tid = 100; tid < 200100; tid++) {
		now += 1000000;
		feed(o, PERF_SWITCH_IN, tid, 0, now);
		feed(o, PERF_SWITCH_OUT, tid, 0, now + 10);
		while (oncpu_next(o))
			continue;
	}
	assert_null(oncpu_find(o, 101));
	assert_non_null(oncpu_find(o, 200099));
	assert_true(oncpu_find(o, 3)->on); /* it runs all the time */
	oncpu_close(o);
}

/* A record as the kernel lays it out, by hand. */
struct raw {
	struct perf_event_header header;
	uint32_t next_prev[2];
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static void decodes_switches(void **state)
{
	struct raw raw = {
		.header = { .type = PERF_RECORD_SWITCH_CPU_WIDE,
			    .misc = PERF_RECORD_MISC_SWITCH_OUT |
				    PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
			    .size = sizeof(raw) },
		.next_prev = { 1, 2 },
		.pid = 30,
		.tid = 31,
		.time = 99,
		.cpu = 1
	};
	struct perf_record record;

	(void)state;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_SWITCH_AWAY);
	assert_int_equal(record.pid, 30);
	assert_int_equal(record.tid, 31);
	assert_int_equal(record.time_ns, 99);
	assert_int_equal(record.cpu, 1);
	raw.header.misc = PERF_RECORD_MISC_SWITCH_OUT;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_SWITCH_OUT);
	raw.header.misc = 0;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_SWITCH_IN);
}

static void names_new_images(void **state)
{
	struct {
		struct perf_event_header header;
		uint32_t pid_tid[2];
		char comm[8];
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} raw = { .header = { .type = PERF_RECORD_COMM,
			      .misc = PERF_RECORD_MISC_COMM_EXEC,
			      .size = sizeof(raw) },
		  .comm = "true",
		  .pid = 30,
		  .tid = 30,
		  .time = 99 };
	struct oncpu *o = oncpu_new();
	struct perf_record record;

	(void)state;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_EXEC);
	assert_string_equal(record.comm, "true");
	oncpu_feed(o, &record);
	assert_string_equal(oncpu_find(o, 30)->comm, "true");
	assert_int_equal(oncpu_find(o, 30)->records, 0);
	/* What names itself has the image that it had. */
	raw.header.misc = 0;
	memcpy(raw.comm, "worker", 7);
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_NAME);
	oncpu_feed(o, &record);
	assert_string_equal(oncpu_find(o, 30)->comm, "true");
	oncpu_close(o);
}

static void knows_what_was_used_before_the_newest_image(void **state)
{
	struct perf_record exec = { .kind = PERF_EXEC,
				    .pid = 7,
				    .tid = 7,
				    .time_ns = 240,
				    .comm = "true" };
	struct oncpu *o = oncpu_new();

	(void)state;
	feed(o, PERF_SWITCH_IN, 7, 0, 100);
	assert_int_equal(oncpu_find(o, 7)->image_cpu_ns, 0);
	feed(o, PERF_SWITCH_AWAY, 7, 0, 150);
	feed(o, PERF_SWITCH_IN, 7, 0, 200);
	oncpu_feed(o, &exec);
	feed(o, PERF_SWITCH_OUT, 7, 0, 300);
	assert_int_equal(oncpu_find(o, 7)->cpu_ns, 150);
	assert_int_equal(oncpu_find(o, 7)->image_cpu_ns, 90);
	oncpu_close(o);
}

static void tells_who_took_another_name(void **state)
{
	struct perf_record record = { .kind = PERF_NAME, .pid = 30, .tid = 31 };
	struct oncpu *o = oncpu_new();

	(void)state;
	oncpu_feed(o, &record); /* a thread: no news of the process */
	assert_int_equal(oncpu_renamed(o), 0);
	record.tid = 30;
	for (int i = 0; i < 2 * ONCPU_RENAMED_MAX; i++)
		oncpu_feed(o, &record);
	for (int i = 0; i < ONCPU_RENAMED_MAX; i++)
		assert_int_equal(oncpu_renamed(o), 30);
	assert_int_equal(oncpu_renamed(o), 0);
	oncpu_close(o);
}

static void refuses_records_of_other_kinds_and_sizes(void **state)
{
	struct raw raw = { .header = { .type = PERF_RECORD_FORK,
				       .size = sizeof(raw) } };
	struct perf_record record;

	(void)state;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 0);
	raw.header.type = PERF_RECORD_SWITCH;
	for (size_t len = 0; len < 32; len++)
		assert_int_equal(perfring_decode(&raw, len, &record), 0);
}

/* A ring in ordinary memory, its control page in front. */
static void reads_a_ring_that_wraps(void **state)
{
	static union {
		struct perf_event_mmap_page control;
		char bytes[2 * 65536];
	} memory;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perfring ring = { .fd = -1,
				 .map = &memory,
				 .data = memory.bytes + sysconf(_SC_PAGESIZE),
				 .size = 4096 };
	struct raw raw = { .header = { .type = PERF_RECORD_SWITCH_CPU_WIDE,
				       .size = sizeof(raw) } };
	struct perf_record record;
	uint64_t head = 4096 - 24; /* the first record wraps */

	(void)state;
	assert_true(page + ring.size <= sizeof(memory));
	memory.control.data_tail = head;
	for (uint32_t i = 1; i <= 3; i++) {
		raw.tid = i;
		for (size_t k = 0; k < sizeof(raw); k++)
			memory.bytes[page + ((head + k) & 4095)] =
				((const char *)&raw)[k];
		head += sizeof(raw);
	}
	memory.control.data_head = head;
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(perfring_next(&ring, &record), 1);
		assert_int_equal(record.tid, i);
	}
	assert_int_equal(perfring_next(&ring, &record), 0);
	assert_int_equal(memory.control.data_tail, head);
}

static void gives_a_ring_up_that_makes_no_sense(void **state)
{
	static union {
		struct perf_event_mmap_page control;
		char bytes[2 * 65536];
	} memory;
	struct perfring ring = { .fd = -1,
				 .map = &memory,
				 .data = memory.bytes + sysconf(_SC_PAGESIZE),
				 .size = 4096 };
	struct perf_record record = { 0 };

	(void)state;
	memory.control.data_head = 64; /* zeroes: a record of length 0 */
	assert_int_equal(perfring_next(&ring, &record), 1);
	assert_int_equal(record.kind, PERF_LOST);
	assert_int_equal(perfring_next(&ring, &record), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_who_is_on_a_cpu),
		cmocka_unit_test(tells_one_pushed_aside_from_one_asleep),
		cmocka_unit_test(orders_records_of_two_cpus_by_time),
		cmocka_unit_test(counts_each_record_of_a_thread),
		cmocka_unit_test(finds_those_on_a_cpu_when_the_table_has_moved),
		cmocka_unit_test(names_each_that_ran_once),
		cmocka_unit_test(remembers_the_first_waking_since_it_was_seen),
		cmocka_unit_test(knows_who_has_slept_since_it_was_seen),
		cmocka_unit_test(vouches_for_nobody_after_a_loss),
		cmocka_unit_test(forgets_the_dead_but_not_who_has_their_number),
		cmocka_unit_test(passes_over_the_idle_task),
		cmocka_unit_test(keeps_its_table_small),
		cmocka_unit_test(decodes_switches),
		cmocka_unit_test(names_new_images),
		cmocka_unit_test(knows_what_was_used_before_the_newest_image),
		cmocka_unit_test(tells_who_took_another_name),
		cmocka_unit_test(refuses_records_of_other_kinds_and_sizes),
		cmocka_unit_test(reads_a_ring_that_wraps),
		cmocka_unit_test(gives_a_ring_up_that_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
