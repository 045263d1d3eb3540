/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects of frames that were read some milliseconds ago, of a thread that has run
 * on since. The number that came with a frame tells what its object was. A cached one
 * with the same number is that object, whatever stands at its address now; and what is
 * read now is it if, and only if, it makes the same number, before and after.
 */
#include <errno.h>
#include <string.h>

#include "base/outcome.h"
#include "python/code_internal.h"

bool codecache_plan(const struct layout *layout, struct codeplan *ret)
{
	return codefields_plan(layout, ret);
}

/* The number of what is cached. */
static uint64_t check_of(const struct codecache *cache,
			 const struct codeplan *plan, struct code *code)
{
	uint64_t words[CODECHECK_WORDS];
	uint64_t check;

	if (code->check_round == cache->round)
		return code->check;
	memcpy(words, code->bytes, plan->words * sizeof(*words));
	check = codecheck_fields(plan, words);
	for (size_t k = 0; k < NAMES; k++) {
		const struct name *name;

		if (code->names[k] == UINT32_MAX)
			continue;
		name = &cache->names.all.at[code->names[k]];
		check = codecheck_name(check, name->head.length,
				       name->head.hash, name->lead);
	}
	code->check = check;
	code->check_round = cache->round;
	return check;
}

/* One recall. */
struct recall {
	struct codecache *cache;
	struct codeseen
		*seen; /* NULL: numbers are made of all that an object is */
	const struct mem *mem;
	const struct layout *layout;
	struct codeplan plan;
};

/* Is it this one? By the interpreter's own number, where it was checked in this process. */
static bool is_it(const struct recall *re, uint32_t id, uint64_t check)
{
	struct code *code = &re->cache->codes.at[id];

	if (!code->valid || code_names_changed(re->cache, code))
		return false;
	if (re->plan.version)
		return check && code->fields.version == check;
	return check_of(re->cache, &re->plan, code) == check;
}

/* Its id, if it is known as the object with this number. */
static uint32_t find(const struct recall *re, uint64_t addr, uint64_t check)
{
	uint64_t i;

	if (!map_get(&re->cache->code_at, addr, &i) ||
	    !is_it(re, (uint32_t)i, check))
		return CODE_UNKNOWN;
	/* After a fork each process counts on by itself. */
	if (re->plan.version &&
	    (i >= re->seen->n ||
	     re->seen->at[i] != re->cache->codes.at[i].read))
		return CODE_UNKNOWN;
	return (uint32_t)i;
}

/*
 * Is it alive? All that is left of one that was thrown away stands where it stood,
 * but for its first word, the count of references, which is then the allocator's: an
 * address, or 0 (pymalloc_free in Objects/obmalloc.c; malloc takes the type as well). Its
 * names may be others' by then. For builds with the lock: they have one count, before
 * the type.
 */
static int is_alive(const struct recall *re, uint64_t addr, bool *ret)
{
	uint64_t count;
	int r = mem_read_u64(re->mem, addr + re->layout->object.type - 8,
			     &count);

	/* From 3.14 the upper bits are flags. */
	*ret = r == 0 && (uint32_t)count && !(count >> 32 & 0xffff);
	return r;
}

/*
 * Read one. The second time proves that all parts of the first were of one object; and
 * as that lives in between, its names were its own.
 */
static int read_one(const struct recall *re, const struct rawframe *frame,
		    uint64_t check, uint32_t *ret_id)
{
	struct codecache *cache = re->cache;
	uint32_t id, again;
	uint64_t read;
	bool alive;
	int r;

	*ret_id = CODE_UNKNOWN;
	r = codecache_capture(cache, NULL, re->mem, re->layout, frame, 1, &id);
	if (r == 0 && is_it(re, id, check)) {
		read = cache->codes.at[id].read;
		r = is_alive(re, frame->code, &alive);
		if (r != 0 || !alive)
			return r;
		r = codecache_capture(cache, re->plan.version ? re->seen : NULL,
				      re->mem, re->layout, frame, 1, &again);
		if (r == 0 && again == id && cache->codes.at[id].read == read)
			*ret_id = id;
	}
	/* What cannot be a code object is not this one. */
	return r == OUT_TORN ? 0 : r;
}

int codecache_recall(struct codecache *cache, struct codeseen *seen,
		     const struct mem *mem, const struct layout *layout,
		     const struct rawframe *frames, const uint64_t *checks,
		     size_t n, uint32_t *ids)
{
	struct recall re = {
		.cache = cache, .seen = seen, .mem = mem, .layout = layout
	};
	uint64_t forgotten;
	int r = 0;

	if (!codefields_plan(layout, &re.plan))
		return OUT_UNKNOWN;
	if (!seen)
		re.plan.version = 0;
	/* Ids do not outlast a cache that was full in between: then once more. */
	for (int round = 0; round < 2 && r == 0; round++) {
		forgotten = cache->forgotten;
		for (size_t i = 0; i < n && r == 0; i++) {
			ids[i] = find(&re, frames[i].code, checks[i]);
			if (ids[i] == CODE_UNKNOWN)
				r = read_one(&re, &frames[i], checks[i],
					     &ids[i]);
		}
		if (cache->forgotten == forgotten)
			return r;
	}
	return r ? r : OUT_TORN;
}
