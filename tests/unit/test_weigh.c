/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "profile/weigh.h"

#define MS 1000000ull

/* Nodes of stacks; their numbers mean nothing. */
enum {
	A = 10,
	B,
	C,
	D,
	NODES
};

/* What a thread's charges add up to, by node. */
struct bill {
	struct weigh w;
	struct weight of[NODES];
	uint64_t start_ns; /* of the newest slice */
};

static void book(struct bill *bill, const struct charge *charges, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct weight *to = &bill->of[charges[i].seen.stack];

		assert_in_range(charges[i].seen.stack, A, NODES - 1);
		assert_true(charges[i].start_ns >= bill->start_ns);
		bill->start_ns = charges[i].start_ns;
		to->wall_ns += charges[i].weight.wall_ns;
		to->cpu_ns += charges[i].weight.cpu_ns;
		to->samples += charges[i].weight.samples;
	}
}

static void sample(struct bill *bill, uint32_t node, uint64_t since_ns,
		   uint64_t now_ns, uint64_t cpu_ns, bool running)
{
	struct charge charges[WEIGH_CHARGES];

	struct seen seen = { .stack = node,
			     .run = running ? RUN_ON_CPU : RUN_IDLE };

	book(bill, charges,
	     weigh_sample(&bill->w, &seen, since_ns, now_ns, cpu_ns, charges));
}

static void end(struct bill *bill, uint64_t end_ns, uint64_t cpu_ns)
{
	struct charge charges[WEIGH_CHARGES];

	book(bill, charges, weigh_end(&bill->w, end_ns, cpu_ns, charges));
}

/* The slices as they come. */
static void lays_the_slices_end_to_end(void **state)
{
	struct charge charges[WEIGH_CHARGES];
	struct seen work = { .stack = A, .run = RUN_ON_CPU };
	struct seen nap = { .stack = B, .run = RUN_IDLE };
	struct weigh w;

	(void)state;
	weigh_begin(&w, 5 * MS, 0);
	assert_int_equal(
		weigh_sample(&w, &work, 10 * MS, 10 * MS, 5 * MS, charges), 0);
	assert_int_equal(
		weigh_sample(&w, &nap, 16 * MS, 20 * MS, 11 * MS, charges), 1);
	assert_int_equal(charges[0].seen.stack, A);
	assert_int_equal(charges[0].start_ns, 5 * MS);
	assert_int_equal(charges[0].weight.wall_ns, 11 * MS);
	weigh_stood(&w, 40 * MS);
	assert_int_equal(
		weigh_sample(&w, &work, 44 * MS, 44 * MS, 15 * MS, charges), 1);
	assert_int_equal(charges[0].seen.stack, B);
	assert_int_equal(charges[0].seen.run, RUN_IDLE);
	assert_int_equal(charges[0].start_ns, 16 * MS);
	assert_int_equal(charges[0].weight.wall_ns, 24 * MS);
	assert_int_equal(weigh_end(&w, 50 * MS, 21 * MS, charges), 1);
	assert_int_equal(charges[0].start_ns, 40 * MS);
	assert_int_equal(charges[0].weight.wall_ns, 10 * MS);
}

/* A burst after the last sleep belongs to what was last seen running. */
static void puts_a_last_burst_behind_the_last_sleep(void **state)
{
	struct charge charges[WEIGH_CHARGES];
	struct seen work = { .stack = A, .run = RUN_ON_CPU };
	struct seen nap = { .stack = B, .run = RUN_IDLE };
	struct weigh w;

	(void)state;
	weigh_begin(&w, 0, 0);
	(void)weigh_sample(&w, &work, 10 * MS, 10 * MS, 10 * MS, charges);
	(void)weigh_sample(&w, &nap, 12 * MS, 40 * MS, 12 * MS, charges);
	assert_int_equal(weigh_end(&w, 50 * MS, 19 * MS, charges), 2);
	assert_int_equal(charges[0].seen.stack, B);
	assert_int_equal(charges[0].weight.wall_ns, 31 * MS);
	assert_int_equal(charges[1].seen.stack, A);
	assert_int_equal(charges[1].start_ns, 43 * MS);
	assert_int_equal(charges[1].weight.wall_ns, 7 * MS);
}

static void gives_a_single_sample_the_whole_life(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 100 * MS, 0);
	sample(&bill, A, 103 * MS, 103 * MS, 2 * MS, true);
	end(&bill, 150 * MS, 40 * MS);
	assert_int_equal(bill.of[A].wall_ns, 50 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 40 * MS);
	assert_int_equal(bill.of[A].samples, 1);
}

static void cuts_halfway_between_samples_of_a_running_thread(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 10 * MS, 10 * MS, 10 * MS, true);
	sample(&bill, B, 20 * MS, 20 * MS, 20 * MS, true);
	end(&bill, 30 * MS, 30 * MS);
	assert_int_equal(bill.of[A].wall_ns, 15 * MS);
	assert_int_equal(bill.of[B].wall_ns, 15 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 15 * MS);
	assert_int_equal(bill.of[B].cpu_ns, 15 * MS);
}

static void keeps_a_sleeping_stack_until_it_woke(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 1 * MS, 2 * MS, 0, false);
	weigh_stood(&bill.w, 80 * MS);
	sample(&bill, B, 90 * MS, 90 * MS, 10 * MS, true);
	end(&bill, 100 * MS, 20 * MS);
	assert_int_equal(bill.of[A].wall_ns, 80 * MS);
	assert_int_equal(bill.of[B].wall_ns, 20 * MS);
}

/* Looked at after a long time: most of it, it was awake, but had no CPU. */
static void gives_a_wait_for_a_cpu_to_the_stack_that_was_awake(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	weigh_waited(&bill.w, 700 * MS); /* of before */
	sample(&bill, A, 1 * MS, 2 * MS, 0, false);
	weigh_stood(&bill.w, 80 * MS);
	weigh_waited(&bill.w, 790 * MS);
	sample(&bill, B, 190 * MS, 190 * MS, 10 * MS, true);
	/* And falls asleep, after another wait. */
	weigh_waited(&bill.w, 830 * MS);
	sample(&bill, A, 260 * MS, 260 * MS, 20 * MS, false);
	end(&bill, 300 * MS, 20 * MS);
	assert_int_equal(bill.of[A].wall_ns, (90 + 20 + 40) * MS);
	assert_int_equal(bill.of[B].wall_ns, (100 + 50) * MS);
	assert_int_equal(bill.of[B].cpu_ns, 20 * MS);
}

/* What is waited for longer than there was time was waited for before. */
static void gives_no_more_wait_than_there_was_time(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	weigh_waited(&bill.w, 0);
	sample(&bill, A, 10 * MS, 10 * MS, 0, false);
	weigh_waited(&bill.w, 500 * MS);
	sample(&bill, B, 30 * MS, 30 * MS, 5 * MS, true);
	weigh_waited(&bill.w, 400 * MS);
	sample(&bill, A, 40 * MS, 40 * MS, 5 * MS, false);
	end(&bill, 50 * MS, 5 * MS);
	assert_int_equal(bill.of[A].wall_ns, (10 + 20) * MS);
	assert_int_equal(bill.of[B].wall_ns, 20 * MS);
}

static void lets_a_sleep_begin_when_the_thread_left_its_cpu(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 10 * MS, 10 * MS, 10 * MS, true);
	sample(&bill, B, 12 * MS, 20 * MS, 12 * MS, false);
	end(&bill, 50 * MS, 12 * MS);
	assert_int_equal(bill.of[A].wall_ns, 12 * MS);
	assert_int_equal(bill.of[B].wall_ns, 38 * MS);
}

/* Sleeps 40 ms, works 10 ms: each burst is hit once, somewhere. */
static void gives_a_burst_to_the_sample_that_hit_it(void **state)
{
	struct bill bill = { 0 };
	uint64_t now = 0, cpu = 0;

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	for (uint64_t i = 0; i < 10; i++) {
		sample(&bill, A, now, now + 5 * MS, cpu, false);
		weigh_stood(&bill.w, now + 40 * MS);
		sample(&bill, B, now + (40 + i) * MS, now + (40 + i) * MS,
		       cpu + i * MS, true);
		now += 50 * MS;
		cpu += 10 * MS;
	}
	end(&bill, now, cpu);
	assert_int_equal(bill.of[A].wall_ns, 400 * MS);
	assert_int_equal(bill.of[B].wall_ns, 100 * MS);
	assert_int_equal(bill.of[B].cpu_ns, 100 * MS);
}

/* One burst in ten is hit: it stands for all of them. */
static void carries_bursts_that_were_not_hit_to_the_next_one(void **state)
{
	struct bill bill = { 0 };
	uint64_t now = 0, cpu = 0;

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	for (int i = 0; i < 10; i++) {
		sample(&bill, A, now, now + 1 * MS, cpu, false);
		weigh_stood(&bill.w, now + 49 * MS);
		now += 50 * MS;
		cpu += 1 * MS;
	}
	sample(&bill, B, now, now, cpu, true);
	sample(&bill, A, now, now + 1 * MS, cpu, false);
	end(&bill, now + 1 * MS, cpu);
	assert_int_equal(bill.of[A].wall_ns, 491 * MS);
	assert_int_equal(bill.of[B].wall_ns, 10 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 0);
	assert_int_equal(bill.of[B].cpu_ns, 10 * MS);
}

/* A thread on a full machine runs half of the time. */
static void gives_the_wait_for_a_cpu_to_both_neighbours(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 0, 0, 0, true);
	sample(&bill, B, 20 * MS, 20 * MS, 10 * MS, true);
	end(&bill, 20 * MS, 10 * MS);
	assert_int_equal(bill.of[A].wall_ns, 10 * MS);
	assert_int_equal(bill.of[B].wall_ns, 10 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 5 * MS);
}

/* Known by looks only: it woke between two of them, and slept again elsewhere. */
static void halves_what_lies_between_two_sleeps(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 0, 0, 0, false);
	weigh_stood(&bill.w, 100 * MS);
	sample(&bill, B, 200 * MS, 200 * MS, 0, false);
	end(&bill, 300 * MS, 0);
	assert_int_equal(bill.of[A].wall_ns, 150 * MS);
	assert_int_equal(bill.of[B].wall_ns, 150 * MS);
}

static void charges_cpu_to_stacks_seen_running(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 10 * MS, 10 * MS, 10 * MS, true);
	sample(&bill, B, 20 * MS, 20 * MS, 17 * MS, false);
	/* It woke and slept again unseen: that waits for the next running one. */
	sample(&bill, B, 30 * MS, 30 * MS, 18 * MS, false);
	sample(&bill, C, 40 * MS, 40 * MS, 20 * MS, true);
	end(&bill, 50 * MS, 26 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 17 * MS + MS / 2);
	assert_int_equal(bill.of[B].cpu_ns, 0);
	assert_int_equal(bill.of[C].cpu_ns, 8 * MS + MS / 2);
}

/* Bursts too short to be hit: it is asleep again before it can be read. */
static void takes_the_sleep_after_a_burst_for_a_hit(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	bill.w.interval_ns = 10 * MS;
	sample(&bill, A, 10 * MS, 10 * MS, 10 * MS, true);
	sample(&bill, B, 20 * MS, 20 * MS, 14 * MS, false);
	/* Not yet: a sample may well hit none of so little. */
	weigh_ran_before(&bill.w);
	sample(&bill, B, 30 * MS, 30 * MS, 18 * MS, false);
	/* Nor where it slept since the last one. */
	sample(&bill, B, 40 * MS, 40 * MS, 22 * MS, false);
	weigh_ran_before(&bill.w);
	sample(&bill, C, 50 * MS, 50 * MS, 26 * MS, false);
	sample(&bill, D, 60 * MS, 60 * MS, 30 * MS, true);
	end(&bill, 60 * MS, 30 * MS);
	assert_int_equal(bill.of[A].cpu_ns, (14 + 4) * MS);
	assert_int_equal(bill.of[B].cpu_ns, 0);
	assert_int_equal(bill.of[C].cpu_ns, (4 + 4) * MS);
	assert_int_equal(bill.of[D].cpu_ns, 4 * MS);
	assert_int_equal(bill.of[C].wall_ns, (8 + 3 + 6) * MS);
	assert_int_equal(bill.of[C].samples, 1);
}

/* Asleep it has let go of the lock; what it did is not lost to views of the lock. */
static void gives_such_a_hit_the_lock_that_it_had(void **state)
{
	struct charge charges[WEIGH_CHARGES];
	struct seen nap = { .stack = A, .run = RUN_IDLE, .gil = GIL_NONE };
	struct seen work = { .stack = B, .run = RUN_ON_CPU, .gil = GIL_NONE };
	struct weigh w;

	(void)state;
	weigh_begin(&w, 0, 0);
	w.interval_ns = 10 * MS;
	weigh_ran_before(&w);
	assert_int_equal(
		weigh_sample(&w, &nap, 20 * MS, 20 * MS, 8 * MS, charges), 1);
	assert_int_equal(charges[0].seen.run, RUN_ON_CPU);
	assert_int_equal(charges[0].seen.gil, GIL_HELD);
	/* In C code without the lock, when it was last seen running. */
	(void)weigh_sample(&w, &work, 30 * MS, 30 * MS, 8 * MS, charges);
	(void)weigh_sample(&w, &nap, 40 * MS, 40 * MS, 8 * MS, charges);
	weigh_ran_before(&w);
	assert_int_equal(
		weigh_sample(&w, &nap, 60 * MS, 60 * MS, 16 * MS, charges), 2);
	assert_int_equal(charges[1].seen.stack, A);
	assert_int_equal(charges[1].seen.gil, GIL_NONE);
}

/* And what nobody ever hits is none of what the thread did long before or after. */
static void leaves_what_is_never_hit_where_it_was(void **state)
{
	struct bill bill = { 0 };
	uint64_t now = 10 * MS, cpu = 10 * MS;

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	bill.w.interval_ns = 10 * MS;
	sample(&bill, A, now, now, cpu, true);
	for (int i = 0; i < 100; i++) {
		now += 10 * MS;
		cpu += 5 * MS;
		sample(&bill, B, now, now, cpu, false);
	}
	sample(&bill, C, now, now, cpu, true);
	end(&bill, now, cpu);
	assert_in_range(bill.of[A].cpu_ns, 10 * MS, 35 * MS);
	assert_in_range(bill.of[B].cpu_ns, 440 * MS, 500 * MS);
	assert_in_range(bill.of[C].cpu_ns, 0, 20 * MS);
	assert_int_equal(bill.of[A].wall_ns + bill.of[B].wall_ns +
				 bill.of[C].wall_ns,
			 now);
}

static void gives_a_thread_never_seen_running_its_cpu_all_the_same(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 5 * MS);
	sample(&bill, B, 10 * MS, 10 * MS, 6 * MS, false);
	end(&bill, 20 * MS, 8 * MS);
	assert_int_equal(bill.of[B].cpu_ns, 3 * MS);
}

/* The account of a thread that runs elsewhere comes late, and then all at once. */
static void gives_no_more_time_on_a_cpu_than_there_was(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 10 * MS, 10 * MS, 4 * MS, true);
	sample(&bill, B, 12 * MS, 20 * MS, 12 * MS, false);
	end(&bill, 20 * MS, 12 * MS);
	assert_int_equal(bill.of[A].wall_ns, 12 * MS);
	assert_int_equal(bill.of[A].cpu_ns, 12 * MS);
	assert_int_equal(bill.of[B].wall_ns, 8 * MS);
}

static void ends_no_later_than_the_thread(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 10 * MS, 40 * MS, 0, false);
	end(&bill, 30 * MS, 0);
	assert_int_equal(bill.of[A].wall_ns, 30 * MS);
}

static void counts_the_ticks_that_a_stack_answered_for(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 0, 0);
	sample(&bill, A, 0, 0, 0, false);
	weigh_repeat(&bill.w, 7);
	sample(&bill, B, 10 * MS, 10 * MS, 0, false);
	end(&bill, 20 * MS, 0);
	assert_int_equal(bill.of[A].samples, 8);
	assert_int_equal(bill.of[B].samples, 1);
}

static void charges_nothing_without_a_sample(void **state)
{
	struct charge charges[WEIGH_CHARGES];
	struct weigh w;

	(void)state;
	weigh_begin(&w, 0, 0);
	assert_int_equal(weigh_end(&w, 10 * MS, 5 * MS, charges), 0);
}

/* Whatever comes: wall adds up to the life, CPU to the account. */
static void adds_up_whatever_comes(void **state)
{
	(void)state;
	srandom(7);
	for (int round = 0; round < 2000; round++) {
		uint64_t birth = 100 + (uint64_t)random() % 1000;
		uint64_t now = birth;
		uint64_t cpu = (uint64_t)random() % 50, base = cpu;
		uint64_t wall_sum = 0, cpu_sum = 0;
		struct bill bill = { 0 };

		weigh_begin(&bill.w, birth, base);
		bill.w.interval_ns = (uint64_t)random() % 30;
		for (int i = 1 + (int)(random() % 9); i > 0; i--) {
			uint64_t since;

			now += (uint64_t)random() % 100;
			since = now - (uint64_t)random() % 50;
			cpu += (uint64_t)random() % 30;
			if (round % 2)
				weigh_waited(&bill.w, (uint64_t)random() % 200);
			if (random() % 3 == 0)
				weigh_ran_before(&bill.w);
			if (random() % 3 == 0)
				weigh_stood(&bill.w,
					    now - (uint64_t)random() % 40);
			sample(&bill, A + (uint32_t)(random() % 3), since, now,
			       cpu, random() % 2);
		}
		now += (uint64_t)random() % 100;
		cpu += (uint64_t)random() % 30;
		end(&bill, now, cpu);
		for (int i = A; i < NODES; i++) {
			wall_sum += bill.of[i].wall_ns;
			cpu_sum += bill.of[i].cpu_ns;
		}
		assert_int_equal(wall_sum, now - birth);
		assert_int_equal(cpu_sum, cpu - base);
	}
}

static void never_takes_time_back_when_a_clock_does(void **state)
{
	struct bill bill = { 0 };

	(void)state;
	weigh_begin(&bill.w, 100, 50);
	sample(&bill, A, 90, 90, 40, true);
	sample(&bill, B, 80, 80, 30, true);
	end(&bill, 70, 20);
	assert_int_equal(bill.of[A].wall_ns + bill.of[B].wall_ns, 0);
	assert_int_equal(bill.of[A].cpu_ns + bill.of[B].cpu_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lays_the_slices_end_to_end),
		cmocka_unit_test(puts_a_last_burst_behind_the_last_sleep),
		cmocka_unit_test(gives_a_single_sample_the_whole_life),
		cmocka_unit_test(
			cuts_halfway_between_samples_of_a_running_thread),
		cmocka_unit_test(keeps_a_sleeping_stack_until_it_woke),
		cmocka_unit_test(
			gives_a_wait_for_a_cpu_to_the_stack_that_was_awake),
		cmocka_unit_test(gives_no_more_wait_than_there_was_time),
		cmocka_unit_test(
			lets_a_sleep_begin_when_the_thread_left_its_cpu),
		cmocka_unit_test(gives_a_burst_to_the_sample_that_hit_it),
		cmocka_unit_test(
			carries_bursts_that_were_not_hit_to_the_next_one),
		cmocka_unit_test(gives_the_wait_for_a_cpu_to_both_neighbours),
		cmocka_unit_test(halves_what_lies_between_two_sleeps),
		cmocka_unit_test(charges_cpu_to_stacks_seen_running),
		cmocka_unit_test(takes_the_sleep_after_a_burst_for_a_hit),
		cmocka_unit_test(gives_such_a_hit_the_lock_that_it_had),
		cmocka_unit_test(leaves_what_is_never_hit_where_it_was),
		cmocka_unit_test(gives_no_more_time_on_a_cpu_than_there_was),
		cmocka_unit_test(ends_no_later_than_the_thread),
		cmocka_unit_test(
			gives_a_thread_never_seen_running_its_cpu_all_the_same),
		cmocka_unit_test(counts_the_ticks_that_a_stack_answered_for),
		cmocka_unit_test(charges_nothing_without_a_sample),
		cmocka_unit_test(adds_up_whatever_comes),
		cmocka_unit_test(never_takes_time_back_when_a_clock_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
