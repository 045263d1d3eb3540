/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/budget.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define PERCENT (SECOND / 100)

/*
 * A profiler whose tick costs @tick_ns, run for @seconds under @budget from @start_ns
 * on. Returns the CPU time that it has used, which was @cpu_ns before.
 */
static uint64_t simulate(struct budget *budget, uint64_t tick_ns,
			 uint64_t start_ns, uint64_t seconds, uint64_t cpu_ns)
{
	uint64_t now = start_ns;

	while (now < start_ns + seconds * SECOND) {
		now += budget->interval_ns;
		cpu_ns += tick_ns;
		if (budget_due(budget, now))
			(void)budget_look(budget, now, cpu_ns);
	}
	return cpu_ns;
}

static void keeps_the_rate_that_fits(void **state)
{
	struct budget b;

	(void)state;
	/* 1000 ticks of 10 us are 1 % of a core. */
	budget_begin(&b, 2 * PERCENT, MS, SECOND, 0);
	(void)simulate(&b, 10000, SECOND, 10, 0);
	assert_int_equal(b.interval_ns, MS);
}

static void lowers_the_rate_rather_than_exceed_the_budget(void **state)
{
	struct budget b;
	uint64_t cpu;

	(void)state;
	/* 1000 ticks of 100 us would be 10 %. */
	budget_begin(&b, 2 * PERCENT, MS, SECOND, 0);
	cpu = simulate(&b, 100000, SECOND, 20, 0);
	assert_true(cpu <= 20 * 2 * PERCENT * 105 / 100);
	assert_true(cpu >= 20 * 2 * PERCENT * 70 / 100);
	assert_in_range(b.interval_ns, 4 * MS, 8 * MS);
}

static void saves_up_a_dear_beginning(void **state)
{
	struct budget b;
	uint64_t cpu;

	(void)state;
	budget_begin(&b, 2 * PERCENT, 10 * MS, SECOND, 0);
	cpu = simulate(&b, 100000, SECOND, 20, 100 * MS);
	assert_true(cpu <= 20 * 2 * PERCENT);
	assert_int_equal(b.interval_ns, 10 * MS);
}

static void returns_to_the_rate_asked_for_when_it_costs_less(void **state)
{
	struct budget b;
	uint64_t cpu;

	(void)state;
	budget_begin(&b, 2 * PERCENT, MS, SECOND, 0);
	cpu = simulate(&b, 100000, SECOND, 5, 0);
	assert_true(b.interval_ns > MS);
	(void)simulate(&b, 1000, 6 * SECOND, 10, cpu);
	assert_int_equal(b.interval_ns, MS);
}

static void goes_on_once_a_second_when_nothing_helps(void **state)
{
	struct budget b;

	(void)state;
	budget_begin(&b, PERCENT, 10 * MS, SECOND, 0);
	(void)simulate(&b, 500 * MS, SECOND, 60, 0);
	assert_int_equal(b.interval_ns, BUDGET_LONGEST_NS);
}

static void is_never_due_without_a_limit(void **state)
{
	struct budget b;

	(void)state;
	budget_begin(&b, 0, MS, SECOND, 0);
	assert_false(budget_due(&b, 100 * SECOND));
	assert_false(budget_look(&b, 100 * SECOND, 50 * SECOND));
	assert_int_equal(b.interval_ns, MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_rate_that_fits),
		cmocka_unit_test(lowers_the_rate_rather_than_exceed_the_budget),
		cmocka_unit_test(saves_up_a_dear_beginning),
		cmocka_unit_test(
			returns_to_the_rate_asked_for_when_it_costs_less),
		cmocka_unit_test(goes_on_once_a_second_when_nothing_helps),
		cmocka_unit_test(is_never_due_without_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
