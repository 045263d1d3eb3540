/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose memory is the input: 1 byte chooses the version, 7 are not used, the
 * rest lies at BASE, code objects at its start and every SPAN bytes. Each is
 * recalled by the number that the kernel's program would make of it, and by a wrong
 * one: the first gives what reading the object gives, or nothing, the second nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "fuzzmem.h"
#include "python/code.h"

#define BASE 0x10000u
#define SPAN 512u
#define OBJECTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A process: what is known of it. */
struct target {
	struct mem mem;
	const struct layout *layout;
	struct codeplan plan;
	struct codecache *cache;
};

/* As linux/kframes.bpf.c makes it of all that an object is. */
static bool number_of(const struct target *t, uint64_t code, uint64_t *ret)
{
	uint64_t words[CODECHECK_WORDS] = { 0 };

	if (mem_read(&t->mem, code + t->plan.from, words, t->plan.words * 8u))
		return false;
	*ret = codecheck_fields(&t->plan, words);
	for (size_t i = 0; i < t->plan.n_names; i++) {
		uint64_t at = words[t->plan.names[i]], head[2];
		uint64_t lead[CODECHECK_LEAD] = { 0 };

		if (mem_read(&t->mem, at + t->plan.length, head, sizeof(head)))
			return false;
		if ((int64_t)head[1] == -1 &&
		    mem_read(&t->mem, at + t->plan.lead, lead,
			     head[0] < sizeof(lead) ? head[0] : sizeof(lead)))
			return false;
		*ret = codecheck_name(*ret, head[0], (int64_t)head[1], lead);
	}
	return true;
}

/* Recall one of a process that is @seen; NULL: as its relatives have it. */
static void recall(const struct target *t, struct codeseen *seen,
		   const struct rawframe *raw, uint64_t check)
{
	uint64_t wrong = check ^ 1;
	uint32_t id = CODE_UNKNOWN, again = CODE_UNKNOWN;
	struct frame frame, read;

	if (codecache_recall(t->cache, seen, &t->mem, t->layout, raw, &wrong, 1,
			     &id) ||
	    id != CODE_UNKNOWN)
		abort();
	for (int i = 0; i < 2; i++) {
		if (codecache_recall(t->cache, seen, &t->mem, t->layout, raw,
				     &check, 1, &id))
			abort();
		frame = codecache_frame(t->cache, id, raw);
		if (frame.line < 0)
			abort();
		if (id == CODE_UNKNOWN)
			continue;
		if (codecache_capture(t->cache, NULL, &t->mem, t->layout, raw,
				      1, &again))
			abort();
		read = codecache_frame(t->cache, again, raw);
		if (read.function != frame.function ||
		    read.file != frame.file || read.line != frame.line)
			abort();
	}
}

static void recall_all(const struct target *t, struct codeseen *seen)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		struct rawframe raw = { .code = BASE + i * SPAN,
					.instr = 2 * (int)i };
		uint32_t version = 0;
		uint64_t check;

		if (number_of(t, raw.code, &check))
			recall(t, NULL, &raw, check);
		if (!t->plan.version ||
		    mem_read(&t->mem, raw.code + t->plan.version, &version,
			     sizeof(version)))
			continue;
		recall(t, seen, &raw, version);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzzmem bytes;
	struct target t = { .mem = fuzzmem_mem(&bytes) };
	struct codeseen seen = { 0 };
	struct strtab *strings;

	if (size < 8)
		return 0;
	bytes = (struct fuzzmem){ .base = BASE,
				  .at = data + 8,
				  .len = size - 8 };
	t.layout = layout_find(3, 8 + data[0] % 8, false);
	if (!t.layout || !codecache_plan(t.layout, &t.plan))
		return 0;
	strings = strtab_new();
	t.cache = codecache_new(strings);
	if (strings && t.cache)
		recall_all(&t, &seen);
	codecache_free(t.cache);
	strtab_free(strings);
	vec_free(&seen);
	return 0;
}
