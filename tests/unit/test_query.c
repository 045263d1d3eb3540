/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <regex.h>
#include <string.h>

#include "pasttest.h"
#include "profile/query.h"

#define MS PAST_MS

static struct aggregate *aggregate_of(struct past *p, const struct query *query)
{
	struct aggregate *agg = NULL;

	assert_int_equal(query_aggregate(p->h, query, &agg), 0);
	assert_non_null(agg);
	return agg;
}

/* All weights of a tree, in ms. */
static struct weight total_of(const struct aggregate *agg, uint64_t *ret_gil)
{
	struct weight total = { 0 };

	*ret_gil = 0;
	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		const struct node *node = aggregate_node(agg, i);

		total.wall_ns += node->self.wall_ns;
		total.cpu_ns += node->self.cpu_ns;
		total.samples += node->self.samples;
		*ret_gil += node->gil_ns;
	}
	total.wall_ns /= MS;
	total.cpu_ns /= MS;
	*ret_gil /= MS;
	return total;
}

static const char *text_of(const struct aggregate *agg, uint32_t id)
{
	return strtab_get(aggregate_strings(agg), id, NULL);
}

/* The entry with a label, or AGGREGATE_NONE. */
static uint32_t entry_of(const struct aggregate *agg, const char *label)
{
	for (uint32_t i = 0; i < aggregate_count(agg); i++) {
		const struct agg_entry *entry = aggregate_entry(agg, i);

		if (entry && !strcmp(text_of(agg, entry->label), label))
			return i;
	}
	return AGGREGATE_NONE;
}

static uint32_t entries(const struct aggregate *agg)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < aggregate_count(agg); i++)
		n += aggregate_entry(agg, i) != NULL;
	return n;
}

/* The child whose function has a name, whatever its line; or NONE. */
static uint32_t child_of(const struct aggregate *agg, uint32_t parent,
			 const char *function)
{
	assert_int_not_equal(parent, AGGREGATE_NONE);
	for (uint32_t i = aggregate_node(agg, parent)->child;
	     i != AGGREGATE_NONE; i = aggregate_node(agg, i)->sibling) {
		struct frame frame =
			aggregate_frame(agg, aggregate_node(agg, i)->frame);

		if (!strcmp(text_of(agg, frame.function), function))
			return i;
	}
	return AGGREGATE_NONE;
}

/* The weight of a node and all below it, in ms. */
static uint64_t whole_of(const struct aggregate *agg, uint32_t node)
{
	uint64_t wall = 0;

	assert_int_not_equal(node, AGGREGATE_NONE);
	for (uint32_t i = node; i < aggregate_count(agg); i++) {
		uint32_t up = i;

		while (up != node && up != AGGREGATE_NONE)
			up = aggregate_node(agg, up)->parent;
		if (up == node)
			wall += aggregate_node(agg, i)->self.wall_ns;
	}
	return wall / MS;
}

static void weighs_all_of_the_history_in_each_grouping(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;

	for (int group = GROUP_PROCESS; group <= GROUP_ALL; group++) {
		for (int hosts = 0; hosts < 2; hosts++) {
			struct aggregate *agg;
			struct weight total;
			uint64_t gil;

			query.group = (enum query_group)group;
			query.hosts = hosts != 0;
			agg = aggregate_of(p, &query);
			total = total_of(agg, &gil);
			assert_int_equal(total.wall_ns, 8900);
			assert_int_equal(total.cpu_ns, 3400);
			assert_int_equal(total.samples, 870);
			assert_int_equal(gil, 3100);
			aggregate_free(agg);
		}
	}
}

static void has_an_entry_for_each_image_that_weighs(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg = aggregate_of(p, &query);
	uint32_t node = entry_of(agg, "104: " PAST_APP);
	const struct agg_entry *entry;

	assert_int_equal(entries(agg), 6);
	assert_int_equal(entry_of(agg, "104: " PAST_SH), AGGREGATE_NONE);
	assert_int_equal(whole_of(agg, node), 200);
	entry = aggregate_entry(agg, node);
	assert_int_equal(entry->pid, 104);
	assert_int_equal(entry->process, 4);
	assert_int_equal(entry->thread, HISTORY_NONE);
	assert_int_equal(entry->processes, 1);
	assert_int_equal(entry->born_ns, 300 * MS);
	assert_int_equal(entry->left_ns, 500 * MS);
	assert_string_equal(text_of(agg, entry->command), PAST_APP);
	assert_string_equal(text_of(agg, entry->python), "3.11.2");
	assert_int_equal(whole_of(agg, entry_of(agg, "101: " PAST_APP)), 800);
	node = entry_of(agg, "101 (2): " PAST_EVIL);
	assert_int_equal(whole_of(agg, node), 800);
	/* The empty stack is the process itself. */
	assert_int_equal(aggregate_node(agg, node)->self.wall_ns, 200 * MS);
	aggregate_free(agg);
}

static void has_threads_below_their_process(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	uint32_t root, thread;

	query.group = GROUP_THREAD;
	agg = aggregate_of(p, &query);
	root = entry_of(agg, "100: " PAST_APP);
	thread = child_of(agg, root, "thread 110 " PAST_FEEDER);
	assert_int_equal(whole_of(agg, thread), 1900);
	thread = child_of(agg, root, "thread 100 MainThread");
	assert_int_equal(whole_of(agg, thread), 2000);
	thread = child_of(agg, entry_of(agg, "101 (2): " PAST_EVIL),
			  "thread 101");
	assert_int_equal(aggregate_node(agg, thread)->self.wall_ns, 200 * MS);
	aggregate_free(agg);
}

static void makes_one_of_those_with_one_command(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	const struct agg_entry *entry;
	uint32_t node;

	query.group = GROUP_ROLE;
	agg = aggregate_of(p, &query);
	assert_int_equal(entries(agg), 2);
	node = entry_of(agg, PAST_APP " (5 processes)");
	assert_int_equal(whole_of(agg, node), 8100);
	entry = aggregate_entry(agg, node);
	assert_int_equal(entry->processes, 5);
	assert_int_equal(entry->process, HISTORY_NONE);
	assert_int_equal(entry->pid, 0);
	assert_int_equal(entry->left_ns, 2000 * MS);
	node = entry_of(agg, PAST_EVIL);
	assert_int_equal(aggregate_entry(agg, node)->process, 5);
	assert_int_equal(aggregate_entry(agg, node)->pid, 101);
	aggregate_free(agg);
}

static void puts_hosts_above_all(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	struct maker m;
	uint32_t node;

	maker_small(&m, "other", PAST_UNIX_NS);
	past_take(p, &m);
	query.group = GROUP_ROLE;
	query.hosts = true;
	agg = aggregate_of(p, &query);
	assert_int_equal(entries(agg), 2);
	node = entry_of(agg, "other");
	assert_int_equal(whole_of(agg, node), 8900);
	assert_int_equal(aggregate_entry(agg, node)->processes, 6);
	node = child_of(agg, node, PAST_APP " (5 processes)");
	assert_int_equal(whole_of(agg, node), 8100);
	aggregate_free(agg);
	query.hosts = false;
	agg = aggregate_of(p, &query);
	assert_int_equal(entries(agg), 2);
	assert_int_not_equal(entry_of(agg, PAST_APP " (10 processes)"),
			     AGGREGATE_NONE);
	aggregate_free(agg);
}

static void has_no_entry_for_what_lived_at_another_time(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;

	query.since_ns = 1000 * MS;
	query.until_ns = 1100 * MS;
	agg = aggregate_of(p, &query);
	assert_int_equal(entries(agg), 4);
	assert_int_equal(entry_of(agg, "101: " PAST_APP), AGGREGATE_NONE);
	aggregate_free(agg);
}

static void counts_a_process_once_however_often_it_execs(void **state)
{
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	struct past p;

	(void)state;
	past_reborn(&p);
	query.group = GROUP_ROLE;
	agg = aggregate_of(&p, &query);
	assert_int_equal(entries(agg), 1);
	assert_int_equal(aggregate_entry(agg, 0)->processes, 1);
	assert_int_equal(aggregate_entry(agg, 0)->process, 0);
	assert_int_equal(aggregate_entry(agg, 0)->born_ns, 0);
	assert_int_equal(aggregate_entry(agg, 0)->left_ns, 3000 * MS);
	assert_int_equal(whole_of(agg, entry_of(agg, PAST_APP)), 2000);
	aggregate_free(agg);
	past_free(&p);
}

static void minds_what_is_included_and_excluded(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	regex_t work, main;
	uint32_t node;

	assert_int_equal(regcomp(&work, "app.py:work", REG_NOSUB), 0);
	assert_int_equal(regcomp(&main, "^app.py:main$", REG_NOSUB), 0);
	query.include = &work;
	query.exclude = &main;
	query.frames = FRAMES_FUNCTIONS;
	query.group = GROUP_ALL;
	agg = aggregate_of(p, &query);
	node = child_of(agg, entry_of(agg, "all"), "<module>");
	node = child_of(agg, node, "work");
	assert_int_equal(aggregate_node(agg, node)->self.wall_ns, 2900 * MS);
	assert_int_equal(aggregate_node(agg, node)->self.cpu_ns, 2600 * MS);
	assert_int_equal(whole_of(agg, entry_of(agg, "all")), 2900);
	aggregate_free(agg);
	regfree(&work);
	regfree(&main);
}

static void charges_deep_stacks_where_they_end(void **state)
{
	struct past p = { 0 };
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	uint32_t stack = STACKS_EMPTY;
	struct maker m;

	(void)state;
	maker_begin(&m, "host", PAST_UNIX_NS);
	maker_process(&m, RECORD_NONE, 1, 0);
	maker_image(&m, 0, 0, PAST_APP, "3.11.2");
	maker_thread(&m, 0, 0, 1, 0, NULL);
	for (int i = 1; i <= 200; i++) {
		stack = maker_push(&m, stack, "a.py", "f", i);
		if (i % 10 == 0)
			maker_busy(&m, 0, (uint64_t)i * 10, 10, stack);
	}
	maker_busy(&m, 0, 3000, 10, stack);
	maker_flush(&m, 4000);
	past_take(&p, &m);
	agg = aggregate_of(&p, &query);
	assert_int_equal(aggregate_count(agg), 201);
	/* The first is the process; the others are as deep as their number. */
	for (uint32_t i = 1; i <= 200; i++)
		assert_int_equal(aggregate_node(agg, i)->self.wall_ns / MS,
				 i == 200      ? 20
				 : i % 10 == 0 ? 10
					       : 0);
	aggregate_free(agg);
	past_free(&p);
}

/* A base: the same application, half as long, and one thing more. */
static void make_base(struct past *p, const char *host)
{
	struct maker m;

	*p = (struct past){ 0 };
	maker_begin(&m, host, PAST_UNIX_NS);
	/* Strings get other numbers than in the other history. */
	for (int i = 0; i < 2; i++) {
		maker_process(&m, RECORD_NONE, 900 + i, 0);
		maker_image(&m, (uint32_t)i, 0, i ? "gone.py" : PAST_APP,
			    "3.11.2");
		maker_thread(&m, (uint32_t)i, (uint32_t)i, 900 + i, 0, NULL);
	}
	maker_busy(&m, 1, 0, 70, maker_stack(&m, "gone.py:g:1"));
	maker_busy(&m, 0, 0, 300,
		   maker_stack(&m, "app.py:<module>:41;app.py:main:12;"
				   "app.py:work:30"));
	maker_busy(&m, 0, 300, 30,
		   maker_stack(&m, "app.py:<module>:41;app.py:fresh:9"));
	maker_flush(&m, 500);
	past_take(p, &m);
}

static void compares_roles_by_their_command(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	const struct node *node;
	struct past base;
	uint32_t at;

	make_base(&base, "elsewhere");
	query.group = GROUP_ROLE;
	query.frames = FRAMES_FUNCTIONS;
	query.process = HISTORY_NONE;
	agg = aggregate_of(p, &query);
	assert_int_equal(query_compare(agg, p->h, &query, base.h), 0);
	assert_int_equal(entries(agg), 3);
	at = child_of(agg, entry_of(agg, PAST_APP " (5 processes)"),
		      "<module>");
	node = aggregate_node(agg, child_of(agg, at, "fresh"));
	assert_int_equal(node->base.wall_ns, 30 * MS);
	assert_int_equal(node->self.wall_ns, 0);
	at = child_of(agg, child_of(agg, at, "main"), "work");
	node = aggregate_node(agg, at);
	assert_int_equal(node->self.wall_ns, 2900 * MS);
	assert_int_equal(node->base.wall_ns, 300 * MS);
	assert_int_equal(node->base.samples, 30);
	assert_int_equal(node->base_gil_ns, 300 * MS);
	at = entry_of(agg, "gone.py");
	assert_int_equal(aggregate_entry(agg, at)->processes, 0);
	node = aggregate_node(agg, child_of(agg, at, "g"));
	assert_int_equal(node->base.wall_ns, 70 * MS);
	aggregate_free(agg);
	past_free(&base);
}

static void compares_all_of_both_and_each_host(void **state)
{
	static const int32_t pid[] = { 102 };
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg;
	struct past base;
	uint32_t at;

	make_base(&base, "host");
	query.frames = FRAMES_FUNCTIONS;
	query.group = GROUP_ALL;
	query.pids = pid;
	query.n_pids = 1;
	agg = aggregate_of(p, &query);
	assert_int_equal(query_compare(agg, p->h, &query, base.h), 0);
	assert_int_equal(entries(agg), 1);
	at = child_of(agg, child_of(agg, 0, "<module>"), "fresh");
	assert_int_equal(aggregate_node(agg, at)->base.wall_ns, 30 * MS);
	aggregate_free(agg);
	query.group = GROUP_ROLE;
	query.hosts = true;
	query.n_pids = 0;
	agg = aggregate_of(p, &query);
	assert_int_equal(query_compare(agg, p->h, &query, base.h), 0);
	assert_int_equal(entries(agg), 1);
	at = child_of(agg, entry_of(agg, "host"), PAST_APP " (5 processes)");
	at = child_of(agg, child_of(agg, at, "<module>"), "fresh");
	assert_int_equal(aggregate_node(agg, at)->base.wall_ns, 30 * MS);
	at = child_of(agg, entry_of(agg, "host"), "gone.py");
	assert_int_not_equal(at, AGGREGATE_NONE);
	aggregate_free(agg);
	past_free(&base);
}

static void refuses_to_compare_processes(void **state)
{
	struct past *p = *state;
	struct query query = QUERY_ALL;
	struct aggregate *agg = aggregate_of(p, &query);

	assert_int_equal(query_compare(agg, p->h, &query, p->h), -EINVAL);
	aggregate_free(agg);
	query.group = (enum query_group)17;
	assert_int_equal(query_aggregate(p->h, &query, &agg), -EINVAL);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(weighs_all_of_the_history_in_each_grouping),
		TEST(has_an_entry_for_each_image_that_weighs),
		TEST(has_threads_below_their_process),
		TEST(makes_one_of_those_with_one_command),
		TEST(puts_hosts_above_all),
		TEST(has_no_entry_for_what_lived_at_another_time),
		cmocka_unit_test(counts_a_process_once_however_often_it_execs),
		TEST(minds_what_is_included_and_excluded),
		cmocka_unit_test(charges_deep_stacks_where_they_end),
		TEST(compares_roles_by_their_command),
		TEST(compares_all_of_both_and_each_host),
		TEST(refuses_to_compare_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
