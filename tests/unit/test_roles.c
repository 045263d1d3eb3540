/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "roletest.h"

/* --- the small history */

static void finds_those_that_one_parent_forked_with_one_command(void **state)
{
	const struct past *p = *state;
	struct roles roles;

	assert_int_equal(roles_make(&roles, p->h, &QUERY_ALL), 0);
	assert_int_equal(roles.at.n, 3);
	assert_int_equal(roles.at.at[0].parent, 0);
	assert_int_equal(roles.at.at[0].command, past_string(p, PAST_APP));
	assert_int_equal(roles.at.at[0].images.n, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(roles.at.at[0].images.at[i], i + 1);
	assert_int_equal(roles.at.at[1].parent, HISTORY_NONE);
	assert_int_equal(roles.at.at[2].parent, 3);
	assert_int_equal(roles.at.at[2].command, past_string(p, PAST_EVIL));
	/* What another program is after an exec is none of them. */
	assert_int_equal(roles.members.at[5].role, ROLE_NONE);
	assert_int_equal(roles.members.at[4].role, 0);
	roles_free(&roles);
}

static void adds_up_what_its_members_did(void **state)
{
	const struct past *p = *state;
	const struct role *role;
	struct roles roles;

	assert_int_equal(roles_make(&roles, p->h, &QUERY_ALL), 0);
	role = &roles.at.at[0];
	assert_int_equal(role->wall_ns, 4200 * PAST_MS);
	assert_int_equal(role->cpu_ns, 2800 * PAST_MS);
	assert_int_equal(role->life_ns, 4200 * PAST_MS);
	assert_int_equal(role->gil_wait_ns, 200 * PAST_MS);
	assert_int_equal(role->ready_ns, 100 * PAST_MS);
	assert_int_equal(role->waits[WAIT_SOCKET], 500 * PAST_MS);
	assert_int_equal(role->waits[WAIT_LOCK], 400 * PAST_MS);
	assert_int_equal(role->waits[WAIT_PIPE], 200 * PAST_MS);
	assert_int_equal(role->waits[WAIT_GIL], 200 * PAST_MS);
	assert_int_equal(role->waits[WAIT_POLL], 0);
	/* 400/800, 900/1400, 1300/1800, 200/200 */
	assert_near(role->cpu_mean, (0.5 + 9. / 14 + 13. / 18 + 1) / 4);
	assert_true(role->cpu_spread > 0.182 && role->cpu_spread < 0.1822);
	assert_int_equal(role->cpu_least, 4);
	assert_int_equal(role->cpu_least_ns, 200 * PAST_MS);
	assert_int_equal(role->cpu_most, 3);
	assert_int_equal(role->cpu_most_ns, 1300 * PAST_MS);
	roles_free(&roles);
}

static void tells_where_they_waited_the_longest_first(void **state)
{
	const struct past *p = *state;
	const struct role *role;
	struct roles roles;

	assert_int_equal(roles_make(&roles, p->h, &QUERY_ALL), 0);
	role = &roles.at.at[0];
	/* Two lines of one function are one place. */
	assert_int_equal(role->leaves[0].function, past_string(p, "get"));
	assert_int_equal(role->leaves[0].file, past_string(p, "pool.py"));
	assert_int_equal(role->leaves[0].kind, WAIT_SOCKET);
	assert_int_equal(role->leaves[0].wall_ns, 500 * PAST_MS);
	assert_int_equal(role->leaves[1].kind, WAIT_LOCK);
	assert_int_equal(role->leaves[2].wall_ns, 200 * PAST_MS);
	assert_int_equal(role->leaves[3].wall_ns, 200 * PAST_MS);
	assert_int_equal(role->leaves[4].wall_ns, 0);
	roles_free(&roles);
}

static void counts_how_they_lived_and_ended(void **state)
{
	const struct past *p = *state;
	const struct role *role;
	struct roles roles;

	assert_int_equal(roles_make(&roles, p->h, &QUERY_ALL), 0);
	role = &roles.at.at[0];
	assert_int_equal(role->born_ns, 100 * PAST_MS);
	assert_int_equal(role->left_ns, 2000 * PAST_MS);
	assert_int_equal(role->at_once, 4);
	assert_int_equal(role->alive[0], 0);
	assert_int_equal(role->alive[9], 4); /* 300 ms of 2000 */
	assert_int_equal(role->alive[16], 3);
	assert_int_equal(role->alive[59], 1);
	/* One ended by itself with 1, one by a signal; one lived on, and one
	 * became another program. */
	assert_int_equal(role->exits, 2);
	assert_int_equal(role->bad_exits, 1);
	assert_int_equal(role->signals, 1);
	assert_near(role->turnover, 2 * 60 / 4.2);
	roles_free(&roles);
}

static void minds_processes_and_times_that_are_asked_for(void **state)
{
	const struct past *p = *state;
	static const int32_t pids[] = { 101, 102 };
	struct query query = QUERY_ALL;
	const struct role *role;
	struct roles roles;

	query.pids = pids;
	query.n_pids = 2;
	query.since_ns = 600 * PAST_MS;
	query.until_ns = 1000 * PAST_MS;
	/* These two would leave out what is to be told. */
	query.idle = false;
	query.gil = true;
	assert_int_equal(roles_make(&roles, p->h, &query), 0);
	assert_int_equal(roles.at.n, 1);
	role = &roles.at.at[0];
	assert_int_equal(role->images.n, 2);
	/* One lived until 900. */
	assert_int_equal(role->life_ns, 700 * PAST_MS);
	assert_int_equal(role->wall_ns, 700 * PAST_MS);
	assert_int_equal(role->waits[WAIT_PIPE], 200 * PAST_MS);
	assert_int_equal(role->waits[WAIT_GIL], 100 * PAST_MS);
	assert_int_equal(role->waits[WAIT_LOCK], 0);
	roles_free(&roles);
}

static void is_content_when_nothing_fits(void **state)
{
	const struct past *p = *state;
	static const int32_t pids[] = { 4711 };
	struct query query = QUERY_ALL;
	struct roles roles;

	query.pids = pids;
	query.n_pids = 1;
	assert_int_equal(roles_make(&roles, p->h, &query), 0);
	assert_int_equal(roles.at.n, 0);
	assert_int_equal(roles.members.n, 7);
	roles_free(&roles);
}

static void writes_json_that_no_name_can_break(void **state)
{
	const struct past *p = *state;
	struct roles roles;
	struct str text = { 0 };
	struct json j = { .to = &text };

	assert_int_equal(roles_make(&roles, p->h, &QUERY_ALL), 0);
	roles_json(&roles, p->h, &j);
	assert_false(text.failed);
	assert_non_null(strstr(text.at,
			       "[{\"command\":\"python3 app.py\",\"parent\":0,"
			       "\"parent_pid\":100,\"members\":4,"
			       "\"processes\":[1,2,3,4],"
			       "\"pids\":[101,102,103,104],"));
	assert_non_null(strstr(text.at,
			       "\"cpu_most\":{\"process\":3,\"pid\":103,"
			       "\"cpu_ns\":1300000000,\"share\":0.7222}"));
	assert_non_null(strstr(text.at,
			       "{\"function\":\"get\",\"file\":\"pool.py\","
			       "\"wait\":\"socket\",\"wall_ns\":500000000}"));
	assert_non_null(strstr(text.at, "\"parent\":null,\"parent_pid\":null"));
	assert_null(strchr(text.at, '<'));
	assert_null(strchr(text.at, '\x1b'));
	str_free(&text);
	roles_free(&roles);
}

/* --- who is a member */

static void takes_pipes_of_multiprocessing_for_one_command(void **state)
{
	struct fixture *f = *state;
	const char *commands[] = {
		"python3 -c from multiprocessing.spawn import spawn_main; "
		"spawn_main(tracker_fd=5, pipe_handle=7)",
		"python3 -c from multiprocessing.spawn import spawn_main; "
		"spawn_main(tracker_fd=5, pipe_handle=11)",
	};

	for (int i = 0; i < 2; i++)
		busy(f, add_child(f, 101 + i, commands[i], 0, 1000, 0), 0, 1000,
		     "app.py:work:1");
	assert_int_equal(pool(f, 1000)->images.n, 2);
}

static void takes_numbers_of_workers_in_titles_for_one_command(void **state)
{
	struct fixture *f = *state;
	const char *commands[] = {
		"[celeryd: celery@host:ForkPoolWorker-9]",
		"[celeryd: celery@host:ForkPoolWorker-10]",
		"[celeryd: celery@host:ForkPoolWorker-11]",
		"uWSGI worker 1",
		"uWSGI worker 2",
		"dask worker [tcp://127.0.0.1:40433]",
		"dask worker [tcp://127.0.0.1:33433]",
	};

	for (int i = 0; i < 7; i++)
		busy(f, add_child(f, 101 + i, commands[i], 0, 1000, 0), 0,
		     7 - i / 3, "app.py:work:1");
	make(f, 1000, &QUERY_ALL);
	assert_int_equal(f->roles.at.n, 4); /* and the parent */
	assert_int_equal(f->roles.at.at[0].images.n, 3);
	assert_int_equal(f->roles.at.at[1].images.n, 2);
}

static void keeps_scripts_that_are_called_workers_apart(void **state)
{
	struct fixture *f = *state;
	const char *commands[] = {
		"python3 worker-1.py", "python3 worker-2.py",
		"python3 worker- 1",   "python3 worker- 2",
		"unicorn: worker [a1", "unicorn: worker [a2",
	};

	for (int i = 0; i < 6; i++)
		busy(f, add_child(f, 101 + i, commands[i], 0, 1000, 0), 0, 1000,
		     "w.py:work:1");
	make(f, 1000, &QUERY_ALL);
	assert_int_equal(f->roles.at.n, 7);
}

static void keeps_other_commands_with_other_numbers_apart(void **state)
{
	struct fixture *f = *state;

	busy(f, add_child(f, 101, "python3 w.py 1", 0, 1000, 0), 0, 1000,
	     "w.py:work:1");
	busy(f, add_child(f, 102, "python3 w.py 2", 0, 1000, 0), 0, 1000,
	     "w.py:work:1");
	make(f, 1000, &QUERY_ALL);
	/* And the parent. */
	assert_int_equal(f->roles.at.n, 3);
	assert_int_equal(f->roles.at.at[0].images.n, 1);
}

static void passes_over_children_on_their_way_to_an_exec(void **state)
{
	struct fixture *f = *state;
	uint32_t process;

	for (int i = 0; i < 3; i++) {
		process = maker_process(&f->m, f->parent, 101 + i, 0);
		maker_image(&f->m, process, 0, "python3 main.py", "3.11.2");
		maker_image(&f->m, process, 1, "gcc x.c", "");
		maker_process_end(&f->m, process, 500, VERDICT_NOT_PYTHON, 0);
	}
	make(f, 1000, &QUERY_ALL);
	assert_int_equal(f->roles.at.n, 1);
	assert_int_equal(f->roles.at.at[0].images.n, 1);
}

static void counts_those_that_were_too_short_to_be_seen(void **state)
{
	struct fixture *f = *state;
	const struct role *role;
	uint32_t process;

	for (int i = 0; i < 3; i++) {
		process = maker_process(&f->m, f->parent, 101 + i, 10 + i * 5);
		maker_image(&f->m, process, 10 + i * 5, "python3 main.py",
			    "3.11.2");
		maker_process_end(&f->m, process, 12 + i * 5, VERDICT_TOO_SHORT,
				  256);
	}
	role = pool(f, 1000);
	assert_int_equal(role->images.n, 3);
	assert_int_equal(role->bad_exits, 3);
	assert_int_equal(role->at_once, 1);
}

/* --- start-up */

/* From birth to the first of its own, for two members with this past. */
static uint64_t start_ms(struct fixture *f, const char *first,
			 const char *second)
{
	for (int i = 0; i < 2; i++) {
		uint32_t thread =
			add_child(f, 101 + i, "python3 w.py", 0, 1000, -1);

		busy(f, thread, 0, 300, first);
		busy(f, thread, 300, 700, second);
	}
	return pool(f, 1000)->start_mean_ns / PAST_MS;
}

static void takes_what_a_forked_child_inherited_for_no_work(void **state)
{
	/* main.py is below the fork: its parent's. */
	assert_int_equal(start_ms(*state, PARENT, PARENT ";main.py:work:4"),
			 300);
}

static void takes_the_import_of_main_under_spawn_for_start_up(void **state)
{
	assert_int_equal(start_ms(*state,
				  "/lib/python3.11/multiprocessing/spawn.py:"
				  "_fixup_main_from_path:291;<frozen runpy>:"
				  "run_path:291;main.py:<module>:3",
				  "/lib/python3.11/multiprocessing/spawn.py:"
				  "_main:135;" BORN ";main.py:work:4"),
			 300);
}

static void takes_the_way_to_main_for_no_import(void **state)
{
	assert_int_equal(start_ms(*state, "<frozen runpy>:_run_code:88",
				  "<frozen runpy>:_run_code:88;w.py:<module>:"
				  "9"),
			 300);
}

static void knows_no_start_of_what_was_there_before(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		struct record_process process = { .parent = f->parent,
						  .pid = 101 + i,
						  .before = true };
		uint32_t number = recorder_process(f->m.rec, &process);
		uint32_t image =
			maker_image(&f->m, number, 0, "python3 w.py", "3.11");

		busy(f, maker_thread(&f->m, number, image, 101 + i, 0, NULL), 0,
		     1000, "w.py:work:1");
		maker_process_end(&f->m, number, 1000, VERDICT_SAMPLED, -1);
	}
	assert_int_equal(pool(f, 1000)->start_known, 0);
}

/* Two children of one command line, and what they call themselves since. */
static void is_called(struct fixture *f, const char *a, const char *b,
		      const char *right)
{
	const char *const titles[] = { a, b };
	uint32_t command;

	for (int i = 0; i < 2; i++) {
		uint32_t process =
			maker_process(&f->m, f->parent, 101 + i, 100);
		uint32_t image = maker_image(&f->m, process, 100,
					     "python3 w.py", "3.11.2");

		if (titles[i])
			recorder_image_title(f->m.rec, image,
					     maker_string(&f->m, titles[i]));
		busy(f, maker_thread(&f->m, process, image, 101 + i, 100, NULL),
		     100, 900, "w.py:work:1");
		maker_process_end(&f->m, process, 1000, VERDICT_SAMPLED, 0);
	}
	command = pool(f, 1000)->command;
	assert_int_equal(command, past_string(&f->p, right));
}

static void calls_a_role_by_the_title_that_all_have(void **state)
{
	is_called(*state, "app: worker", "app: worker", "app: worker");
}

static void calls_it_by_the_command_where_titles_differ(void **state)
{
	is_called(*state, "app: reads /a", "app: idle", "python3 w.py");
}

static void calls_it_by_the_command_where_some_have_no_title(void **state)
{
	is_called(*state, "app: worker", NULL, "python3 w.py");
}

#define SMALL(name) \
	cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(finds_those_that_one_parent_forked_with_one_command),
		SMALL(adds_up_what_its_members_did),
		SMALL(tells_where_they_waited_the_longest_first),
		SMALL(counts_how_they_lived_and_ended),
		SMALL(minds_processes_and_times_that_are_asked_for),
		SMALL(is_content_when_nothing_fits),
		SMALL(writes_json_that_no_name_can_break),
		TEST(takes_pipes_of_multiprocessing_for_one_command),
		TEST(takes_numbers_of_workers_in_titles_for_one_command),
		TEST(keeps_scripts_that_are_called_workers_apart),
		TEST(keeps_other_commands_with_other_numbers_apart),
		TEST(passes_over_children_on_their_way_to_an_exec),
		TEST(counts_those_that_were_too_short_to_be_seen),
		TEST(takes_what_a_forked_child_inherited_for_no_work),
		TEST(takes_the_import_of_main_under_spawn_for_start_up),
		TEST(takes_the_way_to_main_for_no_import),
		TEST(knows_no_start_of_what_was_there_before),
		TEST(calls_a_role_by_the_title_that_all_have),
		TEST(calls_it_by_the_command_where_titles_differ),
		TEST(calls_it_by_the_command_where_some_have_no_title),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
