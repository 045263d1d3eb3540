/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/children.h"
#include "fakeproc.h"

#define NOW 1000000000000ull

/* 42, with where its code and its stack begin. */
#define STAT_PLACED(code, stack)                                           \
	"42 (a) S 1 7 7 0 -1 4194304 104 0 0 0 3 4 0 0 20 0 1 0 5 2990080" \
	" 443 18446744073709551615 " code " 95 " stack "\n"

/* What is watched in a test, and what the last look told. */
struct looker {
	struct children *children;
	struct events events;
};

static struct looker watch_42(const struct fakeproc *fake)
{
	struct looker looker = { .children = children_new(&fake->fs, false) };

	assert_non_null(looker.children);
	fakeproc_text(fake, "42/stat", FAKEPROC_STAT("42", "a", "S", "1", "5"));
	fakeproc_text(fake, "42/task/42/children", "");
	assert_int_equal(children_watch(looker.children, 42), 0);
	return looker;
}

/* Look, and expect @n events. */
static const struct event *look(struct looker *looker, size_t n)
{
	looker->events.n = 0;
	assert_int_equal(children_look(looker->children, NOW, &looker->events),
			 0);
	assert_int_equal(looker->events.n, n);
	return looker->events.at;
}

static void done(struct looker *looker)
{
	children_free(looker->children);
	vec_free(&looker->events);
}

static void assert_event(const struct event *event, enum event_kind kind,
			 pid_t pid, pid_t parent)
{
	assert_int_equal(event->kind, kind);
	assert_int_equal(event->pid, pid);
	assert_int_equal(event->parent, parent);
}

static void tells_nothing_while_nothing_happens(void **state)
{
	struct looker looker = watch_42(*state);

	(void)look(&looker, 0);
	(void)look(&looker, 0);
	done(&looker);
}

static void tells_of_children_of_children_in_one_look(void **state)
{
	struct looker looker = watch_42(*state);
	const struct event *events;

	/* By another thread than the leader, which has none. */
	fakeproc_text(*state, "42/task/44/children", "50 ");
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	fakeproc_text(*state, "50/task/50/children", "49 ");
	fakeproc_text(*state, "49/stat",
		      FAKEPROC_STAT("49", "c", "S", "50", "9"));
	events = look(&looker, 2);
	assert_event(&events[0], EVENT_FORK, 50, 42);
	assert_event(&events[1], EVENT_FORK, 49, 50);
	(void)look(&looker, 0);
	done(&looker);
}

/* 42, whose children that it waited for had so many faults. */
static void waited(const struct fakeproc *fake, const char *faults)
{
	char text[256];

	(void)snprintf(
		text, sizeof(text),
		"42 (a) S 1 7 7 0 -1 4194304 104 %s 0 0 3 4 0 0 20 0 1 0 "
		"5 2990080 443 18446744073709551615 94 95 140\n",
		faults);
	fakeproc_text(fake, "42/stat", text);
}

static void notices_that_a_child_was_missed(void **state)
{
	struct looker looker = watch_42(*state);

	(void)look(&looker, 0);
	waited(*state, "80");
	(void)look(&looker, 0);
	assert_event(&look(&looker, 1)[0], EVENT_LOST, 0, 0);
	assert_int_equal(children_missed(looker.children), 1);
	/* More of it is counted at once, and told a second later. */
	waited(*state, "160");
	(void)look(&looker, 0);
	(void)look(&looker, 0);
	assert_int_equal(children_missed(looker.children), 2);
	done(&looker);
}

static void takes_a_child_that_was_seen_for_none_that_was_missed(void **state)
{
	const struct fakeproc *fake = *state;

	for (int when = 0; when < 3; when++) {
		struct looker looker = watch_42(*state);

		fakeproc_text(*state, "42/task/42/children", "50 ");
		fakeproc_text(*state, "50/stat",
			      FAKEPROC_STAT("50", "b", "S", "42", "9"));
		(void)look(&looker, 1);
		/* The account grows a look before, with, or after its end. */
		if (when == 0) {
			waited(*state, "80");
			(void)look(&looker, 0);
		}
		assert_int_equal(unlinkat(fake->fs.root, "50/stat", 0), 0);
		fakeproc_text(*state, "42/task/42/children", "");
		if (when == 1)
			waited(*state, "80");
		(void)look(&looker, 1);
		waited(*state, "80");
		(void)look(&looker, 0);
		(void)look(&looker, 0);
		assert_int_equal(children_missed(looker.children), 0);
		waited(*state, "0");
		done(&looker);
	}
}

static void dates_a_birth_by_its_start_time(void **state)
{
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(*state, "42/task/42/children", "50 51 ");
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "999999999999"));
	fakeproc_text(
		*state, "51/stat",
		FAKEPROC_STAT("51", "b", "S", "42", "18446744073709551615"));
	events = look(&looker, 2);
	/* Never later than now. */
	assert_true(events[0].time_ns == NOW);
	assert_true(events[1].time_ns == NOW);
	done(&looker);
}

static void tells_once_of_a_zombie_and_of_its_end(void **state)
{
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(*state, "42/task/42/children", "50 ");
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "Z", "42", "9"));
	events = look(&looker, 2);
	assert_event(&events[0], EVENT_FORK, 50, 42);
	assert_event(&events[1], EVENT_EXIT, 50, 0);
	(void)look(&looker, 0);
	done(&looker);
}

static void tells_of_an_exec_by_the_image(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(fake, "42/exe", "x");
	(void)look(&looker, 0); /* known now, and unknown is not another */
	assert_int_equal(
		renameat(fake->fs.root, "42/exe", fake->fs.root, "42/old"), 0);
	fakeproc_text(fake, "42/exe", "y");
	events = look(&looker, 1);
	assert_event(&events[0], EVENT_EXEC, 42, 0);
	(void)look(&looker, 0);
	done(&looker);
}

static void tells_of_an_exec_that_a_child_did_before_the_look(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(fake, "42/exe", "x");
	(void)look(&looker, 0);
	fakeproc_text(fake, "42/task/42/children", "50 ");
	fakeproc_text(fake, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	fakeproc_text(fake, "50/exe", "y");
	events = look(&looker, 2);
	assert_event(&events[0], EVENT_FORK, 50, 42);
	assert_event(&events[1], EVENT_EXEC, 50, 0);
	done(&looker);
}

static void tells_of_an_end_when_the_number_is_anothers(void **state)
{
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(*state, "42/stat",
		      FAKEPROC_STAT("42", "a", "S", "1", "6"));
	events = look(&looker, 1);
	assert_event(&events[0], EVENT_EXIT, 42, 0);
	(void)look(&looker, 0);
	done(&looker);
}

static void scans_all_where_the_kernel_has_no_such_files(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);
	const struct event *events;

	assert_int_equal(unlinkat(fake->fs.root, "42/task/42/children", 0), 0);
	/* The numbers have gone around: a child's is below its parent's. */
	fakeproc_text(fake, "3/stat", FAKEPROC_STAT("3", "c", "S", "50", "9"));
	fakeproc_text(fake, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	fakeproc_text(fake, "60/stat",
		      FAKEPROC_STAT("60", "stranger", "S", "1", "9"));
	events = look(&looker, 2);
	assert_event(&events[0], EVENT_FORK, 50, 42);
	assert_event(&events[1], EVENT_FORK, 3, 50);
	(void)look(&looker, 0);
	done(&looker);
}

static void watches_no_one_who_is_not_there(void **state)
{
	struct looker looker = watch_42(*state);

	assert_int_equal(children_watch(looker.children, 7), OUT_GONE);
	assert_int_equal(children_watch(looker.children, 42), 0);
	children_forget(looker.children, 7);
	children_forget(looker.children, 42);
	fakeproc_text(*state, "42/task/42/children", "50 ");
	(void)look(&looker, 0);
	done(&looker);
}

static void finds_no_one_again_who_is_forgotten_and_not_reaped(void **state)
{
	struct looker looker = watch_42(*state);

	fakeproc_text(*state, "42/task/42/children", "50 ");
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	(void)look(&looker, 1);
	/* A pidfd was faster than the look. */
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "Z", "42", "9"));
	children_forget(looker.children, 50);
	(void)look(&looker, 0);
	(void)look(&looker, 0);
	/* Reaped, and its number is given to another child. */
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "99"));
	assert_event(look(&looker, 1), EVENT_FORK, 50, 42);
	done(&looker);
}

static void watches_again_who_was_forgotten(void **state)
{
	struct looker looker = watch_42(*state);

	children_forget(looker.children, 42);
	fakeproc_text(*state, "42/task/42/children", "50 ");
	fakeproc_text(*state, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	(void)look(&looker, 0);
	assert_int_equal(children_watch(looker.children, 42), 0);
	assert_event(look(&looker, 1), EVENT_FORK, 50, 42);
	done(&looker);
}

static void finds_children_of_known_strangers_in_a_scan(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = { .children = children_new(&fake->fs, true) };
	const struct event *events;

	fakeproc_text(fake, "42/stat", FAKEPROC_STAT("42", "a", "S", "1", "5"));
	fakeproc_text(fake, "43/stat", FAKEPROC_STAT("43", "b", "S", "1", "5"));
	assert_int_equal(children_watch(looker.children, 42), 0);
	(void)look(&looker, 0);
	fakeproc_text(fake, "44/stat",
		      FAKEPROC_STAT("44", "c", "S", "42", "6"));
	fakeproc_text(fake, "45/stat",
		      FAKEPROC_STAT("45", "d", "S", "43", "6"));
	events = look(&looker, 1);
	assert_event(&events[0], EVENT_FORK, 44, 42);
	fakeproc_text(fake, "44/stat",
		      FAKEPROC_STAT("44", "c", "Z", "42", "6"));
	events = look(&looker, 1);
	assert_event(&events[0], EVENT_EXIT, 44, 0);
	assert_int_equal(events[0].status, EVENT_NO_STATUS);
	done(&looker);
}

/* A look in its midst sees another file, but not yet where its code begins. */
static void tells_once_of_an_exec_that_takes_its_time(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);
	const struct event *events;

	fakeproc_text(fake, "42/exe", "x");
	(void)look(&looker, 0);
	assert_int_equal(
		renameat(fake->fs.root, "42/exe", fake->fs.root, "42/old"), 0);
	fakeproc_text(fake, "42/exe", "y");
	fakeproc_text(fake, "42/stat", STAT_PLACED("0", "77"));
	events = look(&looker, 1);
	assert_event(&events[0], EVENT_EXEC, 42, 0);
	fakeproc_text(fake, "42/stat", STAT_PLACED("500", "600"));
	(void)look(&looker, 0);
	fakeproc_text(fake, "42/stat", STAT_PLACED("501", "600"));
	(void)look(&looker, 1);
	done(&looker);
}

/* A child may be born in the same tick as its parent, and is found later. */
static void dates_births_of_one_tick_alike(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);
	char path[32], text[512];
	uint64_t time_ns;

	fakeproc_text(fake, "42/task/42/children", "50 ");
	fakeproc_text(fake, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	fakeproc_text(fake, "50/task/50/children", "");
	time_ns = look(&looker, 1)->time_ns;
	/* Often, since the clocks that it could rest on differ by nanoseconds. */
	for (int pid = 51; pid < 99; pid++) {
		(void)snprintf(text, sizeof(text), "%d ", pid);
		fakeproc_text(fake, "50/task/50/children", text);
		(void)snprintf(text, sizeof(text),
			       FAKEPROC_STAT("%d", "b", "S", "50", "9"), pid);
		(void)snprintf(path, sizeof(path), "%d/stat", pid);
		fakeproc_text(fake, path, text);
		assert_int_equal(look(&looker, 1)->time_ns, time_ns);
	}
	done(&looker);
}

static void a_zombie_that_was_forgotten_is_not_told_of_again(void **state)
{
	const struct fakeproc *fake = *state;
	struct looker looker = watch_42(*state);

	fakeproc_text(fake, "42/task/42/children", "50 ");
	fakeproc_text(fake, "50/stat",
		      FAKEPROC_STAT("50", "b", "S", "42", "9"));
	(void)look(&looker, 1);
	fakeproc_text(fake, "50/stat",
		      FAKEPROC_STAT("50", "b", "Z", "42", "9"));
	children_forget(looker.children, 50);
	(void)look(&looker, 0);
	done(&looker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FAKE(tells_nothing_while_nothing_happens),
		WITH_FAKE(tells_of_children_of_children_in_one_look),
		WITH_FAKE(notices_that_a_child_was_missed),
		WITH_FAKE(takes_a_child_that_was_seen_for_none_that_was_missed),
		WITH_FAKE(dates_a_birth_by_its_start_time),
		WITH_FAKE(tells_once_of_a_zombie_and_of_its_end),
		WITH_FAKE(tells_of_an_exec_by_the_image),
		WITH_FAKE(tells_of_an_exec_that_a_child_did_before_the_look),
		WITH_FAKE(tells_of_an_end_when_the_number_is_anothers),
		WITH_FAKE(scans_all_where_the_kernel_has_no_such_files),
		WITH_FAKE(tells_once_of_an_exec_that_takes_its_time),
		WITH_FAKE(dates_births_of_one_tick_alike),
		WITH_FAKE(a_zombie_that_was_forgotten_is_not_told_of_again),
		WITH_FAKE(finds_children_of_known_strangers_in_a_scan),
		WITH_FAKE(watches_no_one_who_is_not_there),
		WITH_FAKE(finds_no_one_again_who_is_forgotten_and_not_reaped),
		WITH_FAKE(watches_again_who_was_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
