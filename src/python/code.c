/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kinds of things are kept, by address: code objects here, and their names
 * in python/name. A capture is of three steps, each of which is one readv,
 * whatever the number of frames; the last two only when something is new:
 *
 *  1. read_checks: of each code object its fields; of each name that a known one
 *     has, its length and hash, or, where it has no hash, its first bytes; but not
 *     of an object that is known by its number (struct codeseen);
 *  2. judge: what is as it was stays. For the rest, plan_reading fetches the
 *     heads of names and the beginnings of line tables;
 *  3. read_code: from what was fetched, unless it is longer than that.
 *
 * `round` counts captures: what was looked at in this one carries its number, so
 * recursion and common file names cost nothing.
 */
#include "python/code_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "python/linetable.h"

#define TABLE_HEAD 1024 /* bytes of a line table that are read at once */

/* A name may be empty; but a frame whose function is 0 is one to be left out. */
#define NO_NAME "<no name>"

/* Of CODE_UNKNOWN. */
#define FREED "[freed function]"

struct codecache *codecache_new(struct strtab *strings)
{
	struct codecache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->strings = strings;
	cache->no_name = strtab_id(strings, NO_NAME, strlen(NO_NAME));
	cache->freed = strtab_id(strings, FREED, strlen(FREED));
	cache->prefetch = prefetch_new();
	if (!cache->prefetch || cache->no_name == STRTAB_NONE ||
	    cache->freed == STRTAB_NONE) {
		codecache_free(cache);
		return NULL;
	}
	return cache;
}

static void forget_all(struct codecache *cache)
{
	for (size_t i = 0; i < cache->codes.n; i++)
		free(cache->codes.at[i].table);
	cache->codes.n = 0;
	cache->forgotten++;
	cache->table_bytes = 0;
	map_clear(&cache->code_at);
	names_clear(&cache->names);
}

void codecache_free(struct codecache *cache)
{
	if (!cache)
		return;
	forget_all(cache);
	vec_free(&cache->codes);
	map_free(&cache->code_at);
	names_free(&cache->names);
	vec_free(&cache->todo_codes);
	vec_free(&cache->todo_names);
	vec_free(&cache->ranges);
	vec_free(&cache->buffer);
	prefetch_free(cache->prefetch);
	free(cache);
}

/* The index of the code object at @addr, known or new; UINT32_MAX: no memory. */
static uint32_t code_index(struct codecache *cache, uint64_t addr)
{
	struct code code = { .addr = addr };
	uint64_t i;

	if (map_get(&cache->code_at, addr, &i))
		return (uint32_t)i;
	i = cache->codes.n;
	if (i >= UINT32_MAX || !vec_push(&cache->codes, code))
		return UINT32_MAX;
	if (!map_put(&cache->code_at, addr, i)) {
		cache->codes.n--;
		return UINT32_MAX;
	}
	return (uint32_t)i;
}

static bool add_range(struct codecache *cache, uint64_t addr, struct span span)
{
	struct mem_range range = { .addr = addr + span.from,
				   .len = span.end - span.from };

	if (addr > UINT64_MAX - span.end ||
	    !vec_reserve(&cache->buffer, range.len) ||
	    !vec_push(&cache->ranges, range))
		return false;
	cache->buffer.n += range.len;
	return true;
}

static bool plan_name(struct codecache *cache, const struct layout *layout,
		      uint32_t i)
{
	struct name *name = &cache->names.all.at[i];

	if (name->asked == cache->round || !name->valid)
		return true;
	name->asked = cache->round;
	return vec_push(&cache->todo_names, i) &&
	       add_range(cache, name->addr, name_span(layout, name));
}

static int plan_codes(struct codecache *cache, const struct layout *layout,
		      const struct rawframe *frames, size_t n, uint32_t *ids)
{
	struct span span = codefields_span(layout);

	for (size_t i = 0; i < n; i++) {
		uint64_t addr = frames[i].code;
		struct code *code;

		if (i && addr == frames[i - 1].code) {
			ids[i] = ids[i - 1];
			continue;
		}
		if (!addr || addr % 8 || addr > UINT64_MAX - CODEFIELDS_MAX)
			return OUT_TORN;
		ids[i] = code_index(cache, addr);
		if (ids[i] == UINT32_MAX)
			return -ENOMEM;
		code = &cache->codes.at[ids[i]];
		if (code->round == cache->round)
			continue;
		code->round = cache->round;
		if (!vec_push(&cache->todo_codes, ids[i]) ||
		    !add_range(cache, addr, span))
			return -ENOMEM;
	}
	return 0;
}

/* Is it known to be the same if its fields are? */
static bool is_seen(const struct codecache *cache, const struct codeseen *seen,
		    uint32_t id)
{
	const struct code *code = &cache->codes.at[id];

	return seen && code->fields.version && id < seen->n &&
	       seen->at[id] == code->read;
}

/* All that was asked for is as it is in this process. */
static void note_seen(const struct codecache *cache, struct codeseen *seen)
{
	for (size_t i = 0; i < cache->todo_codes.n; i++) {
		uint32_t id = cache->todo_codes.at[i];

		while (seen->n <= id)
			if (!vec_push(seen, 0))
				return;
		seen->at[id] = cache->codes.at[id].read;
	}
}

/* Step 1. The ranges are those of the codes, then those of the names. */
static int read_checks(struct codecache *cache, const struct codeseen *seen,
		       const struct mem *mem, const struct layout *layout,
		       const struct rawframe *frames, size_t n, uint32_t *ids)
{
	uint8_t *to;
	int r;

	cache->todo_codes.n = 0;
	cache->todo_names.n = 0;
	cache->ranges.n = 0;
	cache->buffer.n = 0;
	r = plan_codes(cache, layout, frames, n, ids);
	if (r)
		return r;
	for (size_t i = 0; i < cache->todo_codes.n; i++) {
		struct code *code = &cache->codes.at[cache->todo_codes.at[i]];

		if (is_seen(cache, seen, cache->todo_codes.at[i]))
			continue;
		for (size_t k = 0; code->valid && k < NAMES; k++)
			if (code->names[k] != UINT32_MAX &&
			    !plan_name(cache, layout, code->names[k]))
				return -ENOMEM;
	}
	to = cache->buffer.at;
	for (size_t i = 0; i < cache->ranges.n; i++) {
		cache->ranges.at[i].buf = to;
		to += cache->ranges.at[i].len;
	}
	r = mem->readv(mem->ctx, cache->ranges.at, cache->ranges.n);
	return r == OUT_TORN ? 0 : r;
}

/* Is @type the type of code objects? Asked once for a process. */
static int check_type(struct codecache *cache, const struct mem *mem,
		      const struct layout *layout, uint64_t type)
{
	char text[5];
	uint64_t name;
	int r;

	if (type == cache->type)
		return 0;
	r = mem_read_u64(mem, type + layout->object.type_name, &name);
	if (!r)
		r = mem_read(mem, name, text, sizeof(text));
	if (r)
		return r;
	if (memcmp(text, "code", sizeof(text)) != 0)
		return OUT_TORN;
	cache->type = type;
	return 0;
}

/* Something new stands at the address of @code. */
static int take_fields(struct codecache *cache, const struct mem *mem,
		       const struct layout *layout, struct code *code,
		       const struct mem_range *range)
{
	struct codefields *fields = &code->fields;
	int r;

	code->valid = false;
	memcpy(code->bytes, range->buf, range->len);
	if (!codefields_parse(layout, code->bytes, fields))
		return OUT_TORN;
	r = check_type(cache, mem, layout, fields->type);
	for (size_t k = 0; !r && k < NAMES; k++) {
		code->names[k] = UINT32_MAX;
		if (!fields->names[k])
			continue;
		code->names[k] = names_index(&cache->names, fields->names[k]);
		if (code->names[k] == UINT32_MAX)
			return -ENOMEM;
	}
	return r;
}

bool code_names_changed(const struct codecache *cache, const struct code *code)
{
	for (size_t k = 0; k < NAMES; k++) {
		const struct name *name;

		if (code->names[k] == UINT32_MAX)
			continue;
		name = &cache->names.all.at[code->names[k]];
		if (!name->valid || name->changed > code->read)
			return true;
	}
	return false;
}

/* What of step 1 is as it was, and what must be read again. */
static int judge(struct codecache *cache, const struct mem *mem,
		 const struct layout *layout)
{
	const struct mem_range *range = cache->ranges.at + cache->todo_codes.n;
	int r = 0;

	for (size_t i = 0; i < cache->todo_names.n; i++, range++) {
		struct name *name =
			&cache->names.all.at[cache->todo_names.at[i]];

		if (range->got < range->len)
			name->valid = false;
		else
			name_check(name, layout, range->buf, cache->round);
	}
	range = cache->ranges.at;
	for (size_t i = 0; !r && i < cache->todo_codes.n; i++, range++) {
		struct code *code = &cache->codes.at[cache->todo_codes.at[i]];

		if (range->got < range->len)
			return OUT_TORN;
		code->stale = !code->valid || code_names_changed(cache, code) ||
			      !codefields_same(layout, code->bytes, range->buf);
		if (code->stale)
			r = take_fields(cache, mem, layout, code, range);
	}
	return r;
}

/* Step 2: fetch the beginnings of all names and tables that are to be read. */
static int plan_reading(struct codecache *cache, const struct mem *mem,
			const struct layout *layout)
{
	struct prefetch *p = cache->prefetch;

	prefetch_start(p, mem);
	for (size_t i = 0; i < cache->todo_codes.n; i++) {
		struct code *code = &cache->codes.at[cache->todo_codes.at[i]];

		if (!code->stale)
			continue;
		for (size_t k = 0; k < NAMES; k++) {
			struct name *name;

			if (code->names[k] == UINT32_MAX)
				continue;
			name = &cache->names.all.at[code->names[k]];
			if (name->checked == cache->round ||
			    name->planned == cache->round)
				continue;
			name->planned = cache->round;
			prefetch_plan(p, name->addr, PYSTR_HEAD);
		}
		prefetch_plan(p, code->fields.table,
			      layout->object.bytes_data + TABLE_HEAD);
	}
	return prefetch_fetch(p);
}

static int read_table(struct codecache *cache, const struct mem *mem,
		      const struct layout *layout, struct code *code)
{
	uint64_t addr = code->fields.table, len;
	int r;

	cache->table_bytes -= code->table_len;
	free(code->table);
	code->table = NULL;
	code->table_len = 0;
	code->lines_kind = layout->lines_kind;
	for (size_t i = 0; i < LINES_KEPT; i++)
		code->lines[i].instr = -1;
	r = mem_read_u64(mem, addr + layout->object.bytes_size, &len);
	if (r || !len || len > CODE_MAX_LINETABLE ||
	    cache->table_bytes > 2 * CODE_MAX_TABLES)
		return r;
	code->table = malloc(len);
	if (!code->table)
		return -ENOMEM;
	code->table_len = len;
	cache->table_bytes += len;
	return mem_read(mem, addr + layout->object.bytes_data, code->table,
			len);
}

/*
 * The trampoline that calls an __init__ has but one string, "__init__", for its
 * names and its file. (Python/specialize.c, _Py_InitCleanup: from 3.12.)
 */
static bool is_trampoline(const struct codecache *cache,
			  const struct code *code)
{
	const uint64_t *names = code->fields.names;
	const char *text;
	size_t len;

	if (names[NAME_QUALIFIED] != names[NAME_FILE] ||
	    names[NAME_PLAIN] != names[NAME_FILE])
		return false;
	text = strtab_get(cache->strings,
			  cache->names.all.at[code->names[NAME_FILE]].id, &len);
	return len == 8 && !memcmp(text, "__init__", 8);
}

static int read_code(struct codecache *cache, const struct mem *mem,
		     const struct layout *layout, struct code *code)
{
	int r;

	for (size_t k = 0; k < NAMES; k++) {
		if (code->names[k] == UINT32_MAX)
			continue;
		r = names_read(&cache->names, cache->strings, code->names[k],
			       mem, layout, cache->round);
		if (r)
			return r;
	}
	r = read_table(cache, mem, layout, code);
	if (r)
		return r;
	code->hidden = is_trampoline(cache, code);
	code->read = cache->round;
	code->valid = true;
	return 0;
}

static bool is_full(const struct codecache *cache)
{
	return cache->codes.n > CODE_MAX_ENTRIES ||
	       cache->names.all.n > CODE_MAX_STRINGS ||
	       cache->table_bytes > CODE_MAX_TABLES;
}

/* Steps 2 and 3, when anything is stale. */
static int read_stale(struct codecache *cache, const struct mem *mem,
		      const struct layout *layout)
{
	struct code *code;
	size_t n = cache->todo_codes.n, i;
	int r;

	for (i = 0; i < n; i++)
		if (cache->codes.at[cache->todo_codes.at[i]].stale)
			break;
	if (i == n)
		return 0;
	cache->learnt = true;
	r = plan_reading(cache, mem, layout);
	for (; !r && i < n; i++) {
		code = &cache->codes.at[cache->todo_codes.at[i]];
		if (code->stale)
			r = read_code(cache, prefetch_mem(cache->prefetch),
				      layout, code);
	}
	return r;
}

int codecache_capture(struct codecache *cache, struct codeseen *seen,
		      const struct mem *mem, const struct layout *layout,
		      const struct rawframe *frames, size_t n, uint32_t *ids)
{
	int r;

	cache->learnt = false;
	if (!n)
		return 0;
	if (!codefields_fit(layout))
		return OUT_TORN;
	if (is_full(cache))
		forget_all(cache);
	cache->round++;
	r = read_checks(cache, seen, mem, layout, frames, n, ids);
	if (!r)
		r = judge(cache, mem, layout);
	if (!r)
		r = read_stale(cache, mem, layout);
	if (!r && seen)
		note_seen(cache, seen);
	return r;
}

bool codecache_learnt(const struct codecache *cache)
{
	return cache->learnt;
}

void codecache_forget(struct codecache *cache)
{
	forget_all(cache);
	cache->learnt = false;
}

void codecache_expect(const struct codecache *cache, struct stackhint *hint)
{
	for (size_t i = 0; i < cache->ranges.n; i++)
		stackhint_also(hint, cache->ranges.at[i].addr,
			       cache->ranges.at[i].len);
}

struct frame codecache_frame(struct codecache *cache, uint32_t id,
			     const struct rawframe *raw)
{
	struct code *code;
	struct frame frame = { 0 };
	struct known_line *known;
	int64_t instr = raw->instr < 0 ? -1 : raw->instr;
	size_t name;

	if (id == CODE_UNKNOWN)
		return (struct frame){ .function = cache->freed };
	code = &cache->codes.at[id];
	if (code->hidden)
		return frame;
	name = code->names[NAME_QUALIFIED] != UINT32_MAX ? NAME_QUALIFIED
							 : NAME_PLAIN;
	frame.function = cache->names.all.at[code->names[name]].id;
	if (!frame.function)
		frame.function = cache->no_name;
	frame.file = cache->names.all.at[code->names[NAME_FILE]].id;
	known = &code->lines[(size_t)instr / 2 % LINES_KEPT];
	if (instr >= 0 && known->instr == instr) {
		frame.line = known->line;
		return frame;
	}
	frame.line = linetable_line(code->lines_kind, code->table,
				    code->table_len, code->fields.firstline,
				    instr);
	if (instr >= 0 && instr <= INT32_MAX)
		*known = (struct known_line){ .instr = (int32_t)instr,
					      .line = frame.line };
	return frame;
}
