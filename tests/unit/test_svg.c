/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "pasttest.h"
#include "profile/svg.h"
#include "viewtest.h"

static void svg(struct viewtest *v, const struct out_options *options)
{
	str_clear(&v->text);
	assert_int_equal(out_svg(v->agg, options, view_write, &v->text), 0);
}

static void wall(struct viewtest *v)
{
	svg(v, &(struct out_options){ .value = OUT_WALL, .title = "p x" });
}

/* The class of the first block whose title begins so. */
static const char *class_of(struct viewtest *v, const char *title, char ret[16])
{
	char mark[64];
	const char *at, *group;

	(void)snprintf(mark, sizeof(mark), "<title>%s", title);
	at = strstr(v->text.at, mark);
	assert_non_null(at);
	for (group = at; strncmp(group, "<g class=\"", 10); group--)
		assert_true(group > v->text.at);
	assert_int_equal(sscanf(group, "<g class=\"%15[^\"]", ret), 1);
	return ret;
}

static void draws_a_block_for_each_node_the_heaviest_first(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "/l/lib/python3.11/a.py:light:3", 1000);
	view_stack(v, entry, "/l/lib/python3.11/a.py:heavy:5", 3000);
	wall(v);
	assert_true(view_has(
		v,
		"<g class=\"total\" data-x=\"0\" data-w=\"4000000\"><title>all\n"
		"4.00 s, 100.00 %</title><rect x=\"10.00\" y=\"66\" "
		"width=\"1180.00\" height=\"17\"/>"
		"<text x=\"13.00\" y=\"79\">all</text></g>\n"
		"<g class=\"process\" data-x=\"0\" data-w=\"4000000\">"
		"<title>1: p\n4.00 s, 100.00 %</title>"
		"<rect x=\"10.00\" y=\"84\" width=\"1180.00\" height=\"17\"/>"
		"<text x=\"13.00\" y=\"97\">1: p</text></g>\n"));
	assert_true(view_has(v,
			     " data-x=\"0\" data-w=\"3000000\"><title>heavy\n"
			     "/l/lib/python3.11/a.py:5\n3.00 s, 75.00 %</title>"
			     "<rect x=\"10.00\" y=\"102\" width=\"885.00\" "));
	assert_true(view_has(
		v, " data-x=\"3000000\" data-w=\"1000000\"><title>light\n"
		   "/l/lib/python3.11/a.py:3\n1.00 s, 25.00 %</title>"
		   "<rect x=\"895.00\" y=\"102\" width=\"295.00\" "));
}

static void tells_what_a_block_took_by_itself(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:3", 1000);
	view_stack(v, entry, "a.py:main:3;a.py:work:4", 3000);
	wall(v);
	assert_true(view_has(v, "main\na.py:3\n4.00 s, 100.00 %, by itself "
				"1.00 s, 25.00 %</title>"));
	assert_true(view_has(v, "work\na.py:4\n3.00 s, 75.00 %</title>"));
}

static void is_as_wide_as_the_history_is_long(void **state)
{
	struct viewtest *v = *state;
	struct query query = QUERY_ALL;
	struct past past = { 0 };

	past_small(&past);
	aggregate_free(v->agg);
	assert_int_equal(query_aggregate(past.h, &query, &v->agg), 0);
	wall(v);
	assert_true(view_has(v, " data-total=\"8900000\">"));
	assert_true(view_has(v, "<title>all\n8.90 s, 100.00 %</title>"));
	svg(v, &(struct out_options){ .value = OUT_SAMPLES });
	assert_true(view_has(v, " data-total=\"870\">"));
	assert_true(view_has(v, "<title>all\n870 samples, 100.00 %</title>"));
	aggregate_free(v->agg);
	v->agg = NULL;
	past_free(&past);
}

static void leaves_out_what_is_too_narrow_and_says_how_much(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");
	char stack[64];

	view_stack(v, entry, "a.py:main:1", 1000000);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(stack, sizeof(stack), "a.py:tiny:%d;a.py:x:1",
			       i + 2);
		view_stack(v, entry, stack, 10);
	}
	wall(v);
	assert_false(view_has(v, "<title>tiny"));
	assert_false(view_has(v, "<title>x\n"));
	assert_true(view_has(v, ">Too narrow to be shown: 200.0 ms, 0.02 %. "));
	/* Of one parent they are one block, as wide as they are together. */
	assert_int_equal(view_count(v, "class=\"rest\""), 1);
	assert_true(view_has(v, "<g class=\"rest\" data-x=\"1000000000\" "
				"data-w=\"200000\">"));
}

static void leaves_the_time_of_a_block_itself_empty(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	view_stack(v, entry, "a.py:main:1", 1000);
	view_stack(v, entry, "a.py:main:1;a.py:work:1", 1000);
	wall(v);
	assert_false(view_has(v, "class=\"rest\""));
	assert_false(view_has(v, "Too narrow"));
}

/* Characters that XML 1.0 has, in UTF-8, and no control among them. */
static void assert_clean(const struct viewtest *v)
{
	size_t n;

	for (size_t i = 0; i < v->text.len; i += n) {
		n = str_utf8(v->text.at + i, v->text.len - i);
		assert_true(n > 0);
		assert_true(n > 1 || v->text.at[i] >= ' ' ||
			    v->text.at[i] == '\n' || v->text.at[i] == '\t');
		assert_true(n != 3 || memcmp(v->text.at + i, "\xef\xbf", 2) ||
			    (unsigned char)v->text.at[i + 2] < 0xbe);
	}
}

static void shows_any_name_as_text(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: <script>a&b</script> ]]>");

	view_stack(v, entry, "\xff\x01.py:\xef\xbf\xbe\xef\xbf\xbf<b>\"\n:1",
		   9);
	view_stack(v, entry, "a.py:\xc3\xa9\xe2\x80\xae\x7f:1", 9);
	wall(v);
	assert_clean(v);
	assert_true(view_has(v,
			     "<title>1: &lt;script&gt;a&amp;b&lt;/script&gt; "
			     "]]&gt;\n"));
	assert_true(view_has(v, "<title>\\ufffe\\uffff&lt;b&gt;\"\\n\n"
				"\\xff\\x01.py:1\n"));
	assert_true(view_has(v, "<title>\xc3\xa9\\u202e\\x7f\n"));
	/* The style and the script, and nothing else, end in this. */
	assert_int_equal(view_count(v, "]]>"), 2);
	assert_int_equal(view_count(v, "<script>"), 1);
}

static void has_a_style_and_a_script_of_which_nothing_breaks_out(void **state)
{
	(void)state;
	assert_null(strstr(svg_css, "]]>"));
	assert_null(strstr(svg_js, "]]>"));
	assert_int_equal(strlen(svg_css), svg_css_len);
	assert_int_equal(strlen(svg_js), svg_js_len);
}

static void cuts_labels_to_the_width_of_their_blocks(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");

	/* 118, 118 and 20 pixels of 1180. */
	view_stack(v, entry, "a.py:abcdefghijklmnopqrstuvwxyz:1", 1000);
	view_stack(v, entry,
		   "a.py:\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80"
		   "\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80:1",
		   1000);
	view_stack(v, entry, "a.py:fits:1", 170);
	view_stack(v, entry, "a.py:rest:1", 7830);
	wall(v);
	assert_true(view_has(v, ">abcdefghijklmn\xe2\x80\xa6</text>"));
	assert_true(view_has(v, ">\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80"
				"\xe4\xb8\x80\xe4\xb8\x80\xe4\xb8\x80"
				"\xe4\xb8\x80\xe2\x80\xa6</text>"));
	assert_false(view_has(v, ">fits</text>"));
	assert_true(view_has(v, "<title>fits\n"));
}

static void gives_a_function_the_same_colour_everywhere(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "1: p");
	char one[16], two[16];

	view_stack(v, entry, "/x/a.py:f:1", 10);
	view_stack(v, entry, "/x/site-packages/numpy/core.py:g:1", 10);
	view_stack(v, entry, "/y/dist-packages/numpy/random/mt.py:g:2", 20);
	view_stack(v, entry, "/l/lib/python3.11/os.py:h:1", 10);
	view_stack(v, entry, "/l/lib64/python3.9/re.py:h:7", 20);
	view_stack(v, entry, "/x/python3/me.py:h:7", 20);
	wall(v);
	assert_string_equal(class_of(v, "g\n/x", one),
			    class_of(v, "g\n/y", two));
	assert_string_equal(class_of(v, "h\n/l/lib/", one),
			    class_of(v, "h\n/l/lib64/", two));
	/* The standard library is grey, the last of the hues. */
	assert_true(strtoul(one + 1, NULL, 10) >= 72);
	assert_true(strtoul(class_of(v, "h\n/x", two) + 1, NULL, 10) < 72);
	assert_true(strtoul(class_of(v, "f\n", one) + 1, NULL, 10) < 72);
	view_stack(v, view_entry(v, "2: q"), "/b.py:b:1", 9000);
	wall(v);
	assert_string_equal(class_of(v, "f\n", two), one);
}

static void charge_base(struct viewtest *v, uint32_t entry, const char *stack,
			uint64_t ms)
{
	aggregate_charge_base(v->agg, view_node(v, entry, stack),
			      (struct weight){ .wall_ns = ms * NSEC_PER_MSEC },
			      0);
}

static void shows_in_red_and_blue_what_has_changed(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "p");
	char class[16];

	view_stack(v, entry, "a.py:more:1", 3000);
	charge_base(v, entry, "a.py:more:1", 2000);
	view_stack(v, entry, "a.py:less:1", 1000);
	charge_base(v, entry, "a.py:less:1", 9000);
	view_stack(v, entry, "a.py:same:1", 2000);
	charge_base(v, entry, "a.py:same:1", 2000);
	view_stack(v, entry, "a.py:new:1", 2000);
	charge_base(v, entry, "a.py:gone:1;a.py:gone_too:1", 3000);
	svg(v, &(struct out_options){ .value = OUT_WALL, .diff = true });
	assert_string_equal(class_of(v, "more\n", class), "m3");
	assert_string_equal(class_of(v, "less\n", class), "l5");
	assert_string_equal(class_of(v, "same\n", class), "same");
	assert_string_equal(class_of(v, "new\n", class), "m5");
	assert_true(view_has(v, "<title>more\na.py:1\n3.00 s, 37.50 %; before "
				"2.00 s, 12.50 %: +1.00 s</title>"));
	assert_true(view_has(v, "<title>less\na.py:1\n1.00 s, 12.50 %; before "
				"9.00 s, 56.25 %: \xe2\x88\x92"
				"8.00 s</title>"));
	assert_true(view_has(v, "Wall time: 8.00 s; before 16.00 s."));
	assert_true(view_has(v, ">Not there any more: 3.00 s, 18.75 %. "));
}

static void calls_files_by_their_names(void **state)
{
	struct viewtest *v = *state;
	uint32_t entry = view_entry(v, "p");

	view_stack(v, entry, "a.py::0", 3000);
	view_stack(v, entry, "a.py::0;::0", 3000);
	wall(v);
	assert_true(view_has(v, "<title>a.py\na.py\n"));
	assert_true(view_has(v, "<title>(no name)\n3.00 s"));
}

static void says_so_when_there_is_nothing(void **state)
{
	struct viewtest *v = *state;

	view_node(v, view_entry(v, "1: p"), "a.py:never:1");
	wall(v);
	assert_false(view_has(v, "<g class="));
	assert_true(view_has(v, "Nothing was recorded that fits."));
}

static void passes_on_what_the_writer_says(void **state)
{
	struct viewtest *v = *state;
	struct out_options options = { .value = OUT_WALL };

	assert_int_equal(out_svg(v->agg, &options, view_refuse, NULL), -28);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, view_setup, view_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(draws_a_block_for_each_node_the_heaviest_first),
		TEST(tells_what_a_block_took_by_itself),
		TEST(is_as_wide_as_the_history_is_long),
		TEST(leaves_out_what_is_too_narrow_and_says_how_much),
		TEST(leaves_the_time_of_a_block_itself_empty),
		TEST(shows_any_name_as_text),
		TEST(has_a_style_and_a_script_of_which_nothing_breaks_out),
		TEST(cuts_labels_to_the_width_of_their_blocks),
		TEST(gives_a_function_the_same_colour_everywhere),
		TEST(shows_in_red_and_blue_what_has_changed),
		TEST(calls_files_by_their_names),
		TEST(says_so_when_there_is_nothing),
		TEST(passes_on_what_the_writer_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
