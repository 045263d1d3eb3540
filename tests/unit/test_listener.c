/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/nsec.h"
#include "linux/listener.h"

/* A source that has what the test has put in: @put of @events. */
struct fake {
	struct event events[256];
	size_t read;
	atomic_size_t put;
	atomic_int failure;
	int ready[2];
	struct listener *listener;
};

static int fake_fd(const void *self, size_t i)
{
	const struct fake *fake = self;

	return i == 0 ? fake->ready[0] : -1;
}

static int fake_read(void *self, struct event *events, size_t max)
{
	struct fake *fake = self;
	size_t put = atomic_load(&fake->put);
	size_t n = 0;

	if (atomic_load(&fake->failure))
		return atomic_load(&fake->failure);
	while (n < max && fake->read < put)
		events[n++] = fake->events[fake->read++];
	return (int)n;
}

static uint64_t fake_count(const void *self)
{
	(void)self;
	return 0;
}

static void fake_close(void *self)
{
	struct fake *fake = self;

	close(fake->ready[0]);
	close(fake->ready[1]);
}

static int begin(void **state)
{
	static struct fake fake;
	struct evsource source = { .self = &fake,
				   .fd = fake_fd,
				   .read = fake_read,
				   .received = fake_count,
				   .dropped = fake_count,
				   .close = fake_close };

	fake = (struct fake){ .read = 0 };
	*state = &fake;
	if (pipe(fake.ready))
		return -1;
	return listener_start(&fake.listener, &source, NULL);
}

static int end(void **state)
{
	struct fake *fake = *state;

	listener_stop(fake->listener);
	return 0;
}

static void put(struct fake *fake, enum event_kind kind, pid_t pid,
		pid_t parent)
{
	size_t n = atomic_load(&fake->put);

	fake->events[n] = (struct event){
		.kind = kind, .pid = pid, .parent = parent, .time_ns = n + 1
	};
	atomic_store(&fake->put, n + 1);
}

/* The next event after all that was put has been heard: its pid; 0: none. */
static pid_t next(struct fake *fake)
{
	struct event event;

	assert_int_equal(listener_drain(fake->listener, NSEC_PER_SEC), 0);
	return listener_next(fake->listener, &event) ? event.pid : 0;
}

static void hands_on_what_concerns_members(void **state)
{
	struct fake *fake = *state;

	listener_follow(fake->listener, 10);
	put(fake, EVENT_FORK, 20, 1);
	put(fake, EVENT_FORK, 11, 10);
	put(fake, EVENT_EXEC, 20, 0);
	put(fake, EVENT_EXEC, 11, 0);
	assert_int_equal(next(fake), 11);
	assert_int_equal(next(fake), 11);
	assert_int_equal(next(fake), 0);
	assert_int_equal(listener_strangers(fake->listener), 2);
}

static void wakes_nobody_for_strangers(void **state)
{
	struct fake *fake = *state;
	struct pollfd fd = { .fd = listener_fd(fake->listener),
			     .events = POLLIN };

	listener_follow(fake->listener, 10);
	put(fake, EVENT_FORK, 20, 1);
	assert_int_equal(listener_drain(fake->listener, NSEC_PER_SEC), 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	put(fake, EVENT_FORK, 11, 10);
	assert_int_equal(listener_drain(fake->listener, NSEC_PER_SEC), 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(listener_wakes(fake->listener), 1);
}

static void hands_on_everything_while_members_are_looked_for(void **state)
{
	struct fake *fake = *state;

	listener_open(fake->listener);
	put(fake, EVENT_FORK, 21, 20);
	assert_int_equal(next(fake), 21);
	listener_follow(fake->listener, 20);
	listener_close(fake->listener);
	put(fake, EVENT_EXEC, 21, 0);
	put(fake, EVENT_EXEC, 30, 0);
	assert_int_equal(next(fake), 21);
	assert_int_equal(next(fake), 0);
}

static void reads_more_than_one_batch_before_it_answers(void **state)
{
	struct fake *fake = *state;
	struct event event;

	listener_follow(fake->listener, 10);
	for (pid_t pid = 100; pid < 300; pid++)
		put(fake, EVENT_FORK, pid, 10);
	assert_int_equal(next(fake), 100);
	for (pid_t pid = 101; pid < 300; pid++) {
		assert_true(listener_next(fake->listener, &event));
		assert_int_equal(event.pid, pid);
	}
}

static void says_once_that_it_has_become_deaf(void **state)
{
	struct fake *fake = *state;
	struct event event;

	atomic_store(&fake->failure, -EIO);
	assert_int_equal(listener_drain(fake->listener, NSEC_PER_SEC), 0);
	assert_true(listener_next(fake->listener, &event));
	assert_int_equal(event.kind, EVENT_LOST);
	assert_int_equal(listener_drain(fake->listener, NSEC_PER_SEC), 0);
	assert_false(listener_next(fake->listener, &event));
	assert_int_equal(listener_failure(fake->listener), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hands_on_what_concerns_members,
						begin, end),
		cmocka_unit_test_setup_teardown(wakes_nobody_for_strangers,
						begin, end),
		cmocka_unit_test_setup_teardown(
			hands_on_everything_while_members_are_looked_for, begin,
			end),
		cmocka_unit_test_setup_teardown(
			reads_more_than_one_batch_before_it_answers, begin,
			end),
		cmocka_unit_test_setup_teardown(
			says_once_that_it_has_become_deaf, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
