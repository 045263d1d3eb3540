/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "linux/evring.h"

static bool put(struct evring *ring, pid_t pid)
{
	struct event event = { .kind = EVENT_FORK,
			       .pid = pid,
			       .time_ns = (uint64_t)pid };

	return evring_put(ring, &event);
}

/* The pid of the next event; 0 for a LOST, -1 for none. */
static pid_t get(struct evring *ring)
{
	struct event event;

	if (!evring_get(ring, &event))
		return -1;
	return event.kind == EVENT_LOST ? 0 : event.pid;
}

static void gives_events_in_the_order_in_which_they_came(void **state)
{
	struct evring *ring = evring_new(8);

	(void)state;
	assert_non_null(ring);
	for (pid_t pid = 1; pid <= 5; pid++)
		assert_true(put(ring, pid));
	for (pid_t pid = 1; pid <= 5; pid++)
		assert_int_equal(get(ring), pid);
	assert_int_equal(get(ring), -1);
	evring_free(ring);
}

static void goes_around_many_times(void **state)
{
	struct evring *ring = evring_new(4);

	(void)state;
	for (pid_t pid = 1; pid < 1000; pid += 2) {
		assert_true(put(ring, pid));
		assert_true(put(ring, pid + 1));
		assert_int_equal(get(ring), pid);
		assert_int_equal(get(ring), pid + 1);
	}
	assert_int_equal(get(ring), -1);
	evring_free(ring);
}

static void puts_one_loss_in_place_of_all_that_it_dropped(void **state)
{
	struct evring *ring = evring_new(4);

	(void)state;
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_true(put(ring, pid));
	assert_false(put(ring, 4));
	assert_false(put(ring, 5));
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_int_equal(get(ring), pid);
	/* Nothing was put since: it must not wait for that. */
	assert_int_equal(get(ring), 0);
	assert_int_equal(get(ring), -1);
	evring_free(ring);
}

static void tells_of_each_loss_that_events_lie_between(void **state)
{
	struct evring *ring = evring_new(4);

	(void)state;
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_true(put(ring, pid));
	assert_false(put(ring, 4));
	assert_int_equal(get(ring), 1);
	/* One free slot is not enough: it may be needed for the next LOST. */
	assert_false(put(ring, 5));
	assert_int_equal(get(ring), 2);
	assert_true(put(ring, 6));
	assert_false(put(ring, 7));
	assert_int_equal(get(ring), 3);
	assert_int_equal(get(ring), 0);
	assert_int_equal(get(ring), 6);
	assert_int_equal(get(ring), 0);
	assert_int_equal(get(ring), -1);
	evring_free(ring);
}

static void lets_a_loss_of_the_kernel_stand_for_its_own(void **state)
{
	struct event lost = { .kind = EVENT_LOST, .time_ns = 9 };
	struct evring *ring = evring_new(2);

	(void)state;
	assert_true(put(ring, 1));
	assert_true(evring_put(ring, &lost));
	assert_true(evring_put(ring, &lost));
	assert_int_equal(get(ring), 1);
	assert_int_equal(get(ring), 0);
	assert_int_equal(get(ring), -1);
	evring_free(ring);
}

static void dates_a_loss_by_the_first_event_dropped(void **state)
{
	struct evring *ring = evring_new(2);
	struct event event = { 0 };

	(void)state;
	assert_true(put(ring, 1));
	assert_false(put(ring, 42));
	assert_false(put(ring, 43));
	assert_true(evring_get(ring, &event));
	assert_true(evring_get(ring, &event));
	assert_int_equal(event.kind, EVENT_LOST);
	assert_int_equal(event.time_ns, 42);
	evring_free(ring);
}

static void takes_powers_of_two_only(void **state)
{
	(void)state;
	assert_null(evring_new(0));
	assert_null(evring_new(1));
	assert_null(evring_new(3));
	assert_null(evring_new(65535));
	evring_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_events_in_the_order_in_which_they_came),
		cmocka_unit_test(goes_around_many_times),
		cmocka_unit_test(puts_one_loss_in_place_of_all_that_it_dropped),
		cmocka_unit_test(tells_of_each_loss_that_events_lie_between),
		cmocka_unit_test(lets_a_loss_of_the_kernel_stand_for_its_own),
		cmocka_unit_test(dates_a_loss_by_the_first_event_dropped),
		cmocka_unit_test(takes_powers_of_two_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
