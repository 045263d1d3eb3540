/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_firefox_internal.h"

#include <errno.h>

#define NONE UINT32_MAX

/* A state as a small number: its category, and if idle, what it waits for. */
static uint32_t variant_of(const struct seen *seen)
{
	enum firefox_category category = firefox_category(seen);

	if (category != FIREFOX_IDLE)
		return category;
	return FIREFOX_IDLE + (seen->wait < WAIT_COUNT ? seen->wait : 0u);
}

enum firefox_category firefox_category(const struct seen *seen)
{
	if (seen->gil == GIL_WAITED)
		return FIREFOX_GIL;
	switch (seen->run) {
	case RUN_ON_CPU:
		return FIREFOX_PYTHON;
	case RUN_STOPPED:
		return FIREFOX_STOPPED;
	default:
		return FIREFOX_IDLE;
	}
}

/* A row for @key, the number @next; *ret_new when it was not there before. */
static int row_of(struct map *map, uint64_t key, size_t next, uint32_t *ret,
		  bool *ret_new)
{
	uint64_t row;

	*ret_new = !map_get(map, key, &row);
	if (*ret_new) {
		row = next;
		if (next >= NONE || !map_put(map, key, row))
			return -ENOMEM;
	}
	*ret = (uint32_t)row;
	return 0;
}

static int source_row(struct firefox_tables *t, uint32_t file, uint32_t *ret)
{
	bool new;
	int r;

	*ret = NONE;
	if (!file)
		return 0;
	r = row_of(&t->source_of, file, t->sources.n, ret, &new);
	if (!r && new && !vec_push(&t->sources, file))
		r = -ENOMEM;
	return r;
}

static int func_row(struct firefox_tables *t, struct frame frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)frame.function << 32 | frame.file;
	/* Where only files are shown, they are what is called. */
	struct firefox_func func = {
		.name = frame.function ? frame.function : frame.file,
	};
	bool new;
	int r;

	if (!func.name)
		func.name =
			strtab_count(t->tl->history->strings) + TEXT_NO_FRAMES;
	r = source_row(t, frame.file, &func.source);
	if (!r)
		r = row_of(&t->func_of, key, t->funcs.n, ret, &new);
	if (!r && new && !vec_push(&t->funcs, func))
		r = -ENOMEM;
	return r;
}

/* @frame is NONE where there are no frames. */
static int frame_row(struct firefox_tables *t, uint32_t frame, uint32_t variant,
		     uint32_t *ret)
{
	struct frame shown = { 0 };
	struct firefox_frame row;
	bool new;
	int r;

	r = row_of(&t->frame_of, (uint64_t)frame << 8 | variant, t->frames.n,
		   ret, &new);
	if (r || !new)
		return r;
	if (frame != NONE)
		shown = timeline_frame(t->tl, frame);
	row.line = shown.line > 0 ? (uint32_t)shown.line : 0;
	row.category =
		(uint8_t)(variant < FIREFOX_IDLE ? variant : FIREFOX_IDLE);
	row.subcategory = (uint8_t)(variant - row.category);
	r = func_row(t, shown, &row.func);
	if (!r && !vec_push(&t->frames, row))
		r = -ENOMEM;
	return r;
}

/* The row of a stack whose prefix has one. */
static int stack_row(struct firefox_tables *t, uint32_t stack, uint32_t frame,
		     uint32_t variant, uint32_t prefix, uint32_t *ret)
{
	struct firefox_stack row = { .prefix = prefix };
	bool new;
	int r;

	r = row_of(&t->stack_of, (uint64_t)stack << 8 | variant, t->stacks.n,
		   ret, &new);
	if (r || !new)
		return r;
	r = frame_row(t, frame, variant, &row.frame);
	if (!r && !vec_push(&t->stacks, row))
		r = -ENOMEM;
	return r;
}

int firefox_stack(struct firefox_tables *t, const struct seen *seen,
		  uint32_t *ret)
{
	const struct stacks *stacks = filter_stacks(t->tl->filter);
	uint32_t variant = variant_of(seen);
	struct stack node = stacks_at(stacks, seen->stack);
	uint32_t prefix = NONE;
	uint64_t row;
	int r = 0;

	if (map_get(&t->stack_of, (uint64_t)seen->stack << 8 | variant, &row)) {
		*ret = (uint32_t)row;
		return 0;
	}
	if (seen->stack == STACKS_EMPTY)
		return stack_row(t, seen->stack, NONE, variant, NONE, ret);
	/* Callers run Python, whatever it is that they wait for. */
	t->path.n = 0;
	for (uint32_t at = node.parent; at != STACKS_EMPTY;
	     at = stacks_at(stacks, at).parent) {
		if (map_get(&t->stack_of, (uint64_t)at << 8 | FIREFOX_PYTHON,
			    &row)) {
			prefix = (uint32_t)row;
			break;
		}
		if (!vec_push(&t->path, at))
			return -ENOMEM;
	}
	while (!r && t->path.n) {
		uint32_t at = t->path.at[--t->path.n];

		r = stack_row(t, at, stacks_at(stacks, at).frame,
			      FIREFOX_PYTHON, prefix, &prefix);
	}
	return r ? r
		 : stack_row(t, seen->stack, node.frame, variant, prefix, ret);
}

static int put_strings(const struct firefox_tables *t, struct sink *sink)
{
	static const char *const texts[TEXT_COUNT] = {
		[TEXT_NO_FRAMES] = TIMELINE_NO_FRAMES,
		[TEXT_FORK] = "fork",
		[TEXT_EXEC] = "exec",
		[TEXT_EXIT] = "exit",
		[TEXT_GIL] = "GIL wait",
		[TEXT_IDLE] = "idle",
	};
	const struct strtab *strings = t->tl->history->strings;
	int r = 0;

	json_key(&sink->json, "stringArray");
	json_open(&sink->json, '[');
	for (uint32_t i = 0; !r && i < strtab_count(strings); i++) {
		sink_id(sink, strings, i);
		r = sink_pass(sink);
	}
	for (size_t i = 0; i < TEXT_COUNT; i++)
		json_text(&sink->json, texts[i]);
	json_close(&sink->json, ']');
	return r;
}

/* A column of @n numbers, by a rule of the table and the row. */
typedef uint64_t (*column_fn)(const struct firefox_tables *t, size_t row);

#define NULL_VALUE UINT64_MAX
#define MINUS_ONE (UINT64_MAX - 1)

static int put_column(const struct firefox_tables *t, struct sink *sink,
		      const char *key, size_t n, column_fn fn)
{
	int r = 0;

	json_key(&sink->json, key);
	json_open(&sink->json, '[');
	for (size_t i = 0; !r && i < n; i++) {
		uint64_t value = fn(t, i);

		if (value == NULL_VALUE)
			json_text(&sink->json, NULL);
		else if (value == MINUS_ONE)
			json_i64(&sink->json, -1);
		else
			sink_u64(sink, value);
		r = sink_pass(sink);
	}
	json_close(&sink->json, ']');
	return r;
}

static uint64_t null_of(const struct firefox_tables *t, size_t row)
{
	(void)t;
	(void)row;
	return NULL_VALUE;
}

static uint64_t zero_of(const struct firefox_tables *t, size_t row)
{
	(void)t;
	(void)row;
	return 0;
}

static uint64_t minus_one_of(const struct firefox_tables *t, size_t row)
{
	(void)t;
	(void)row;
	return MINUS_ONE;
}

static uint64_t source_file(const struct firefox_tables *t, size_t row)
{
	return t->sources.at[row];
}

static uint64_t func_name(const struct firefox_tables *t, size_t row)
{
	return t->funcs.at[row].name;
}

static uint64_t func_source(const struct firefox_tables *t, size_t row)
{
	uint32_t source = t->funcs.at[row].source;

	return source == NONE ? NULL_VALUE : source;
}

static uint64_t frame_func(const struct firefox_tables *t, size_t row)
{
	return t->frames.at[row].func;
}

static uint64_t frame_category(const struct firefox_tables *t, size_t row)
{
	return t->frames.at[row].category;
}

static uint64_t frame_subcategory(const struct firefox_tables *t, size_t row)
{
	return t->frames.at[row].subcategory;
}

static uint64_t frame_line(const struct firefox_tables *t, size_t row)
{
	return t->frames.at[row].line ? t->frames.at[row].line : NULL_VALUE;
}

static uint64_t stack_frame(const struct firefox_tables *t, size_t row)
{
	return t->stacks.at[row].frame;
}

static uint64_t stack_prefix(const struct firefox_tables *t, size_t row)
{
	uint32_t prefix = t->stacks.at[row].prefix;

	return prefix == NONE ? NULL_VALUE : prefix;
}

struct column {
	const char *key;
	column_fn fn; /* NULL: all false */
};

/* A table of columns, ended by an empty one. */
static int put_table(const struct firefox_tables *t, struct sink *sink,
		     const char *key, size_t n, const struct column *columns)
{
	struct json *j = &sink->json;
	int r = 0;

	json_key(j, key);
	json_open(j, '{');
	for (; !r && columns->key; columns++) {
		if (columns->fn) {
			r = put_column(t, sink, columns->key, n, columns->fn);
			continue;
		}
		json_key(j, columns->key);
		json_open(j, '[');
		for (size_t i = 0; i < n; i++)
			json_bool(j, false);
		json_close(j, ']');
	}
	json_put_u64(j, "length", n);
	json_close(j, '}');
	return r;
}

static const struct column source_columns[] = {
	{ "id", null_of },
	{ "filename", source_file },
	{ 0 },
};

static const struct column func_columns[] = {
	{ "name", func_name },       { "isJS", NULL },
	{ "relevantForJS", NULL },   { "resource", minus_one_of },
	{ "source", func_source },   { "lineNumber", null_of },
	{ "columnNumber", null_of }, { 0 },
};

static const struct column frame_columns[] = {
	{ "address", minus_one_of },    { "inlineDepth", zero_of },
	{ "category", frame_category }, { "subcategory", frame_subcategory },
	{ "func", frame_func },         { "nativeSymbol", null_of },
	{ "innerWindowID", null_of },   { "line", frame_line },
	{ "column", null_of },          { 0 },
};

static const struct column stack_columns[] = {
	{ "frame", stack_frame },
	{ "prefix", stack_prefix },
	{ 0 },
};

/* We have none of these, and all must be there. */
static const struct column resource_columns[] = {
	{ "lib", null_of },
	{ "name", null_of },
	{ "host", null_of },
	{ "type", null_of },
	{ 0 },
};

static const struct column symbol_columns[] = {
	{ "libIndex", null_of },
	{ "address", null_of },
	{ "name", null_of },
	{ "functionSize", null_of },
	{ 0 },
};

int firefox_shared(struct firefox_tables *t, struct sink *sink)
{
	int r;

	json_key(&sink->json, "shared");
	json_open(&sink->json, '{');
	r = put_strings(t, sink);
	if (!r)
		r = put_table(t, sink, "sources", t->sources.n, source_columns);
	if (!r)
		r = put_table(t, sink, "funcTable", t->funcs.n, func_columns);
	if (!r)
		r = put_table(t, sink, "frameTable", t->frames.n,
			      frame_columns);
	if (!r)
		r = put_table(t, sink, "stackTable", t->stacks.n,
			      stack_columns);
	if (!r)
		r = put_table(t, sink, "resourceTable", 0, resource_columns);
	if (!r)
		r = put_table(t, sink, "nativeSymbols", 0, symbol_columns);
	json_close(&sink->json, '}');
	return r;
}

void firefox_tables_free(struct firefox_tables *t)
{
	map_free(&t->source_of);
	map_free(&t->func_of);
	map_free(&t->frame_of);
	map_free(&t->stack_of);
	vec_free(&t->sources);
	vec_free(&t->funcs);
	vec_free(&t->frames);
	vec_free(&t->stacks);
	vec_free(&t->path);
}
