/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TABLETEST_H
#define TESTS_TABLETEST_H

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/out.h"
#include "profile/summary.h"

/* A history, told as a test likes, and its table. To be included after cmocka.h. */

/* A history that is told, and its table. */
struct fixture {
	struct maker m;
	struct past p, base;
	struct query query;
	struct out_options options;
	struct str text;
};

static inline int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->query = QUERY_ALL;
	maker_begin(&f->m, "host", PAST_UNIX_NS);
	return 0;
}

static inline int begin_small(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->query = QUERY_ALL;
	past_small(&f->p);
	return 0;
}

static inline int end(void **state)
{
	struct fixture *f = *state;

	past_free(&f->p);
	past_free(&f->base);
	str_free(&f->text);
	maker_free(&f->m);
	free(f);
	return 0;
}

static inline int collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

/* No line is wider than a terminal. */
static inline void assert_narrow(const char *text)
{
	size_t columns = 0;

	for (; *text; text++) {
		columns = *text == '\n' ? 0 : columns;
		columns += *text != '\n' &&
			   ((unsigned char)*text & 0xc0) != 0x80;
		assert_in_range(columns, 0, 100);
	}
}

/* The table of what has been told, or of the small history. */
static inline const char *table(struct fixture *f)
{
	struct aggregate *agg = NULL;

	if (f->m.rec)
		past_take(&f->p, &f->m);
	assert_int_equal(query_aggregate(f->p.h, &f->query, &agg), 0);
	if (f->options.diff)
		assert_int_equal(
			query_compare(agg, f->p.h, &f->query, f->base.h), 0);
	str_clear(&f->text);
	assert_int_equal(out_table(f->p.h, &f->query, agg, &f->options, collect,
				   &f->text),
			 0);
	aggregate_free(agg);
	assert_false(f->text.failed);
	if (!f->options.color)
		assert_narrow(f->text.at);
	return f->text.at;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static inline void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

/* A process with one thread, in which it is busy. */
static inline uint32_t add_busy(struct fixture *f, uint32_t parent, int32_t pid,
				const char *command, uint64_t ms,
				const char *stack)
{
	uint32_t process = maker_process(&f->m, parent, pid, 0);
	uint32_t image = maker_image(&f->m, process, 0, command, "3.11.2");
	uint32_t thread = maker_thread(&f->m, process, image, pid, 0, NULL);

	maker_busy(&f->m, thread, 0, ms, maker_stack(&f->m, stack));
	maker_process_end(&f->m, process, 1000, VERDICT_SAMPLED, 0);
	return process;
}

static inline void finish(struct fixture *f)
{
	static const char summary[] = "{\"dropped\":{\"torn\":0}}";

	recorder_summary(f->m.rec, summary, sizeof(summary) - 1);
	maker_flush(&f->m, 1000);
}

#define SMALL(name) cmocka_unit_test_setup_teardown(name, begin_small, end)
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
