/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <string.h>

#include "linux/taskevents.h"

static int begin(void **state)
{
	*state = taskevents_new();
	return *state ? 0 : -1;
}

static int end(void **state)
{
	struct evsource source = taskevents_source(*state);

	source.close(source.self);
	return 0;
}

static void feed(struct taskevents *t, enum perf_kind kind, pid_t pid,
		 pid_t parent, uint64_t time_ns)
{
	struct perf_record record = { .kind = kind,
				      .pid = pid,
				      .tid = pid,
				      .parent = parent,
				      .parent_tid = parent,
				      .time_ns = time_ns };

	taskevents_feed(t, &record);
}

/* A birth or an end as the kernel lays it out. */
struct raw {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
	uint32_t by_pid, by_tid;
	uint64_t by_time;
	uint32_t cpu, reserved;
};

static void decodes_births_and_ends(void **state)
{
	struct raw raw = { .header = { .type = PERF_RECORD_FORK,
				       .size = sizeof(raw) },
			   .pid = 30,
			   .parent = 20,
			   .tid = 31,
			   .parent_tid = 21,
			   .time = 99,
			   .by_pid = UINT32_MAX,
			   .by_time = 100,
			   .cpu = 1 };
	struct perf_record record;

	(void)state;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_FORK);
	assert_int_equal(record.pid, 30);
	assert_int_equal(record.tid, 31);
	assert_int_equal(record.parent, 20);
	assert_int_equal(record.parent_tid, 21);
	assert_int_equal(record.time_ns, 99);
	raw.header.type = PERF_RECORD_EXIT;
	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	assert_int_equal(record.kind, PERF_EXIT);
	for (size_t len = 0; len < sizeof(raw); len++)
		assert_int_equal(perfring_decode(&raw, len, &record), 0);
}

static void counts_what_was_lost(void **state)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} raw = { .header = { .type = PERF_RECORD_LOST, .size = sizeof(raw) },
		  .lost = 7,
		  .pid = 30,
		  .tid = 30,
		  .time = 50 };
	struct evsource source = taskevents_source(*state);
	struct perf_record record;
	struct event events[4];

	assert_int_equal(perfring_decode(&raw, sizeof(raw), &record), 1);
	taskevents_feed(*state, &record);
	feed(*state, PERF_FORK, 30, 20, 60);
	feed(*state, PERF_FORK, 31, 20, 90);
	assert_int_equal(source.dropped(source.self), 7);
	/* After those that were there, before those that are to come. */
	assert_int_equal(taskevents_give(*state, 80, events, 4), 2);
	assert_int_equal(events[0].pid, 30);
	assert_int_equal(events[1].kind, EVENT_LOST);
	assert_int_equal(taskevents_give(*state, 100, events, 4), 1);
	assert_int_equal(events[0].pid, 31);
}

static void makes_events_of_processes_alone(void **state)
{
	struct perf_record thread = { .kind = PERF_FORK,
				      .pid = 30,
				      .tid = 31,
				      .parent = 30,
				      .time_ns = 12 };
	struct event events[8];

	feed(*state, PERF_FORK, 30, 20, 10);
	taskevents_feed(*state, &thread);
	feed(*state, PERF_EXEC, 30, 0, 20);
	thread.kind = PERF_EXIT;
	taskevents_feed(*state, &thread);
	feed(*state, PERF_EXIT, 30, 20, 30);
	feed(*state, PERF_FORK, 0, 0, 5); /* in another namespace */
	assert_int_equal(taskevents_give(*state, 100, events, 8), 3);
	assert_int_equal(events[0].kind, EVENT_FORK);
	assert_int_equal(events[0].pid, 30);
	assert_int_equal(events[0].parent, 20);
	assert_int_equal(events[0].parent_tid, 20);
	assert_int_equal(events[0].time_ns, 10);
	assert_int_equal(events[1].kind, EVENT_EXEC);
	assert_int_equal(events[2].kind, EVENT_EXIT);
	assert_int_equal(events[2].status, EVENT_NO_STATUS);
}

/* The ring of the CPU where it ended is read before that where it was born. */
static void orders_the_records_of_all_rings_by_time(void **state)
{
	struct event events[8];

	feed(*state, PERF_EXIT, 30, 20, 40);
	feed(*state, PERF_EXEC, 30, 0, 30);
	feed(*state, PERF_FORK, 30, 20, 20);
	assert_int_equal(taskevents_give(*state, 100, events, 8), 3);
	assert_int_equal(events[0].kind, EVENT_FORK);
	assert_int_equal(events[1].kind, EVENT_EXEC);
	assert_int_equal(events[2].kind, EVENT_EXIT);
}

static void keeps_back_what_is_newer_than_the_reading(void **state)
{
	struct event events[8];

	feed(*state, PERF_EXEC, 30, 0, 55); /* its birth is still unread */
	feed(*state, PERF_EXIT, 29, 20, 40);
	assert_int_equal(taskevents_give(*state, 50, events, 8), 1);
	assert_int_equal(events[0].pid, 29);
	feed(*state, PERF_FORK, 30, 20, 52);
	assert_int_equal(taskevents_give(*state, 60, events, 8), 2);
	assert_int_equal(events[0].kind, EVENT_FORK);
	assert_int_equal(events[1].kind, EVENT_EXEC);
}

static void gives_no_more_than_is_asked_for(void **state)
{
	struct event events[64];
	pid_t next = 1;
	int n;

	for (pid_t pid = 1; pid <= 10000; pid++)
		feed(*state, PERF_FORK, pid, 20, (uint64_t)pid);
	while ((n = taskevents_give(*state, 20000, events, 64)) > 0)
		for (int i = 0; i < n; i++)
			assert_int_equal(events[i].pid, next++);
	assert_int_equal(next, 10001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_births_and_ends),
		cmocka_unit_test_setup_teardown(counts_what_was_lost, begin,
						end),
		cmocka_unit_test_setup_teardown(makes_events_of_processes_alone,
						begin, end),
		cmocka_unit_test_setup_teardown(
			orders_the_records_of_all_rings_by_time, begin, end),
		cmocka_unit_test_setup_teardown(
			keeps_back_what_is_newer_than_the_reading, begin, end),
		cmocka_unit_test_setup_teardown(gives_no_more_than_is_asked_for,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
