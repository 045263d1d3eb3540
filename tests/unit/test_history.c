/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pasttest.h"
#include "profile/summary.h"

#define MS PAST_MS

/* What the slices of a history add up to. */
struct sums {
	struct weight total;
	struct weight threads[16];
	uint64_t n, gil_ns;
	uint64_t last_ns[16];
	bool unordered;
};

static int add_up(void *ctx, const struct slice *slice)
{
	struct sums *sums = ctx;
	struct weight *all[] = { &sums->total, &sums->threads[slice->thread] };

	assert_true(slice->thread < 16);
	for (size_t i = 0; i < 2; i++) {
		all[i]->wall_ns += slice->weight.wall_ns;
		all[i]->cpu_ns += slice->weight.cpu_ns;
		all[i]->samples += slice->weight.samples;
	}
	sums->n++;
	if (slice->seen.gil == GIL_HELD)
		sums->gil_ns += slice->weight.wall_ns;
	sums->unordered |= slice->start_ns < sums->last_ns[slice->thread];
	sums->last_ns[slice->thread] = slice->start_ns;
	return 0;
}

static struct sums sums_of(const struct past *p)
{
	struct sums sums = { 0 };

	assert_int_equal(history_slices(p->h, add_up, &sums), 0);
	return sums;
}

static void tells_of_the_run(void **state)
{
	struct past *p = *state;
	const struct past_run *run = &p->h->runs.at[0];

	assert_int_equal(p->h->runs.n, 1);
	assert_int_equal(run->end, RECORDING_WHOLE);
	assert_int_equal(run->good, run->size);
	assert_string_equal(run->summary, PAST_SUMMARY);
	assert_string_equal(strtab_get(p->h->strings, run->run.host, NULL),
			    "host");
	assert_string_equal(strtab_get(p->h->strings, run->run.title, NULL),
			    PAST_APP);
	assert_int_equal(run->run.unix_ns, PAST_UNIX_NS);
	assert_int_equal(run->run.interval_ns, 10 * MS);
	assert_int_equal(p->h->end_ns, 2000 * MS);
	assert_int_equal(p->h->notes.n, 1);
	assert_int_equal(p->h->notes.at[0].kind, NOTE_LOST);
	assert_int_equal(p->h->notes.at[0].at_ns, 1250 * MS);
	assert_int_equal(p->h->notes.at[0].value, 3);
}

static void tells_who_lived_when_and_how_it_ended(void **state)
{
	static const struct {
		int32_t pid;
		uint32_t parent, again;
		uint64_t born_ms, left_ms, wall_ms;
		bool left;
		int32_t status;
	} want[] = {
		{ 100, HISTORY_NONE, 0, 0, 2000, 3900, true, 0 },
		{ 101, 0, 0, 100, 900, 800, true, 256 },
		{ 102, 0, 0, 100, 1500, 1400, true, 9 },
		{ 103, 0, 0, 200, 2000, 1800, false, 0 },
		{ 104, 0, 0, 300, 1200, 200, true, 0 },
		{ 101, 3, 1, 1000, 1800, 800, true, 0 },
	};
	struct past *p = *state;

	assert_int_equal(p->h->processes.n, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct past_process *q = &p->h->processes.at[i];

		assert_int_equal(q->pid, want[i].pid);
		assert_int_equal(q->parent, want[i].parent);
		assert_int_equal(q->again, want[i].again);
		assert_int_equal(q->born_ns, want[i].born_ms * MS);
		assert_int_equal(q->left_ns, want[i].left_ms * MS);
		assert_int_equal(q->total.wall_ns, want[i].wall_ms * MS);
		assert_int_equal(q->left, want[i].left);
		assert_int_equal(q->status, want[i].status);
		assert_int_equal(q->verdict, VERDICT_SAMPLED);
		assert_int_equal(q->uid, 1000);
	}
	assert_int_equal(p->h->processes.at[2].ns_pid, 7);
	assert_int_equal(p->h->processes.at[2].pid_ns, 4026532000u);
	assert_int_equal(p->h->processes.at[3].cgroup,
			 past_string(p, "/system.slice/app.service"));
}

static void tells_what_each_process_ran(void **state)
{
	struct past *p = *state;
	const struct past_process *forked = &p->h->processes.at[4];
	const struct past_image *image = &p->h->images.at[forked->image];

	assert_int_equal(p->h->images.n, 7);
	assert_int_equal(forked->images, 2);
	assert_int_equal(image[0].command, past_string(p, PAST_APP));
	assert_int_equal(image[0].at_ns, 300 * MS);
	assert_int_equal(image[0].until_ns, 500 * MS);
	assert_int_equal(image[1].command, past_string(p, PAST_SH));
	assert_int_equal(image[1].until_ns, 1200 * MS);
	/* The version was told after the image. */
	image = &p->h->images.at[p->h->processes.at[5].image];
	assert_int_equal(image->python, past_string(p, "3.12.1"));
}

static void tells_each_thread_and_its_last_name(void **state)
{
	struct past *p = *state;
	const struct past_thread *t = p->h->threads.at;

	assert_int_equal(p->h->threads.n, 7);
	assert_int_equal(t[0].name, past_string(p, "MainThread"));
	assert_true(t[0].main);
	assert_int_equal(t[1].name, past_string(p, PAST_FEEDER));
	assert_false(t[1].main);
	assert_int_equal(t[1].born_ns, 100 * MS);
	assert_int_equal(t[5].end_ns, 500 * MS);
	assert_int_equal(t[6].name, 0);
	assert_int_equal(t[3].total.wall_ns, 1400 * MS);
	assert_int_equal(t[3].total.cpu_ns, 900 * MS);
	assert_int_equal(t[3].total.samples, 140);
}

static void hands_out_slices_that_add_up_to_the_totals(void **state)
{
	struct past *p = *state;
	struct sums sums = sums_of(p);

	assert_int_equal(sums.n, 17);
	assert_int_equal(sums.n, p->h->slices);
	assert_int_equal(sums.total.wall_ns, 8900 * MS);
	assert_int_equal(sums.total.wall_ns, p->h->total.wall_ns);
	assert_int_equal(sums.total.cpu_ns, 3400 * MS);
	assert_int_equal(sums.total.cpu_ns, p->h->total.cpu_ns);
	assert_int_equal(sums.total.samples, 870);
	assert_int_equal(sums.gil_ns, 3100 * MS);
	assert_int_equal(p->h->gil_ns, 3100 * MS);
	assert_true(p->h->has_gil);
	assert_false(sums.unordered);
	for (uint32_t i = 0; i < 7; i++)
		assert_memory_equal(&sums.threads[i],
				    &p->h->threads.at[i].total,
				    sizeof(sums.threads[i]));
}

static int stop_at_third(void *ctx, const struct slice *slice)
{
	(void)slice;
	return ++*(int *)ctx == 3 ? 42 : 0;
}

static void stops_when_it_is_told_to(void **state)
{
	struct past *p = *state;
	int n = 0;

	assert_int_equal(history_slices(p->h, stop_at_third, &n), 42);
	assert_int_equal(n, 3);
}

static void sorts_images_that_were_told_between_others(void **state)
{
	struct past p = { 0 };
	struct maker m;

	(void)state;
	maker_begin(&m, "host", PAST_UNIX_NS);
	maker_process(&m, RECORD_NONE, 1, 0);
	maker_process(&m, 0, 2, 0);
	maker_image(&m, 0, 0, "a", "");
	maker_image(&m, 1, 0, "b", "");
	maker_image(&m, 0, 10, "c", "");
	maker_process(&m, 0, 3, 0); /* nothing is known of what it ran */
	maker_thread(&m, 1, 1, 2, 0, NULL);
	maker_thread(&m, 0, 2, 1, 0, NULL);
	maker_flush(&m, 20);
	past_take(&p, &m);
	assert_int_equal(p.h->images.n, 4);
	assert_int_equal(p.h->images.at[0].command, past_string(&p, "a"));
	assert_int_equal(p.h->images.at[1].command, past_string(&p, "c"));
	assert_int_equal(p.h->images.at[2].command, past_string(&p, "b"));
	assert_int_equal(p.h->images.at[3].process, 2);
	assert_int_equal(p.h->processes.at[2].image, 3);
	assert_int_equal(p.h->threads.at[0].image, 2);
	assert_int_equal(p.h->threads.at[1].image, 1);
	past_free(&p);
}

static void merges_recordings_at_their_own_times(void **state)
{
	static const uint64_t starts[][2] = { { 0, 500 }, { 500, 0 } };
	struct maker m;

	(void)state;
	for (size_t order = 0; order < 2; order++) {
		struct past p = { 0 };
		const struct past_process *q;
		struct sums sums;

		for (size_t i = 0; i < 2; i++) {
			maker_small(&m, i ? "two" : "one",
				    PAST_UNIX_NS + starts[order][i] * MS);
			past_take(&p, &m);
		}
		sums = sums_of(&p);
		assert_int_equal(p.h->processes.n, 12);
		assert_int_equal(p.h->threads.n, 14);
		assert_int_equal(p.h->end_ns, 2500 * MS);
		assert_int_equal(sums.n, 34);
		assert_int_equal(sums.total.wall_ns, 2 * 8900 * MS);
		assert_int_equal(p.h->total.wall_ns, 2 * 8900 * MS);
		for (uint32_t i = 0; i < 2; i++) {
			q = &p.h->processes.at[i * 6 + 5];
			assert_int_equal(q->run, i);
			assert_int_equal(q->again, 1);
			assert_int_equal(q->parent, i * 6 + 3);
			assert_int_equal(q->born_ns,
					 (1000 + starts[order][i]) * MS);
			assert_int_equal(p.h->notes.at[i].at_ns,
					 (1250 + starts[order][i]) * MS);
			assert_int_equal(sums.last_ns[i * 7],
					 (100 + starts[order][i]) * MS);
		}
		past_free(&p);
	}
}

static void keeps_a_name_and_a_stack_once_for_all_recordings(void **state)
{
	struct past *p = *state;
	uint32_t strings = strtab_count(p->h->strings);
	uint32_t stacks = stacks_count(p->h->stacks);
	struct maker m;

	maker_small(&m, "host", PAST_UNIX_NS + 1);
	past_take(p, &m);
	assert_int_equal(strtab_count(p->h->strings), strings);
	assert_int_equal(stacks_count(p->h->stacks), stacks);
	assert_int_equal(p->h->processes.n, 12);
}

/* 0 to 1000 ms: a busy thread of which nothing was final yet, and one asleep. */
static void tell_unfinished(struct maker *m)
{
	struct record_stand stand = { .thread = 0,
				      .start_ns = 600 * MS,
				      .seen = { .run = RUN_ON_CPU,
						.gil = GIL_HELD } };

	maker_begin(m, "host", PAST_UNIX_NS);
	maker_process(m, RECORD_NONE, 1, 0);
	maker_image(m, 0, 0, PAST_APP, "3.11.2");
	maker_thread(m, 0, 0, 1, 0, NULL);
	maker_thread(m, 0, 0, 2, 0, NULL);
	maker_busy(m, 0, 0, 600, maker_stack(m, "a.py:f:1"));
	stand.seen.stack = maker_stack(m, "a.py:g:2");
	recorder_stand(m->rec, &stand);
	stand = (struct record_stand){
		.thread = 1,
		.seen = { .stack = maker_stack(m, "a.py:h:3"),
			  .wait = WAIT_POLL },
	};
	recorder_stand(m->rec, &stand);
	maker_flush(m, 1000);
}

static void closes_what_stood_when_a_recording_breaks_off(void **state)
{
	struct past p = { 0 };
	struct maker m;

	(void)state;
	tell_unfinished(&m);
	past_take(&p, &m);
	assert_int_equal(p.h->runs.at[0].end, RECORDING_RUNNING);
	assert_int_equal(p.h->slices, 3);
	assert_int_equal(sums_of(&p).n, 3);
	assert_int_equal(p.h->threads.at[0].total.wall_ns, 1000 * MS);
	assert_int_equal(p.h->threads.at[0].total.cpu_ns, 1000 * MS);
	assert_int_equal(p.h->threads.at[0].total.samples, 100);
	assert_int_equal(p.h->threads.at[1].total.wall_ns, 1000 * MS);
	assert_int_equal(p.h->threads.at[1].total.cpu_ns, 0);
	assert_int_equal(p.h->gil_ns, 1000 * MS);
	assert_int_equal(p.h->threads.at[1].end_ns, 1000 * MS);
	assert_false(p.h->processes.at[0].left);
	past_free(&p);
}

static void closes_nothing_that_was_told_of_since(void **state)
{
	struct past p = { 0 };
	struct maker m;

	(void)state;
	tell_unfinished(&m);
	maker_busy(&m, 0, 600, 500, maker_stack(&m, "a.py:g:2"));
	recorder_thread_end(m.rec, 1, 1200 * MS);
	maker_flush(&m, 2000);
	past_take(&p, &m);
	assert_int_equal(p.h->slices, 2);
	assert_int_equal(p.h->threads.at[0].total.wall_ns, 1100 * MS);
	assert_int_equal(p.h->threads.at[1].total.wall_ns, 0);
	past_free(&p);
}

static void tells_one_story_of_the_files_of_one_run(void **state)
{
	struct VEC(char) first = { 0 };
	struct past p = { 0 };
	struct maker m;

	(void)state;
	tell_unfinished(&m);
	assert_true(vec_reserve(&first, m.bytes.n));
	memcpy(first.at, m.bytes.at, m.bytes.n);
	first.n = m.bytes.n;
	m.bytes.n = 0;
	recorder_rotate(m.rec, 1000 * MS);
	maker_busy(&m, 0, 600, 900, maker_stack(&m, "a.py:g:2"));
	maker_idle(&m, 1, 0, 1500, maker_stack(&m, "a.py:h:3"), WAIT_POLL);
	recorder_thread_end(m.rec, 0, 1500 * MS);
	recorder_thread_end(m.rec, 1, 1500 * MS);
	maker_process_end(&m, 0, 1500, VERDICT_SAMPLED, 0);
	recorder_summary(m.rec, "{}", 2);
	maker_flush(&m, 1500);
	assert_int_equal(past_add(&p, first.at, first.n), 0);
	past_take(&p, &m);
	assert_int_equal(p.h->runs.at[1].run.start_ns, 1000 * MS);
	assert_int_equal(p.h->processes.n, 1);
	assert_int_equal(p.h->images.n, 1);
	assert_int_equal(p.h->threads.n, 2);
	assert_int_equal(p.h->processes.at[0].left_ns, 1500 * MS);
	assert_true(p.h->processes.at[0].left);
	/* What stood at the cut was told by both: each has its part of it. */
	assert_int_equal(p.h->threads.at[0].total.wall_ns, 1500 * MS);
	assert_int_equal(p.h->threads.at[1].total.wall_ns, 1500 * MS);
	assert_int_equal(sums_of(&p).total.wall_ns, 3000 * MS);
	past_free(&p);
	vec_free(&first);
}

static void refuses_what_is_no_recording_and_stays_as_it_was(void **state)
{
	struct past *p = *state;

	assert_int_equal(past_add(p, "", 0), -EINVAL);
	assert_int_equal(past_add(p, "no recording at all, is it", 26),
			 -EINVAL);
	assert_int_equal(p->h->runs.n, 1);
	assert_int_equal(sums_of(p).n, 17);
}

/* All that a view may rely on. */
static void check_numbers(const struct past *p)
{
	const struct history *h = p->h;
	struct sums sums = { 0 };

	assert_int_equal(history_slices(h, add_up, &sums), 0);
	assert_int_equal(sums.n, h->slices);
	assert_int_equal(sums.total.wall_ns, h->total.wall_ns);
	for (uint32_t i = 0; i < h->processes.n; i++) {
		const struct past_process *q = &h->processes.at[i];

		assert_true(q->run < h->runs.n);
		assert_true(q->parent == HISTORY_NONE || q->parent < i);
		assert_true(q->images && q->image + q->images <= h->images.n);
		assert_true(q->left_ns >= q->born_ns);
		assert_true(q->left_ns <= HISTORY_TIME_MAX);
		for (uint32_t k = 0; k < q->images; k++)
			assert_int_equal(h->images.at[q->image + k].process, i);
	}
	for (size_t i = 0; i < h->threads.n; i++) {
		const struct past_thread *t = &h->threads.at[i];

		assert_true(t->process < h->processes.n);
		assert_true(t->image < h->images.n);
		assert_int_equal(h->images.at[t->image].process, t->process);
		assert_true(t->end_ns >= t->born_ns);
	}
}

static void reads_a_recording_that_is_cut_anywhere(void **state)
{
	size_t before = 0;
	struct maker m;

	(void)state;
	maker_small(&m, "host", PAST_UNIX_NS);
	for (size_t len = 0; len <= m.bytes.n; len++) {
		struct past p = { 0 };

		if (past_add(&p, m.bytes.at, len) == 0) {
			check_numbers(&p);
			assert_true(p.h->total.wall_ns >= before);
			before = p.h->total.wall_ns;
		}
		past_free(&p);
	}
	assert_int_equal(before, 8900 * MS);
	maker_free(&m);
}

static void survives_bytes_that_are_damaged(void **state)
{
	struct maker m;

	(void)state;
	maker_small(&m, "host", PAST_UNIX_NS);
	for (size_t i = 0; i < m.bytes.n; i += 3) {
		struct past p = { 0 };

		m.bytes.at[i] ^= (char)(1 << i % 8);
		if (past_add(&p, m.bytes.at, m.bytes.n) == 0)
			check_numbers(&p);
		m.bytes.at[i] ^= (char)(1 << i % 8);
		past_free(&p);
	}
	maker_free(&m);
}

static void caps_times_that_cannot_be(void **state)
{
	struct past p = { 0 };
	struct maker m;

	(void)state;
	for (uint64_t unix_ns = 1; unix_ns; unix_ns *= 1 << 21) {
		struct slice slice = { .thread = 0,
				       .start_ns = UINT64_MAX / 5,
				       .weight = { UINT64_MAX / 5, 1, 1 } };

		maker_begin(&m, "host", unix_ns);
		maker_process(&m, RECORD_NONE, 1, 1ull << 41);
		maker_image(&m, 0, 0, PAST_APP, "");
		maker_thread(&m, 0, 0, 1, 1ull << 41, NULL);
		maker_slice(&m, &slice);
		maker_flush(&m, 1ull << 41);
		past_take(&p, &m);
	}
	check_numbers(&p);
	assert_true(p.h->end_ns <= HISTORY_TIME_MAX);
	past_free(&p);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_of_the_run),
		TEST(tells_who_lived_when_and_how_it_ended),
		TEST(tells_what_each_process_ran),
		TEST(tells_each_thread_and_its_last_name),
		TEST(hands_out_slices_that_add_up_to_the_totals),
		TEST(stops_when_it_is_told_to),
		TEST(keeps_a_name_and_a_stack_once_for_all_recordings),
		TEST(refuses_what_is_no_recording_and_stays_as_it_was),
		cmocka_unit_test(sorts_images_that_were_told_between_others),
		cmocka_unit_test(merges_recordings_at_their_own_times),
		cmocka_unit_test(closes_what_stood_when_a_recording_breaks_off),
		cmocka_unit_test(closes_nothing_that_was_told_of_since),
		cmocka_unit_test(tells_one_story_of_the_files_of_one_run),
		cmocka_unit_test(reads_a_recording_that_is_cut_anywhere),
		cmocka_unit_test(survives_bytes_that_are_damaged),
		cmocka_unit_test(caps_times_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
