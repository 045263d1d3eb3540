/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TIMELINETEST_H
#define TESTS_TIMELINETEST_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/out.h"

/* For the tests of the views of the course of time; included after cmocka.h. */

typedef int (*view_fn)(const struct history *h, const struct query *query,
		       const struct out_options *options, out_write write,
		       void *ctx);

static inline int timeline_collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

static inline int timeline_refuse(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return -ENOSPC;
}

/* What a view writes, to be freed with str_free. It must not fail. */
static inline struct str timeline_view(view_fn view, const struct past *p,
				       const struct query *query,
				       enum out_value value)
{
	struct out_options options = { .value = value, .title = "t" };
	struct str text = { 0 };

	str_puts(&text, "");
	assert_int_equal(view(p->h, query, &options, timeline_collect, &text),
			 0);
	assert_false(text.failed);
	return text;
}

static inline void assert_has(const struct str *text, const char *part)
{
	if (!strstr(text->at, part))
		fail_msg("no %s in:\n%.3000s", part, text->at);
}

static inline void assert_has_not(const struct str *text, const char *part)
{
	if (strstr(text->at, part))
		fail_msg("%s in:\n%.3000s", part, text->at);
}

/* The sum of the numbers that stand right after each @key. */
static inline double timeline_sum(const char *text, const char *key)
{
	double sum = 0;

	while ((text = strstr(text, key))) {
		text += strlen(key);
		sum += strtod(text, NULL);
	}
	return sum;
}

/* The sum of the numbers in the arrays that stand right after each @key. */
static inline double timeline_sum_arrays(const char *text, const char *key)
{
	double sum = 0;
	char *end;

	while ((text = strstr(text, key))) {
		text += strlen(key);
		while (*text != ']') {
			sum += strtod(text, &end);
			text = end > text ? end : text + 1;
		}
	}
	return sum;
}

static inline size_t timeline_count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

/* All of it is UTF-8. */
static inline void assert_utf8(const struct str *text)
{
	size_t at = 0, n;

	while (at < text->len) {
		n = str_utf8(text->at + at, text->len - at);
		assert_true(n > 0);
		at += n;
	}
}

/* A recording of one process and thread, 100, whose slices the test tells. */
struct told {
	struct maker m;
	struct past p;
	uint32_t thread;
	struct str text;
};

static inline int told_setup(void **state)
{
	struct told *told = calloc(1, sizeof(*told));
	uint32_t process, image;

	*state = told;
	if (!told)
		return -1;
	maker_begin(&told->m, "host", PAST_UNIX_NS);
	process = maker_process(&told->m, RECORD_NONE, 100, 0);
	image = maker_image(&told->m, process, 0, "python3 a.py", "3.11.2");
	told->thread = maker_thread(&told->m, process, image, 100, 0, "Main");
	return 0;
}

static inline int told_teardown(void **state)
{
	struct told *told = *state;

	maker_free(&told->m);
	past_free(&told->p);
	str_free(&told->text);
	free(told);
	return 0;
}

/* End it, and see all of it in a view; once. */
static inline const struct str *told_view(struct told *told, view_fn view,
					  uint64_t end_ms)
{
	struct query query = QUERY_ALL;

	maker_flush(&told->m, end_ms);
	past_take(&told->p, &told->m);
	told->text = timeline_view(view, &told->p, &query, OUT_WALL);
	return &told->text;
}

#define TOLD(test) \
	cmocka_unit_test_setup_teardown(test, told_setup, told_teardown)

/* Of a test that looks at the small past of pasttest.h. */
#define SMALL(test) \
	cmocka_unit_test_setup_teardown(test, past_setup, past_teardown)

#endif
