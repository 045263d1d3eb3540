/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/outcome.h"
#include "linux/place.h"
#include "linux/waits.h"

static int parse(const char *text, int64_t *nr, uint64_t *arg)
{
	return waits_parse(text, strlen(text), nr, arg);
}

static void reads_the_call_and_its_first_argument(void **state)
{
	uint64_t arg = 0;
	int64_t nr = 0;

	(void)state;
	assert_int_equal(parse("202 0x7f3ea4000b60 0x189 0x0 0x0 0x0 "
			       "0xffffffff 0x7ffe 0x7f3ea\n",
			       &nr, &arg),
			 0);
	assert_int_equal(nr, 202);
	assert_int_equal(arg, 0x7f3ea4000b60);
}

static void tells_a_running_thread_from_one_outside_of_calls(void **state)
{
	uint64_t arg = 5;
	int64_t nr = 7;

	(void)state;
	assert_int_equal(parse("running\n", &nr, &arg), OUT_BUSY);
	assert_int_equal(parse("-1 0x7ffd5 0x7f3e\n", &nr, &arg), OUT_UNKNOWN);
	assert_int_equal(parse("", &nr, &arg), OUT_UNKNOWN);
	assert_int_equal(parse("0", &nr, &arg), OUT_UNKNOWN);
	assert_int_equal(parse("what\n", &nr, &arg), OUT_UNKNOWN);
	assert_int_equal(nr, 7);
	assert_int_equal(arg, 5);
}

static void refuses_a_text_that_is_too_long(void **state)
{
	char text[1024];
	uint64_t arg;
	int64_t nr;

	(void)state;
	memset(text, '1', sizeof(text));
	assert_int_equal(waits_parse(text, sizeof(text), &nr, &arg),
			 OUT_UNKNOWN);
}

static void knows_what_calls_wait_for(void **state)
{
	(void)state;
	assert_int_equal(waits_kind(SYS_futex, 3), WAIT_LOCK);
	assert_int_equal(waits_kind(SYS_read, 3), WAIT_FILE);
	assert_int_equal(waits_kind(SYS_recvfrom, 3), WAIT_SOCKET);
	assert_int_equal(waits_kind(SYS_clock_nanosleep, 3), WAIT_TIME);
	assert_int_equal(waits_kind(SYS_epoll_pwait, 3), WAIT_POLL);
	assert_int_equal(waits_kind(SYS_wait4, 3), WAIT_PROCESS);
	assert_int_equal(waits_kind(SYS_getpid, 3), WAIT_OTHER);
	assert_int_equal(waits_kind(SYS_pselect6, 3), WAIT_POLL);
	assert_int_equal(waits_kind(SYS_pselect6, 0), WAIT_TIME);
}

static const char status[] = "Name:\tNSpid:\t7\n"
			     "Umask:\t0022\n"
			     "Pid:\t4242\n"
			     "Uid:\t1000\t1001\t1002\t1003\n"
			     "NSpid:\t4242\t17\t3\n"
			     "Threads:\t1\n";

static void takes_the_real_user_and_the_innermost_number(void **state)
{
	struct place place = { 0 };

	(void)state;
	place_parse_status(status, sizeof(status) - 1, &place);
	assert_int_equal(place.uid, 1000);
	assert_int_equal(place.ns_pid, 3);
}

static void leaves_what_is_not_told(void **state)
{
	struct place place = { .uid = 5, .ns_pid = 6 };

	(void)state;
	place_parse_status("Name:\tx\nNSpid", 13, &place);
	assert_int_equal(place.uid, 5);
	assert_int_equal(place.ns_pid, 6);
}

static void group_is(const char *text, const char *want)
{
	struct str group = { 0 };

	place_parse_group(text, strlen(text), &group);
	assert_string_equal(group.at ? group.at : "", want);
	str_free(&group);
}

static void prefers_the_unified_hierarchy(void **state)
{
	(void)state;
	group_is("0::/system.slice/app.service\n", "/system.slice/app.service");
	group_is("12:cpu,cpuacct:/docker/ab:cd\n0::/docker/x\n", "/docker/x");
	group_is("12:cpu,cpuacct:/docker/ab:cd\n0::\n", "/docker/ab:cd");
	group_is("12:cpu,cpuacct:/docker/ab", "/docker/ab");
	group_is("12:cpu", "");
	group_is("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_call_and_its_first_argument),
		cmocka_unit_test(
			tells_a_running_thread_from_one_outside_of_calls),
		cmocka_unit_test(refuses_a_text_that_is_too_long),
		cmocka_unit_test(knows_what_calls_wait_for),
		cmocka_unit_test(takes_the_real_user_and_the_innermost_number),
		cmocka_unit_test(leaves_what_is_not_told),
		cmocka_unit_test(prefers_the_unified_hierarchy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
