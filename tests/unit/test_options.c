/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/store.h"
#include "ui/progress.h"

#define ARGS_MAX 16

static char message[512];
static struct options options;

static char program[] = "forkflame";
static char words[ARGS_MAX][64];
static char *args[ARGS_MAX + 1];

/* Parse a command line given as words, which stay until the next one. */
static enum options_result parse(const char *first, ...)
{
	va_list list;
	int argc = 1;

	args[0] = program;
	va_start(list, first);
	for (const char *word = first; word;
	     word = va_arg(list, const char *)) {
		assert_true(argc < ARGS_MAX && strlen(word) < sizeof(*words));
		memcpy(words[argc], word, strlen(word) + 1);
		args[argc] = words[argc];
		argc++;
	}
	va_end(list);
	args[argc] = NULL;
	return options_parse(argc, args, &options, message, sizeof(message));
}

static void takes_a_command_with_its_own_options(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "python3", "-d", "x", NULL),
			 OPTIONS_RECORD);
	assert_string_equal(options.command[0], "python3");
	assert_string_equal(options.command[1], "-d");
	assert_int_equal(options.run.duration_ns, 0);
	assert_int_equal(options.run.interval_ns, 10000000);
}

static void ends_its_options_at_two_dashes(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-q", "--", "-x", NULL),
			 OPTIONS_RECORD);
	assert_true(options.quiet);
	assert_string_equal(options.command[0], "-x");
}

static void takes_several_processes(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-p", "7", "--pid=8,9", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.n_pids, 3);
	assert_int_equal(options.pids[2], 9);
}

static void reads_a_limit_of_the_cost(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "--max-overhead", "2.5", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.budget_ns, 25000000);
	assert_int_equal(parse("record", "x", NULL), OPTIONS_RECORD);
	assert_int_equal(options.run.budget_ns, 0);
	assert_int_equal(parse("record", "--max-overhead", "0", "x", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("record", "--max-overhead", "101", "x", NULL),
			 OPTIONS_BAD);
}

static void reads_rates_and_durations(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-r", "1k", "-d", "0.25", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.interval_ns, 1000000);
	assert_int_equal(options.run.duration_ns, 250000000);
	assert_int_equal(parse("record", "-r", "0", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-r", "nan", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-r", "1e9", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-d", "-3", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-d", "3x", "x", NULL), OPTIONS_BAD);
}

static void guesses_the_format_from_the_name(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-o", "a.folded", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.view.format, FORKFLAME_COLLAPSED);
	assert_int_equal(parse("record", "-o", "a.html", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.view.format, FORKFLAME_FLAMEGRAPH);
	assert_int_equal(
		parse("record", "-o", "a.html", "-f", "collapsed", "x", NULL),
		OPTIONS_RECORD);
	assert_int_equal(options.view.format, FORKFLAME_COLLAPSED);
}

static void takes_every_source_of_events(void **state)
{
	static const struct {
		const char *word;
		int value;
	} sources[] = { { "auto", FORKFLAME_EVENTS_AUTO },
			{ "connector", FORKFLAME_EVENTS_CONNECTOR },
			{ "perf", FORKFLAME_EVENTS_PERF },
			{ "children", FORKFLAME_EVENTS_CHILDREN },
			{ "scan", FORKFLAME_EVENTS_SCAN } };

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		assert_int_equal(
			parse("record", "--events", sources[i].word, "x", NULL),
			OPTIONS_RECORD);
		assert_int_equal(options.run.events, sources[i].value);
	}
	assert_int_equal(parse("record", "--events", "ptrace", "x", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("record", "--event-buffer", "64M", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.event_buffer, 64 << 20);
	assert_int_equal(parse("record", "--event-buffer", "0", "x", NULL),
			 OPTIONS_BAD);
}

static void takes_every_sampler(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "x", NULL), OPTIONS_RECORD);
	assert_int_equal(options.run.sampler, FORKFLAME_SAMPLER_AUTO);
	assert_int_equal(parse("record", "--sampler=stop", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.sampler, FORKFLAME_SAMPLER_STOP);
	assert_int_equal(parse("record", "--sampler=kernel", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.sampler, FORKFLAME_SAMPLER_KERNEL);
	assert_int_equal(parse("record", "--sampler=bpf", "x", NULL),
			 OPTIONS_BAD);
}

static void splits_as_strace_does(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-ff", "x", NULL), OPTIONS_RECORD);
	assert_true(options.split);
	assert_int_equal(parse("record", "-o", "a.%p", "x", NULL),
			 OPTIONS_RECORD);
	assert_true(options.split);
	assert_int_equal(parse("record", "-ff", "-o", "-", "x", NULL),
			 OPTIONS_BAD);
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-f", "gif", "x", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "'gif' is no format"));
	assert_int_equal(parse("record", "-p", "abc", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "'abc' is no process number"));
	assert_int_equal(parse("record", "-p", "0", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-p", "99999999999", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("record", "--what", "x", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "--what"));
	assert_int_equal(parse("record", "-d", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "needs a value"));
}

static void wants_one_thing_to_profile(void **state)
{
	(void)state;
	assert_int_equal(parse("record", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-p", "1", "x", NULL), OPTIONS_BAD);
}

static void knows_its_subcommand_by_its_beginning(void **state)
{
	(void)state;
	assert_int_equal(parse("r", "x", NULL), OPTIONS_RECORD);
	assert_int_equal(parse("rep", "x.ff", NULL), OPTIONS_REPORT);
	assert_int_equal(parse("rec", "x", NULL), OPTIONS_RECORD);
	assert_int_equal(parse("recorder", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse(NULL), OPTIONS_BAD);
	assert_int_equal(parse("--help", NULL), OPTIONS_HELP);
	assert_int_equal(parse("record", "-h", NULL), OPTIONS_HELP);
	assert_int_equal(parse("--version", NULL), OPTIONS_VERSION);
}

static void takes_nothing_with_check(void **state)
{
	(void)state;
	assert_int_equal(parse("check", NULL), OPTIONS_CHECK);
	assert_int_equal(parse("c", NULL), OPTIONS_CHECK);
	assert_int_equal(parse("ch", NULL), OPTIONS_CHECK);
	assert_int_equal(parse("checks", NULL), OPTIONS_BAD);
	assert_int_equal(parse("check", "--help", NULL), OPTIONS_HELP);
	assert_int_equal(parse("check", "-p", "1", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "'-p' is too much"));
}

static void dumps_running_processes_only(void **state)
{
	(void)state;
	assert_int_equal(parse("dump", "-p", "7,8", "--json", NULL),
			 OPTIONS_DUMP);
	assert_int_equal(options.n_pids, 2);
	assert_true(options.json);
	assert_int_equal(parse("d", "-p", "7", "-o", "x", NULL), OPTIONS_DUMP);
	assert_false(options.json);
	assert_string_equal(options.output, "x");
	assert_int_equal(parse("dump", NULL), OPTIONS_BAD);
	assert_int_equal(parse("dump", "-p", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("dump", "-p", "7", "sleep", NULL), OPTIONS_BAD);
	assert_int_equal(parse("dump", "-z", NULL), OPTIONS_BAD);
	assert_int_equal(parse("dump", "-h", NULL), OPTIONS_HELP);
}

static void says_which_processes_are_meant(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "x", NULL), OPTIONS_RECORD);
	assert_int_equal(options.run.depth, -1);
	assert_int_equal(options.run.uid, -1);
	assert_int_equal(parse("record", "--no-children", "x", NULL),
			 OPTIONS_RECORD);
	assert_int_equal(options.run.depth, 0);
	assert_int_equal(parse("dump", "--depth", "2", "-p", "7", NULL),
			 OPTIONS_DUMP);
	assert_int_equal(options.run.depth, 2);
	assert_int_equal(parse("record", "--depth", "1.5", "x", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("record", "--include-command", "a b",
			       "--exclude-command", "c", "x", NULL),
			 OPTIONS_RECORD);
	assert_string_equal(options.run.include_command, "a b");
	assert_string_equal(options.run.exclude_command, "c");
	assert_null(options.view.include);
}

static void watches_a_command_or_what_runs(void **state)
{
	(void)state;
	assert_int_equal(
		parse("tree", "--json", "-d", "2", "--", "x", "-y", NULL),
		OPTIONS_TREE);
	assert_true(options.json);
	assert_int_equal(options.run.duration_ns, 2000000000);
	assert_string_equal(options.command[1], "-y");
	assert_int_equal(parse("t", "-a", NULL), OPTIONS_TREE);
	assert_true(options.all);
	assert_int_equal(parse("tree", "-p", "7", "--events", "children", NULL),
			 OPTIONS_TREE);
	assert_int_equal(options.run.events, FORKFLAME_EVENTS_CHILDREN);
	assert_int_equal(parse("tree", "-h", NULL), OPTIONS_HELP);
	assert_int_equal(parse("tree", NULL), OPTIONS_BAD);
	assert_int_equal(parse("tree", "-p", "7", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("tree", "-r", "7", "x", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "'-r' is not known"));
	assert_int_equal(parse("tree", "-d", NULL), OPTIONS_BAD);
	assert_non_null(strstr(message, "'-d' needs a value"));
}

static void means_the_whole_machine_where_nothing_else_is_named(void **state)
{
	(void)state;
	assert_int_equal(parse("record", "-a", NULL), OPTIONS_RECORD);
	assert_true(options.all);
	assert_int_equal(parse("dump", "--user", "12345", NULL), OPTIONS_DUMP);
	assert_true(options.all);
	assert_int_equal(options.run.uid, 12345);
	assert_int_equal(parse("record", "--exe", "/x", "-p", "7", NULL),
			 OPTIONS_RECORD);
	assert_false(options.all);
	assert_string_equal(options.run.exe, "/x");
	assert_int_equal(parse("record", "--user", "no such", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("record", "-a", "x", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-a", "-p", "7", NULL), OPTIONS_BAD);
	assert_int_equal(parse("record", "-a", "--depth", "1", NULL),
			 OPTIONS_BAD);
}

static void knows_every_format_by_its_file(void **state)
{
	static const struct {
		const char *name;
		enum forkflame_format format;
		bool recording;
	} files[] = {
		{ "a.html", FORKFLAME_FLAMEGRAPH, false },
		{ "a.svg", FORKFLAME_SVG, false },
		{ "a.folded", FORKFLAME_COLLAPSED, false },
		{ "a.json", FORKFLAME_SPEEDSCOPE, false },
		{ "a.speedscope.json", FORKFLAME_SPEEDSCOPE, false },
		{ "a.firefox.json", FORKFLAME_FIREFOX, false },
		{ "a.chrome.json", FORKFLAME_CHROME, false },
		{ "a.pb.gz", FORKFLAME_PPROF, false },
		{ "a.callgrind", FORKFLAME_CALLGRIND, false },
		{ "callgrind.out.42", FORKFLAME_CALLGRIND, false },
		{ "a.pstats", FORKFLAME_PSTATS, false },
		{ "a.jsonl", FORKFLAME_JSONL, false },
		{ "a.flamechart", FORKFLAME_FLAMECHART, false },
		{ "a.txt", FORKFLAME_TABLE, false },
		{ "a.ff", FORKFLAME_TABLE, true },
		{ ".html", FORKFLAME_FLAMEGRAPH, false },
		{ "what", FORKFLAME_FLAMEGRAPH, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		assert_int_equal(
			parse("record", "-o", files[i].name, "x", NULL),
			OPTIONS_RECORD);
		assert_int_equal(options.view.format, files[i].format);
		assert_int_equal(options.recording, files[i].recording);
	}
}

static void takes_recordings_and_options_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(parse("report", "a.ff", "--by", "role", "b.ff", "-o",
			       "x.svg", "--since", "1.5", "--until", "2m",
			       NULL),
			 OPTIONS_REPORT);
	assert_string_equal(options.files[0], "a.ff");
	assert_string_equal(options.files[1], "b.ff");
	assert_null(options.files[2]);
	assert_int_equal(options.view.format, FORKFLAME_SVG);
	assert_int_equal(options.view.group, FORKFLAME_BY_ROLE);
	assert_int_equal(options.view.since_ns, 1500000000);
	assert_int_equal(options.view.until_ns, 120000000000);
}

static void shows_a_part_of_a_recording(void **state)
{
	(void)state;
	assert_int_equal(parse("report", "a.ff", "-p", "7,8", "--tree", "9",
			       "--thread", "pool", "-g", "--no-idle", "-F",
			       "--mode", "cpu", NULL),
			 OPTIONS_REPORT);
	assert_int_equal(options.view.n_pids, 2);
	assert_int_equal(options.view.pids[1], 8);
	assert_int_equal(options.view.trees[0], 9);
	assert_string_equal(options.view.threads[0], "pool");
	assert_true(options.view.holding);
	assert_true(options.view.busy);
	assert_int_equal(options.view.frames, FORKFLAME_FUNCTIONS);
	assert_int_equal(options.view.value, FORKFLAME_CPU);
	assert_int_equal(options.view.format, FORKFLAME_TABLE);
}

static void wants_a_recording_to_report_of(void **state)
{
	(void)state;
	assert_int_equal(parse("report", NULL), OPTIONS_BAD);
	assert_int_equal(parse("report", "a.ff", "-o", "b.ff", NULL),
			 OPTIONS_BAD);
	assert_int_equal(parse("report", "a.ff", "-ff", NULL), OPTIONS_BAD);
	assert_int_equal(parse("report", "a.ff", "--by", "x", NULL),
			 OPTIONS_BAD);
	assert_non_null(strstr(message, "'x' is nothing to go by"));
}

static void rotates_recordings_only(void **state)
{
	(void)state;
	assert_int_equal(
		parse("record", "-o", "a.ff", "--rotate", "5m", "x", NULL),
		OPTIONS_RECORD);
	assert_int_equal(options.run.rotate_ns, 300000000000);
	assert_int_equal(
		parse("record", "-o", "a.ff", "--rotate", "2M", "x", NULL),
		OPTIONS_RECORD);
	assert_int_equal(options.run.rotate_bytes, 2 << 20);
	assert_int_equal(
		parse("record", "-o", "a.html", "--rotate", "5s", "x", NULL),
		OPTIONS_BAD);
	assert_int_equal(parse("record", "-ff", "-o", "a.ff", "x", NULL),
			 OPTIONS_BAD);
}

static void names_the_files_of_a_rotated_recording(void **state)
{
	char *name;

	(void)state;
	name = store_name("a.b/run.ff", 0);
	assert_string_equal(name, "a.b/run.ff");
	free(name);
	name = store_name("a.b/run.ff", 2);
	assert_string_equal(name, "a.b/run.2.ff");
	free(name);
	name = store_name("a.b/run", 1);
	assert_string_equal(name, "a.b/run.1");
	free(name);
}

static void names_a_file_for_each_process(void **state)
{
	char *name;

	(void)state;
	name = output_name("out.folded", 1, 42, 0);
	assert_string_equal(name, "out.folded.42");
	free(name);
	name = output_name("out-%p.folded", 1, 42, 0);
	assert_string_equal(name, "out-42.folded");
	free(name);
	name = output_name("out-%p", 1, 42, 1);
	assert_string_equal(name, "out-42-2");
	free(name);
	name = output_name("100%%.html", 0, 0, 0);
	assert_string_equal(name, "100%.html");
	free(name);
}

static void shows_how_a_run_goes(void **state)
{
	struct progress_line line = { .elapsed_ns = 1000000000,
				      .samples = 100 };
	struct forkflame_progress progress = { .elapsed_ns = 2000000000,
					       .samples = 300,
					       .processes_alive = 3,
					       .processes_seen = 5 };
	char text[256];

	(void)state;
	progress_format(&line, &progress, text, sizeof(text));
	assert_non_null(strstr(text, "2.0 s"));
	assert_non_null(strstr(text, "3 processes alive, 5 seen"));
	assert_non_null(strstr(text, "200 samples/s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_command_with_its_own_options),
		cmocka_unit_test(ends_its_options_at_two_dashes),
		cmocka_unit_test(takes_several_processes),
		cmocka_unit_test(reads_a_limit_of_the_cost),
		cmocka_unit_test(reads_rates_and_durations),
		cmocka_unit_test(guesses_the_format_from_the_name),
		cmocka_unit_test(takes_every_source_of_events),
		cmocka_unit_test(takes_every_sampler),
		cmocka_unit_test(splits_as_strace_does),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(wants_one_thing_to_profile),
		cmocka_unit_test(knows_its_subcommand_by_its_beginning),
		cmocka_unit_test(takes_nothing_with_check),
		cmocka_unit_test(dumps_running_processes_only),
		cmocka_unit_test(says_which_processes_are_meant),
		cmocka_unit_test(watches_a_command_or_what_runs),
		cmocka_unit_test(
			means_the_whole_machine_where_nothing_else_is_named),
		cmocka_unit_test(knows_every_format_by_its_file),
		cmocka_unit_test(takes_recordings_and_options_in_any_order),
		cmocka_unit_test(shows_a_part_of_a_recording),
		cmocka_unit_test(wants_a_recording_to_report_of),
		cmocka_unit_test(rotates_recordings_only),
		cmocka_unit_test(names_the_files_of_a_rotated_recording),
		cmocka_unit_test(names_a_file_for_each_process),
		cmocka_unit_test(shows_how_a_run_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
