/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/out.h"
#include "profile/page.h"

static int collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

static struct str page_of(struct past *p, const struct query *query,
			  struct past *base, const struct out_options *options)
{
	struct str page = { 0 };

	assert_int_equal(out_page(p->h, query, base ? base->h : NULL, options,
				  collect, &page),
			 0);
	assert_false(page.failed);
	return page;
}

static struct str plain_page(struct past *p)
{
	return page_of(p, &QUERY_ALL, NULL, &(struct out_options){ 0 });
}

static size_t occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

#define DATA "id=\"data\">"

/* Assert that the data has a piece of JSON. */
static void assert_data(const struct str *page, const char *want)
{
	const char *data = strstr(page->at, DATA);

	assert_non_null(data);
	if (!strstr(data, want))
		fail_msg("not in the data: %s", want);
}

/* --- the long columns: base64 of LEB128 */

struct column {
	unsigned char *at;
	size_t n, i;
};

static struct column column_of(const struct str *page, const char *key)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char want[32];
	const char *text;
	struct column column = { 0 };
	uint32_t bits = 0, n = 0;

	(void)snprintf(want, sizeof(want), "\"%s\":\"", key);
	text = strstr(strstr(page->at, DATA), want);
	assert_non_null(text);
	text += strlen(want);
	column.at = malloc(strcspn(text, "\"") + 1);
	assert_non_null(column.at);
	for (; *text != '"' && *text != '='; text++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
		if (n++ % 4)
			column.at[column.n++] =
				(unsigned char)(bits >>
						(6 - 2 * ((n - 1) % 4)));
	}
	return column;
}

static uint64_t next(struct column *column)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		assert_true(column->i < column->n);
		value |= (uint64_t)(column->at[column->i] & 0x7f) << shift;
		shift += 7;
	} while (column->at[column->i++] & 0x80);
	return value;
}

struct sums {
	uint64_t wall, cpu, gil, samples; /* microseconds */
	uint64_t spans;
};

static void add_weight(struct column *column, struct sums *sums)
{
	sums->wall += next(column);
	sums->cpu += next(column);
	sums->gil += next(column);
	sums->samples += next(column);
	sums->spans++;
}

static struct sums sums_of(const struct str *page)
{
	struct column column = column_of(page, "spans");
	struct sums sums = { 0 };

	while (column.i < column.n)
		for (uint64_t left = next(&column); left; left--) {
			(void)next(&column);
			assert_true(next(&column) > 0);
			(void)next(&column);
			add_weight(&column, &sums);
		}
	free(column.at);
	return sums;
}

static void assert_sums(const struct str *page, uint64_t wall_ms,
			uint64_t cpu_ms, uint64_t gil_ms, uint64_t samples)
{
	struct sums sums = sums_of(page);

	assert_int_equal(sums.wall, wall_ms * 1000);
	assert_int_equal(sums.cpu, cpu_ms * 1000);
	assert_int_equal(sums.gil, gil_ms * 1000);
	assert_int_equal(sums.samples, samples);
}

/* --- tests */

static void weighs_what_the_recording_does(void **state)
{
	struct str page = plain_page(*state);

	assert_sums(&page, 8900, 3400, 3100, 870);
	str_free(&page);
}

static void weighs_only_what_is_asked_for(void **state)
{
	static const int32_t pids[] = { 102 };
	struct query query = QUERY_ALL;
	struct str page;

	query.pids = pids;
	query.n_pids = 1;
	page = page_of(*state, &query, NULL, &(struct out_options){ 0 });
	assert_sums(&page, 1400, 900, 1000, 140);
	assert_data(&page, "\"pid\":[102]");
	/* Its parent is not shown. */
	assert_data(&page, "\"parent\":[-1]");
	str_free(&page);

	query = QUERY_ALL;
	query.since_ns = 1900 * PAST_MS;
	page = page_of(*state, &query, NULL, &(struct out_options){ 0 });
	assert_data(&page, "\"from\":1900000,\"until\":2000000");
	assert_int_equal(sums_of(&page).wall, 300 * 1000);
	str_free(&page);
}

static void tells_births_execs_and_ends(void **state)
{
	struct str page = plain_page(*state);

	assert_data(&page, "\"pid\":[100,101,102,103,104,101]");
	assert_data(&page, "\"again\":[0,0,0,0,0,1]");
	assert_data(&page, "\"parent\":[-1,0,0,0,0,3]");
	assert_data(&page, "\"born\":[0,100000,100000,200000,300000,1000000]");
	assert_data(&page, "\"ended\":[1,1,1,0,1,1]");
	assert_data(&page, "\"status\":[0,256,9,-1,0,0]");
	assert_data(&page,
		    "\"process\":[0,1,2,3,4,4,5],\"at\":[0,100000,100000,"
		    "200000,300000,500000,1000000]");
	assert_data(&page,
		    "\"notes\":[{\"kind\":1,\"at\":1250000,\"value\":3}]");
	assert_data(&page, "\"end\":\"whole\"");
	str_free(&page);
}

static void lets_no_name_be_markup(void **state)
{
	struct str page = plain_page(*state);

	assert_int_equal(occurrences(page.at, "</script>"),
			 occurrences(page_html, "</script>"));
	assert_null(strstr(strstr(page.at, DATA), "<b>&"));
	assert_data(&page, "a;b \\u003cb\\u003e\\u0026");
	/* A byte that is no UTF-8 stays what it was. */
	assert_data(&page, "\\udcff");
	str_free(&page);
}

/* As part of a larger text it would be read as an element or a script. */
static void lets_no_summary_or_title_be_markup(void **state)
{
	struct past *p = *state;
	struct out_options options = { .title = "</script><img src=x>" };
	struct str page;

	free(p->h->runs.at[0].summary);
	p->h->runs.at[0].summary = strdup("{\"a\":\"</script>\"} no JSON");
	page = page_of(p, &QUERY_ALL, NULL, &options);
	assert_int_equal(occurrences(page.at, "</script>"),
			 occurrences(page_html, "</script>"));
	assert_null(strstr(page.at, "<img"));
	assert_data(&page, "} no JSON\"");
	str_free(&page);
}

static void lets_only_its_own_scripts_run(void **state)
{
	struct str page = plain_page(*state);
	const char *nonce = strstr(page.at, "'nonce-");
	char want[48];

	assert_non_null(nonce);
	(void)snprintf(want, sizeof(want), "nonce=\"%.16s\"", nonce + 7);
	assert_int_equal(occurrences(page.at, want), 2);
	assert_null(strstr(page.at, "{{"));
	assert_non_null(strstr(page.at, "default-src 'none'"));
	assert_null(strstr(page.at, " src="));
	assert_null(strstr(page.at, " href="));
	str_free(&page);
}

static void has_a_nonce_that_nobody_can_know_before(void **state)
{
	struct str one = plain_page(*state);
	struct str two = page_of(*state, &QUERY_ALL, NULL,
				 &(struct out_options){ .title = "x" });

	assert_int_not_equal(memcmp(strstr(one.at, "'nonce-"),
				    strstr(two.at, "'nonce-"), 23),
			     0);
	str_free(&one);
	str_free(&two);
}

static void has_a_base_only_where_one_is_given(void **state)
{
	struct past base = { 0 };
	struct str page = plain_page(*state);
	struct sums sums = { 0 };
	struct column column;

	assert_null(strstr(strstr(page.at, DATA), "\"base\":"));
	str_free(&page);
	past_small(&base);
	page = page_of(*state, &QUERY_ALL, &base, &(struct out_options){ 0 });
	column = column_of(&page, "base");
	while (column.i < column.n) {
		(void)next(&column);
		(void)next(&column);
		add_weight(&column, &sums);
	}
	assert_int_equal(sums.wall, 8900 * 1000);
	assert_int_equal(sums.cpu, 3400 * 1000);
	assert_int_equal(sums.samples, 870);
	/* Equal names and stacks of both are one. */
	assert_int_equal(occurrences(page.at, "\"threading.py\""), 1);
	free(column.at);
	str_free(&page);
	past_free(&base);
}

static int give_source(void *ctx, const char *path, char **ret, size_t *ret_len)
{
	struct str text = { 0 };

	(void)ctx;
	if (strcmp(path, "app.py") != 0)
		return -ENOENT;
	for (int i = 1; i <= 60; i++)
		str_printf(&text, "line%d <b>\n", i);
	*ret = text.at;
	*ret_len = text.len;
	return 0;
}

static void shows_lines_around_those_that_weigh(void **state)
{
	struct out_options options = { .source = give_source };
	struct str page = page_of(*state, &QUERY_ALL, NULL, &options);

	/* Frames are at 12, 30, 31, 40 and 41. */
	assert_data(&page, "\"lines\":[9,\"line9 \\u003cb\\u003e\"");
	assert_data(&page, "\"line15 \\u003cb\\u003e\",27,\"line27 ");
	assert_data(&page, "\"line34 \\u003cb\\u003e\",37,\"line37 ");
	assert_data(&page, "\"line44 ");
	assert_null(strstr(page.at, "\"line45 "));
	assert_null(strstr(page.at, "\"line16 "));
	str_free(&page);
	page = plain_page(*state);
	assert_null(strstr(strstr(page.at, DATA), "\"source\":"));
	str_free(&page);
}

static int give_short_source(void *ctx, const char *path, char **ret,
			     size_t *ret_len)
{
	(void)ctx;
	(void)path;
	*ret = strdup("one\r\ntwo");
	*ret_len = *ret ? 8 : 0;
	return *ret ? 0 : -ENOMEM;
}

static void minds_a_source_that_is_shorter_than_its_lines(void **state)
{
	struct out_options options = { .source = give_short_source };
	struct str page = page_of(*state, &QUERY_ALL, NULL, &options);

	assert_data(&page, "\"lines\":[1,\"one\",\"two\"]");
	assert_data(&page, "\"lines\":[]");
	str_free(&page);
}

static void counts_lines_as_functions_where_asked(void **state)
{
	struct query query = QUERY_ALL;
	struct str lines, functions;

	lines = page_of(*state, &query, NULL, &(struct out_options){ 0 });
	query.frames = FRAMES_FUNCTIONS;
	functions = page_of(*state, &query, NULL, &(struct out_options){ 0 });
	assert_data(&lines, "\"frames_as\":\"line\"");
	assert_data(&functions, "\"frames_as\":\"function\"");
	assert_int_equal(sums_of(&functions).wall, 8900 * 1000);
	assert_true(sums_of(&functions).spans < sums_of(&lines).spans);
	str_free(&lines);
	str_free(&functions);
}

static int refuse(void *ctx, const char *bytes, size_t len)
{
	int *left = ctx;

	(void)bytes;
	(void)len;
	return (*left)-- ? 0 : -ENOSPC;
}

static void gives_up_when_it_cannot_be_written(void **state)
{
	struct past *p = *state;

	for (int i = 0; i < 8; i++) {
		int left = i;

		assert_int_equal(out_page(p->h, &QUERY_ALL, NULL,
					  &(struct out_options){ 0 }, refuse,
					  &left),
				 -ENOSPC);
		assert_int_equal(left, -1);
	}
}

static void can_show_nothing(void **state)
{
	struct past none = { 0 };
	struct maker m = { 0 };
	struct str page;

	(void)state;
	maker_begin(&m, "host", PAST_UNIX_NS);
	maker_flush(&m, 0);
	past_take(&none, &m);
	page = plain_page(&none);
	assert_data(&page, "\"span_count\":0");
	assert_data(&page, "\"end\":\"running\"");
	str_free(&page);
	past_free(&none);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(weighs_what_the_recording_does),
		TEST(weighs_only_what_is_asked_for),
		TEST(tells_births_execs_and_ends),
		TEST(lets_no_name_be_markup),
		TEST(lets_no_summary_or_title_be_markup),
		TEST(lets_only_its_own_scripts_run),
		TEST(has_a_nonce_that_nobody_can_know_before),
		TEST(has_a_base_only_where_one_is_given),
		TEST(shows_lines_around_those_that_weigh),
		TEST(minds_a_source_that_is_shorter_than_its_lines),
		TEST(counts_lines_as_functions_where_asked),
		TEST(gives_up_when_it_cannot_be_written),
		TEST(can_show_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
