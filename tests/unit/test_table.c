/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "tabletest.h"

static void tells_what_was_run_and_how_it_went(void **state)
{
	assert_has(table(*state),
		   "python3 app.py\n"
		   "host, 2023-11-14 22:13:20 UTC, 2.00 s at 100 Hz, 4 CPUs\n"
		   "6 processes: 6 sampled; 7 threads; "
		   "3.40 s CPU in 8.90 s wall\n"
		   "! events of births and ends were lost 1 time (3)\n");
}

static void tells_the_hottest_functions_and_their_callers(void **state)
{
	assert_has(
		table(*state),
		"\nhottest functions by wall time (8.90 s)\n"
		" self %    self s total %   total s  function                "
		"     file:line\n"
		"   32.6      2.90    32.6      2.90  work                    "
		"     app.py:31\n"
		"   21.3      1.90    21.3      1.90  wait                    "
		"     pool.py:90\n"
		"   20.2      1.80    20.2      1.80  feed                    "
		"     pool.py:20\n"
		"   12.4      1.10    12.4      1.10  get                     "
		"     pool.py:50\n"
		"    6.7      0.60     6.7      0.60  na\xc3\xafve\\u202e     "
		"             evil.py:1\n"
		"    2.2      0.20     2.2      0.20  exec                    "
		"     os.py:600\n"
		"    1.1      0.10    69.7      6.20  <module>                "
		"     app.py:40\n"
		"    1.1      0.10     1.1      0.10  "
		"we;ird <b>&\"\\\\\\x01\\n\\xff:fn  dir;x/a:<b>.py:7\n"
		"    2.2      0.20     2.2      0.20  (no Python on the stack)\n"
		"and by what they call:\n"
		"    0.0      0.00    68.5      6.10  main                    "
		"     app.py:12\n"
		"    0.0      0.00    21.3      1.90  run                     "
		"     threading.py:5\n");
}

static void tells_who_lived_when_and_ended_how(void **state)
{
	assert_has(
		table(*state),
		"\nprocesses\n"
		"pid         start s    end s    CPU s  CPU %  GIL %  ended      "
		" Python   command\n"
		"100            0.00     2.00     0.20   10.0   40.0  ok         "
		" 3.11.2   python3 app.py\n"
		"  101          0.10     0.90     0.40   50.0   25.0  exit 1     "
		" 3.11.2   python3 app.py\n"
		"  102          0.10     1.50     0.90   64.3    0.0  SIGKILL    "
		" 3.11.2   python3 app.py\n"
		"  103          0.20        -     1.30   72.2    0.0  lives      "
		" 3.11.2   python3 app.py\n"
		"    101        1.00     1.80     0.40   50.0    0.0  ok         "
		" 3.12.1   python3 evil.py a;b <b>&\"\xe2\x80\xa6\n");
}

static void tells_how_the_pool_is(void **state)
{
	const char *text = table(*state);

	assert_has(text, "\npool of 4: python3 app.py (children of 100)\n"
			 "  members   4 at once, 0.10 to 2.00 s  |");
	assert_has(text, "  on CPU    71.6 \xc2\xb1 18.2 % of a life; least "
			 "0.20 s (104), most 1.30 s (103)\n");
	assert_has(text, "  waits     31.0 %: socket 11.9 %, lock 9.5 %, gil "
			 "4.8 %, pipe 4.8 %\n"
			 "  in         11.9 % socket  get ");
	assert_has(text, "  GIL       waited for 6.5 % of the time that it "
			 "wanted to run (0.20 s)\n");
	assert_has(text, "  ends      2 ended, 1 with a status not 0, 1 by a "
			 "signal\n");
	assert_has(text, "  last      1 still ran for 0.90 s when");
	/* That their lives differ does not make them uneven. */
	assert_has_not(text, "=> ");
}

static void shows_other_currencies_when_asked(void **state)
{
	struct fixture *f = *state;

	f->options.value = OUT_CPU;
	assert_has(table(f), "hottest functions by CPU time (3.40 s)\n");
	assert_has(table(f), "   76.5      2.60    76.5      2.60  work ");
	f->options.value = OUT_SAMPLES;
	assert_has(table(f), "hottest functions by samples (870 samples)\n");
	assert_has(table(f), "   31.0       270    31.0       270  work ");
	f->options.value = OUT_GIL;
	assert_has(table(f), "by time with the GIL held (3.10 s)\n");
	assert_has(table(f), "   87.1      2.70    87.1      2.70  work ");
}

static void shows_what_is_selected_only(void **state)
{
	struct fixture *f = *state;
	static const int32_t pids[] = { 102 };
	const char *text;

	f->query.pids = pids;
	f->query.n_pids = 1;
	text = table(f);
	/* Without its parent it is a root. */
	assert_has(text, "\n102        0.10 ");
	assert_has_not(text, "\n100 ");
	assert_has_not(text, "pool of");
}

static void takes_threads_and_hosts_for_no_functions(void **state)
{
	struct fixture *f = *state;
	const char *text;

	f->query.group = GROUP_THREAD;
	f->query.hosts = true;
	text = table(f);
	assert_has(text, "    2.2      0.20     2.2      0.20  (no Python on "
			 "the stack)\n");
	assert_has(text, "   32.6      2.90    32.6      2.90  work ");
	assert_has_not(text, "thread 1");
}

static void shows_files_when_they_are_asked_for(void **state)
{
	struct fixture *f = *state;

	f->query.frames = FRAMES_FILES;
	assert_has(table(f), " total s  file\n");
	assert_has(table(f), "   33.7      3.00    69.7      6.20  app.py\n");
}

static void shows_as_many_rows_as_are_asked_for(void **state)
{
	struct fixture *f = *state;
	const char *text;

	f->options.rows = 1;
	text = table(f);
	assert_has(text, "  2.90  work ");
	assert_has_not(text, "  1.80  feed ");
	assert_has(text, "   64.0      5.70                    6 more\n");
}

static void uses_no_escapes_without_colours(void **state)
{
	struct fixture *f = *state;

	assert_null(strchr(table(f), '\x1b'));
	f->options.color = true;
	assert_has(table(f), "\x1b[1mpython3 app.py\x1b[0m\n");
}

static void shows_what_changed_with_its_sign(void **state)
{
	struct fixture *f = *state;
	struct maker m;
	uint32_t process, image, thread;
	const char *text;

	maker_begin(&m, "host", PAST_UNIX_NS);
	process = maker_process(&m, RECORD_NONE, 1, 0);
	image = maker_image(&m, process, 0, PAST_APP, "3.11.2");
	thread = maker_thread(&m, process, image, 1, 0, NULL);
	maker_busy(&m, thread, 0, 3500,
		   maker_stack(&m, "app.py:<module>:41;app.py:work:30"));
	maker_busy(&m, thread, 3500, 500, maker_stack(&m, "app.py:gone:3"));
	maker_process_end(&m, process, 4000, VERDICT_SAMPLED, 0);
	maker_flush(&m, 4000);
	past_take(&f->base, &m);
	f->query.group = GROUP_ALL;
	f->options.diff = true;
	text = table(f);
	assert_has(text,
		   "functions by change of wall time (4.00 s were, "
		   "8.90 s are)\n"
		   "  self was        is    change total was        is    "
		   "change  function");
	assert_has(text, "      0.00      1.90     +1.90      0.00      1.90 "
			 "    +1.90  wait ");
	assert_has(text, "      3.50      2.90     -0.60      3.50      2.90 "
			 "    -0.60  work ");
	assert_has(text, "      0.50      0.00     -0.50      0.50      0.00 "
			 "    -0.50  gone ");
	assert_has(text, "      0.00      0.10     +0.10      3.50      6.20 "
			 "    +2.70  <module> ");
}

static int refuse(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return -ENOSPC;
}

static void passes_up_what_the_writer_could_not_do(void **state)
{
	struct fixture *f = *state;
	struct aggregate *agg = NULL;

	assert_int_equal(query_aggregate(f->p.h, &f->query, &agg), 0);
	assert_int_equal(
		out_table(f->p.h, &f->query, agg, &f->options, refuse, NULL),
		-ENOSPC);
	aggregate_free(agg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(tells_what_was_run_and_how_it_went),
		SMALL(tells_the_hottest_functions_and_their_callers),
		SMALL(tells_who_lived_when_and_ended_how),
		SMALL(tells_how_the_pool_is),
		SMALL(shows_other_currencies_when_asked),
		SMALL(shows_what_is_selected_only),
		SMALL(takes_threads_and_hosts_for_no_functions),
		SMALL(shows_files_when_they_are_asked_for),
		SMALL(shows_as_many_rows_as_are_asked_for),
		SMALL(uses_no_escapes_without_colours),
		SMALL(shows_what_changed_with_its_sign),
		SMALL(passes_up_what_the_writer_could_not_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
