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
#include "base/strtab.h"
#include "profile/aggregate.h"
#include "profile/out.h"
#include "profile/page.h"

struct fixture {
	struct strtab *strings;
	struct aggregate *agg;
	struct out_options options;
	struct str page;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	f->options.only = AGGREGATE_NONE;
	f->strings = strtab_new();
	f->agg = f->strings ? aggregate_new(f->strings) : NULL;
	return f->agg ? 0 : -1;
}

static int end(void **state)
{
	struct fixture *f = *state;

	aggregate_free(f->agg);
	strtab_free(f->strings);
	str_free(&f->page);
	free(f);
	return 0;
}

static uint32_t text_id(struct fixture *f, const char *text)
{
	return strtab_id(f->strings, text, strlen(text));
}

static uint32_t add_process(struct fixture *f, pid_t pid, uint32_t serial,
			    uint32_t parent, const char *command)
{
	struct process_entry entry = { .pid = pid,
				       .serial = serial,
				       .parent = parent,
				       .command = text_id(f, command),
				       .python = text_id(f, "3.12.1"),
				       .born_ns = serial * 1000,
				       .left_ns = serial * 5000 };

	return aggregate_process(f->agg, &entry);
}

static struct frame frame_of(struct fixture *f, const char *function,
			     const char *file, int32_t line)
{
	return (struct frame){ .function = text_id(f, function),
			       .file = text_id(f, file),
			       .line = line };
}

static void charge(struct fixture *f, uint32_t node, uint64_t wall_ns,
		   uint64_t cpu_ns, uint64_t samples)
{
	aggregate_charge(f->agg, node,
			 (struct weight){ .wall_ns = wall_ns,
					  .cpu_ns = cpu_ns,
					  .samples = samples });
}

static int collect(void *ctx, const char *bytes, size_t len)
{
	str_add(ctx, bytes, len);
	return 0;
}

static const char *page(struct fixture *f)
{
	str_clear(&f->page);
	assert_int_equal(out_flamegraph(f->agg, &f->options, collect, &f->page),
			 0);
	return f->page.at;
}

/* What stands between @from and the next end of a script; the caller frees. */
static char *part(const char *text, const char *from)
{
	const char *at = strstr(text, from);
	const char *to;
	size_t len;
	char *copy;

	assert_non_null(at);
	at += strlen(from);
	to = strstr(at, "</script>");
	assert_non_null(to);
	len = (size_t)(to - at);
	copy = calloc(1, len + 1);
	assert_non_null(copy);
	memcpy(copy, at, len);
	return copy;
}

static void assert_part(struct fixture *f, const char *from, const char *want)
{
	char *got = part(page(f), from);

	assert_string_equal(got, want);
	free(got);
}

#define DATA "id=\"data\">"
#define RUN "id=\"run\">"

static size_t occurrences(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* A parent with one stack, and its child that shares a frame with it. */
static void add_family(struct fixture *f)
{
	struct frame stack[] = { frame_of(f, "work", "b.py", 20),
				 frame_of(f, "<module>", "a.py", 3) };
	uint32_t parent, child, node;

	parent = add_process(f, 42, 0, AGGREGATE_NONE, "python3 a.py");
	charge(f, parent, 1000, 0, 1);
	node = aggregate_stack(f->agg, parent, stack, 2);
	charge(f, node, 7000, 2000, 3);
	child = add_process(f, 43, 1, 0, "child");
	node = aggregate_stack(f->agg, child, stack + 1, 1);
	charge(f, node, 5000, 4000, 2);
}

static void holds_the_profile_as_flat_arrays(void **state)
{
	struct fixture *f = *state;

	add_family(f);
	f->options.title = "python3 a.py";
	assert_part(f, DATA,
		    "{\"title\":\"python3 a.py\",\"nodes\":{"
		    "\"up\":[0,1,1,0,1],\"frame\":[0,0,1,1,0],"
		    "\"wall\":[1,0,7,0,5],\"cpu\":[0,0,2,0,4],"
		    "\"samples\":[1,0,3,0,2]},"
		    "\"processes\":{\"pid\":[42,43],\"serial\":[0,1],"
		    "\"parent\":[-1,0],\"image\":[0,0],\"command\":[0,1],"
		    "\"python\":[2,2],\"born\":[0,1],\"left\":[0,5]},"
		    "\"frames\":[3,4,3,5,6,20],"
		    "\"strings\":[\"python3 a.py\",\"child\",\"3.12.1\","
		    "\"\\u003cmodule\\u003e\",\"a.py\",\"work\",\"b.py\"]}");
}

static void shows_one_process_and_only_its_names(void **state)
{
	struct fixture *f = *state;

	add_family(f);
	f->options.only = 1;
	assert_part(f, DATA,
		    "{\"title\":null,\"nodes\":{"
		    "\"up\":[0,1],\"frame\":[0,0],"
		    "\"wall\":[0,5],\"cpu\":[0,4],\"samples\":[0,2]},"
		    "\"processes\":{\"pid\":[43],\"serial\":[1],"
		    "\"parent\":[0],\"image\":[0],\"command\":[0],"
		    "\"python\":[1],\"born\":[1],\"left\":[5]},"
		    "\"frames\":[2,3,3],"
		    "\"strings\":[\"child\",\"3.12.1\","
		    "\"\\u003cmodule\\u003e\",\"a.py\"]}");
}

static void is_a_page_for_an_empty_profile(void **state)
{
	assert_part(*state, DATA,
		    "{\"title\":null,\"nodes\":{\"up\":[],\"frame\":[],"
		    "\"wall\":[],\"cpu\":[],\"samples\":[]},"
		    "\"processes\":{\"pid\":[],\"serial\":[],\"parent\":[],"
		    "\"image\":[],\"command\":[],\"python\":[],\"born\":[],"
		    "\"left\":[]},\"frames\":[],\"strings\":[]}");
	assert_part(*state, RUN, "null");
}

/* Whatever strangers named their things, the page has its own tags only. */
static void lets_no_name_become_markup(void **state)
{
	struct fixture *f = *state;
	static const char evil[] =
		"</script><img src=x onerror=alert(1)>\xff{{data}}";
	struct frame frame = frame_of(f, evil, evil, 1);
	size_t tags = occurrences(page(f), "<");
	uint32_t process;

	process = add_process(f, 1, 0, AGGREGATE_NONE, evil);
	charge(f, aggregate_stack(f->agg, process, &frame, 1), 1000, 0, 1);
	f->options.title = evil;
	f->options.summary = "{\"</script>\":\"<!--&\"}";
	assert_int_equal(occurrences(page(f), "<"), tags);
	assert_non_null(strstr(f->page.at, "alert(1)\\u003e\\udcff{{data}}\""));
	assert_part(f, RUN,
		    "{\"\\u003c/script\\u003e\":\"\\u003c!--\\u0026\"}");
}

static void replaces_each_mark_of_the_template(void **state)
{
	struct fixture *f = *state;

	assert_null(strstr(page(f), "{{"));
	assert_null(strstr(f->page.at, "}}"));
	assert_non_null(strstr(f->page.at, page_css));
	assert_non_null(strstr(f->page.at, page_js));
	assert_string_equal(f->page.at + f->page.len - 8, "</html>\n");
}

static void refers_to_nothing_outside_of_itself(void **state)
{
	static const char *const ways[] = {
		"http:",          "https:",
		"//cdn",          "@import",
		"url(",           " src=",
		"<link",          "fetch(",
		"XMLHttpRequest", "WebSocket",
		"sendBeacon",     "innerHTML",
		"outerHTML",      "insertAdjacentHTML",
		"document.write", "eval(",
	};
	struct fixture *f = *state;

	(void)page(f);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		assert_null(strstr(f->page.at, ways[i]));
	assert_non_null(strstr(f->page.at, "default-src 'none'"));
}

/* The nonce that the policy names, copied out of the page. */
static void read_nonce(struct fixture *f, char nonce[17])
{
	const char *at = strstr(page(f), "'nonce-");

	assert_non_null(at);
	assert_int_equal(strspn(at + 7, "0123456789abcdef"), 16);
	memcpy(nonce, at + 7, 16);
	nonce[16] = '\0';
}

static void has_a_nonce_that_depends_on_the_profile(void **state)
{
	struct fixture *f = *state;
	char first[17], again[17], other[17];

	read_nonce(f, first);
	/* The policy names it twice; the style and the script have it. */
	assert_int_equal(occurrences(f->page.at, first), 4);
	read_nonce(f, again);
	assert_string_equal(first, again);
	add_family(f);
	read_nonce(f, other);
	assert_string_not_equal(first, other);
}

/* Refuses what comes after @left calls. */
static int refuse(void *ctx, const char *bytes, size_t len)
{
	int *left = ctx;

	(void)bytes;
	(void)len;
	return (*left)-- > 0 ? 0 : -ENOSPC;
}

static void passes_up_what_the_writer_could_not_do(void **state)
{
	struct fixture *f = *state;

	for (int calls = 0; calls < 17; calls++) {
		int left = calls;

		assert_int_equal(
			out_flamegraph(f->agg, &f->options, refuse, &left),
			-ENOSPC);
		assert_int_equal(left, -1);
	}
}

static void keeps_a_name_of_3000_characters_whole(void **state)
{
	struct fixture *f = *state;
	char name[3003] = "\"";
	struct frame frame;
	uint32_t process;

	memset(name + 1, 'n', 3000);
	name[3001] = '\0';
	frame = frame_of(f, name + 1, "", 1);
	process = add_process(f, 1, 0, AGGREGATE_NONE, "p");
	charge(f, aggregate_stack(f->agg, process, &frame, 1), 1000, 0, 1);
	name[3001] = '"';
	name[3002] = '\0';
	assert_non_null(strstr(page(f), name));
}

/* A small generator of numbers below @n; the same ones on every machine. */
static uint32_t next(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* A stack of a made-up program; its leaf's line makes it differ from others. */
static void add_stack(struct fixture *f, uint32_t process, uint64_t *seed,
		      int32_t line)
{
	uint32_t depth = 12 + next(seed, 24);
	uint64_t ms = 10 * (1 + next(seed, next(seed, 50) ? 3 : 400));
	uint32_t at = 1;
	struct frame stack[36];
	char function[32], file[48];

	for (uint32_t i = depth; i-- > 0;) {
		at = (at * 31 + next(seed, next(seed, 4) ? 2 : 9) + i) % 4000;
		(void)snprintf(function, sizeof(function), "Class%u.method_%u",
			       at / 9, at);
		(void)snprintf(file, sizeof(file), "/srv/app/pkg_%u/mod_%u.py",
			       at % 37, at % 211);
		stack[i] = frame_of(f, function, file, (int32_t)(at % 900 + 1));
	}
	stack[0].line = line;
	charge(f, aggregate_stack(f->agg, process, stack, depth), ms * 1000000,
	       ms * next(seed, 100) * 10000, ms / 10);
}

static int put(void *file, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, file) == len ? 0 : -EIO;
}

/* Write a page of 50,000 different stacks, for a browser to open. */
static int write_large(const char *path)
{
	struct fixture *f;
	FILE *file = NULL;
	uint64_t seed = 1;
	uint32_t process[9];
	void *state = NULL;
	int r;

	r = begin(&state);
	f = state;
	if (r)
		goto out;
	for (uint32_t i = 0; i < 9; i++)
		process[i] = add_process(f, 100 + (pid_t)i, i,
					 i ? 0 : AGGREGATE_NONE, "large");
	for (int32_t i = 0; i < 50000; i++)
		add_stack(f, process[i % 9], &seed, i + 1000);
	file = fopen(path, "w");
	r = file ? out_flamegraph(f->agg, &f->options, put, file) : -errno;
out:
	if (file && fclose(file))
		r = -EIO;
	if (f)
		(void)end(&state);
	return r;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* With a file's name it only writes the large page there. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(holds_the_profile_as_flat_arrays),
		TEST(shows_one_process_and_only_its_names),
		TEST(is_a_page_for_an_empty_profile),
		TEST(lets_no_name_become_markup),
		TEST(replaces_each_mark_of_the_template),
		TEST(refers_to_nothing_outside_of_itself),
		TEST(has_a_nonce_that_depends_on_the_profile),
		TEST(passes_up_what_the_writer_could_not_do),
		TEST(keeps_a_name_of_3000_characters_whole),
	};

	if (argc == 2)
		return write_large(argv[1]) ? 1 : 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
