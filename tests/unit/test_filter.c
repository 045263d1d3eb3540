/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <regex.h>
#include <string.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/filter.h"

struct fixture {
	struct past p;
	struct query query;
	regex_t include, exclude;
};

/* A history of stacks alone; strings and stacks are put into it by the tests. */
static void begin(struct fixture *f, const char *include, const char *exclude)
{
	struct maker m;

	*f = (struct fixture){ .query = QUERY_ALL };
	maker_begin(&m, "host", PAST_UNIX_NS);
	maker_flush(&m, 0);
	past_take(&f->p, &m);
	assert_int_equal(regcomp(&f->include, include ? include : "",
				 REG_EXTENDED | REG_NOSUB),
			 0);
	assert_int_equal(regcomp(&f->exclude, exclude ? exclude : "",
				 REG_EXTENDED | REG_NOSUB),
			 0);
	if (include)
		f->query.include = &f->include;
	if (exclude)
		f->query.exclude = &f->exclude;
}

static void end(struct fixture *f)
{
	past_free(&f->p);
	regfree(&f->include);
	regfree(&f->exclude);
}

static uint32_t string(struct fixture *f, const char *text, size_t len)
{
	return strtab_id(f->p.h->strings, text, len);
}

/* `FILE:FUNCTION FILE:FUNCTION`, the root first; the line is the depth. */
static uint32_t stack_of(struct fixture *f, const char *text)
{
	uint32_t stack = STACKS_EMPTY;
	int line = 0;

	while (*text) {
		size_t file = strcspn(text, ":");
		size_t function = strcspn(text + file + 1, " ");
		struct frame frame = {
			.file = string(f, text, file),
			.function = string(f, text + file + 1, function),
			.line = ++line,
		};

		stack = stacks_push(f->p.h->stacks, stack,
				    stacks_frame(f->p.h->stacks, &frame));
		text += file + 1 + function;
		text += *text == ' ';
	}
	return stack;
}

/* A stack of the filter as text with lines, the root first. */
static void add_text(struct str *to, const struct filter *filter,
		     const struct fixture *f, uint32_t stack)
{
	struct stack s = stacks_at(filter_stacks(filter), stack);
	struct frame frame;

	if (stack == STACKS_EMPTY)
		return;
	add_text(to, filter, f, s.parent);
	frame = stacks_frame_at(filter_stacks(filter), s.frame);
	str_printf(to, "%s%s:", to->len ? " " : "",
		   strtab_get(f->p.h->strings, frame.file, NULL));
	str_printf(to, "%s:%d",
		   strtab_get(f->p.h->strings, frame.function, NULL),
		   (int)frame.line);
}

/* What becomes of a stack: as text, "(none)" when it is not wanted. */
static void expect_of(struct filter *filter, struct fixture *f, uint32_t stack,
		      const char *want)
{
	struct str to = { 0 };
	int r;

	stack = filter_stack(filter, stack, &r);
	assert_int_equal(r, 0);
	if (stack == STACKS_NONE)
		str_puts(&to, "(none)");
	else
		add_text(&to, filter, f, stack);
	assert_string_equal(to.at ? to.at : "", want);
	str_free(&to);
}

/* Ask for one stack by a fresh filter. */
static void expect(struct fixture *f, const char *text, const char *want)
{
	struct filter *filter = filter_new(f->p.h, &f->query);

	assert_non_null(filter);
	expect_of(filter, f, stack_of(f, text), want);
	filter_free(filter);
}

static void leaves_stacks_as_they_are_when_nothing_is_asked(void **state)
{
	struct fixture f;
	struct filter *filter;
	uint32_t stack;
	int r;

	(void)state;
	begin(&f, NULL, NULL);
	stack = stack_of(&f, "a.py:f b.py:g");
	filter = filter_new(f.p.h, &f.query);
	assert_int_equal(filter_stack(filter, stack, &r), stack);
	assert_ptr_equal(filter_stacks(filter), f.p.h->stacks);
	filter_free(filter);
	end(&f);
}

static void keeps_stacks_with_a_frame_that_fits(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "^b\\.py:g$", NULL);
	expect(&f, "a.py:f b.py:g c.py:h", "a.py:f:1 b.py:g:2 c.py:h:3");
	expect(&f, "b.py:g", "b.py:g:1");
	expect(&f, "a.py:f b.py:gg c.py:h", "(none)");
	expect(&f, "", "(none)");
	end(&f);
}

static void takes_out_frames_and_keeps_what_they_called(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, NULL, "^b\\.py:");
	expect(&f, "a.py:f b.py:g c.py:h", "a.py:f:1 c.py:h:3");
	expect(&f, "a.py:f b.py:g b.py:i", "a.py:f:1");
	expect(&f, "b.py:g", "");
	expect(&f, "", "");
	end(&f);
}

static void looks_for_frames_before_any_is_taken_out(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "b.py", "b.py");
	expect(&f, "a.py:f b.py:g c.py:h", "a.py:f:1 c.py:h:3");
	expect(&f, "a.py:f c.py:h", "(none)");
	end(&f);
}

static void drops_lines_where_functions_are_asked_for(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, NULL, NULL);
	f.query.frames = FRAMES_FUNCTIONS;
	expect(&f, "a.py:f a.py:f", "a.py:f:0 a.py:f:0");
	end(&f);
}

static void makes_neighbours_of_one_file_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, NULL, "x.py");
	f.query.frames = FRAMES_FILES;
	expect(&f, "a.py:f a.py:g b.py:h a.py:i", "a.py::0 b.py::0 a.py::0");
	/* And when what stood between them was taken out. */
	expect(&f, "a.py:f x.py:y a.py:g", "a.py::0");
	/* What has no file keeps its name. */
	expect(&f, "a.py:f :native :other", "a.py::0 :native:0 :other:0");
	end(&f);
}

static void does_not_let_a_nul_hide_a_name(void **state)
{
	struct fixture f;
	struct frame frame = { 0 };
	struct filter *filter;
	uint32_t stack;
	int r;

	(void)state;
	begin(&f, "secret", NULL);
	frame.function = string(&f, "a\0secret", 8);
	stack = stacks_push(f.p.h->stacks, STACKS_EMPTY,
			    stacks_frame(f.p.h->stacks, &frame));
	filter = filter_new(f.p.h, &f.query);
	assert_int_not_equal(filter_stack(filter, stack, &r), STACKS_NONE);
	filter_free(filter);
	end(&f);
}

static void follows_a_history_that_grows(void **state)
{
	struct fixture f;
	struct filter *filter;

	(void)state;
	begin(&f, NULL, "b.py");
	filter = filter_new(f.p.h, &f.query);
	expect_of(filter, &f, stack_of(&f, "a.py:f b.py:g"), "a.py:f:1");
	expect_of(filter, &f, stack_of(&f, "a.py:f b.py:g c.py:h"),
		  "a.py:f:1 c.py:h:3");
	expect_of(filter, &f, 4000, "(none)");
	filter_free(filter);
	end(&f);
}

static void walks_a_deep_stack(void **state)
{
	struct fixture f;
	struct filter *filter;
	uint32_t stack = STACKS_EMPTY;
	struct frame frame = { 0 };
	int r;

	(void)state;
	begin(&f, "deep", NULL);
	for (int i = 0; i < 100000; i++) {
		frame.function = string(&f, i ? "f" : "deep", i ? 1 : 4);
		frame.line = i % 7;
		stack = stacks_push(f.p.h->stacks, stack,
				    stacks_frame(f.p.h->stacks, &frame));
	}
	filter = filter_new(f.p.h, &f.query);
	stack = filter_stack(filter, stack, &r);
	assert_int_equal(stacks_at(filter_stacks(filter), stack).depth, 100000);
	filter_free(filter);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			leaves_stacks_as_they_are_when_nothing_is_asked),
		cmocka_unit_test(keeps_stacks_with_a_frame_that_fits),
		cmocka_unit_test(takes_out_frames_and_keeps_what_they_called),
		cmocka_unit_test(looks_for_frames_before_any_is_taken_out),
		cmocka_unit_test(drops_lines_where_functions_are_asked_for),
		cmocka_unit_test(makes_neighbours_of_one_file_one),
		cmocka_unit_test(does_not_let_a_nul_hide_a_name),
		cmocka_unit_test(follows_a_history_that_grows),
		cmocka_unit_test(walks_a_deep_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
