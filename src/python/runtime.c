/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists are read while their owner may run. What a walk returns is one whole
 * state of them all the same, or OUT_TORN:
 *
 * 1. New interpreters and threads are put in front (2.7 to 3.15), and each
 *    interpreter counts the threads that it ever made: the fingerprint of heads
 *    and counts is taken before and after the walk, and has to be the same.
 *    Where there is no such count (up to 3.6), the kernel's tid of the newest
 *    thread stands for it: a thread born at a dead one's place has another.
 * 2. A thread state that was freed under the walk does not lead on: its memory
 *    is given back, or its first words are the allocator's, and whatever is
 *    taken for a thread there has to name the interpreter it was found in.
 * 3. Both lists end within a bound, however they are linked.
 */
#include "python/runtime.h"

#include <stdbool.h>
#include <string.h>

#include "base/map.h"
#include "base/outcome.h"

/* How many of the newest threads of an interpreter are looked at for their ids. */
#define NEWEST 64

/* The head of an interpreter: what is read of it in one call. */
struct interp {
	uint64_t addr; /* 0: none */
	uint64_t next, id, thread_head, next_thread_id;
};

#define INTERP_RANGES 4

/* Returns how many ranges there are: fields that the version has. */
static size_t interp_ranges(const struct layout *layout, struct interp *interp,
			    struct mem_range *ranges)
{
	const struct {
		uint32_t at;
		uint64_t *to;
	} fields[INTERP_RANGES] = {
		{ layout->interp.next, &interp->next },
		{ layout->interp.id, &interp->id },
		{ layout->interp.thread_head, &interp->thread_head },
		{ layout->interp.next_thread_id, &interp->next_thread_id },
	};
	size_t n = 0;

	for (size_t i = 0; i < INTERP_RANGES; i++) {
		if (fields[i].at == LAYOUT_NONE)
			continue;
		ranges[n++] = (struct mem_range){
			.addr = interp->addr + fields[i].at,
			.buf = fields[i].to,
			.len = sizeof(*fields[i].to),
		};
	}
	return n;
}

/* Up to 3.6: what stands for the count of threads ever made. */
static int interp_count(const struct mem *mem, const struct layout *layout,
			struct interp *interp)
{
	uint64_t pthread = 0;
	pid_t tid = 0;
	int r;

	if (layout->interp.next_thread_id != LAYOUT_NONE ||
	    !interp->thread_head)
		return OUT_OK;
	r = mem_read_u64(mem, interp->thread_head + layout->thread.thread_id,
			 &pthread);
	if (!r)
		r = runtime_pthread_tid(mem, pthread, &tid);
	interp->next_thread_id = (uint64_t)tid;
	/* It may have ended just now: the walk will see. */
	return r == OUT_TORN ? OUT_OK : r;
}

static int interp_read(const struct mem *mem, const struct layout *layout,
		       uint64_t addr, struct interp *ret)
{
	struct mem_range ranges[INTERP_RANGES];
	size_t n;
	int r;

	*ret = (struct interp){ .addr = addr };
	if (!addr)
		return OUT_OK;
	n = interp_ranges(layout, ret, ranges);
	r = mem->readv(mem->ctx, ranges, n);
	return r ? r : interp_count(mem, layout, ret);
}

/*
 * The first interpreter of the list, in one call where the hint is right. A
 * wrong hint may point nowhere: then the range of the list's head decides.
 */
static int interp_first(const struct mem *mem, const struct runtime *rt,
			struct interp *ret)
{
	struct mem_range ranges[1 + INTERP_RANGES];
	uint64_t head = 0;
	size_t n;
	int r;

	if (!rt->address)
		return interp_read(mem, &rt->layout, rt->interp_only, ret);
	*ret = (struct interp){ .addr = rt->interp_hint };
	ranges[0] = (struct mem_range){
		.addr = rt->address + rt->layout.runtime.interp_head,
		.buf = &head,
		.len = sizeof(head),
	};
	n = interp_ranges(&rt->layout, ret, ranges + 1);
	r = mem->readv(mem->ctx, ranges, rt->interp_hint ? 1 + n : 1);
	if (r == OUT_GONE || r == OUT_DENIED)
		return r;
	if (ranges[0].got < sizeof(head))
		return OUT_TORN;
	if (!r && head && head == rt->interp_hint)
		return interp_count(mem, &rt->layout, ret);
	return interp_read(mem, &rt->layout, head, ret);
}

/* What mark_add starts from, and the sum of all as it is given out. */
#define MARK_START 1

static uint64_t mark_sum(uint64_t mark)
{
	return mark == RUNTIME_NO_MARK ? MARK_START : mark;
}

static uint64_t mark_add(uint64_t mark, const struct interp *interp)
{
	mark = map_mix(mark, interp->addr);
	mark = map_mix(mark, interp->thread_head);
	return map_mix(mark, interp->next_thread_id);
}

int runtime_mark(const struct mem *mem, const struct runtime *rt,
		 uint64_t *ret_mark)
{
	struct interp interp;
	uint64_t mark = MARK_START;
	int r = interp_first(mem, rt, &interp);

	for (size_t i = 0; !r && interp.addr; i++) {
		if (i == RUNTIME_MAX_INTERPS)
			return OUT_TORN;
		mark = mark_add(mark, &interp);
		r = interp_read(mem, &rt->layout, interp.next, &interp);
	}
	if (r)
		return r;
	*ret_mark = mark_sum(mark);
	return OUT_OK;
}

static uint64_t field_u64(const uint8_t *from, uint16_t at)
{
	uint64_t value;

	memcpy(&value, from + at, sizeof(value));
	return value;
}

size_t runtime_thread_bytes(const struct layout *layout)
{
	const uint16_t ends[] = { layout->thread.next, layout->thread.interp,
				  layout->thread.thread_id,
				  layout->thread.native_id };
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if (ends[i] != LAYOUT_NONE && bytes < ends[i] + 8u)
			bytes = ends[i] + 8u;
	}
	return bytes;
}

static int thread_read(const struct mem *mem, const struct layout *layout,
		       uint64_t addr, const struct interp *interp,
		       struct pythread *ret, uint64_t *ret_next)
{
	uint8_t bytes[LAYOUT_MAX_THREAD];
	size_t n = runtime_thread_bytes(layout);
	int r;

	if (n > sizeof(bytes))
		return OUT_TORN;
	r = mem_read(mem, addr, bytes, n);
	if (r)
		return r;
	if (field_u64(bytes, layout->thread.interp) != interp->addr)
		return OUT_TORN;
	*ret = (struct pythread){
		.tstate = addr,
		.interp = interp->addr,
		.interp_id = interp->id,
		.pthread = field_u64(bytes, layout->thread.thread_id),
	};
	if (layout->thread.native_id != LAYOUT_NONE)
		ret->native = field_u64(bytes, layout->thread.native_id);
	*ret_next = field_u64(bytes, layout->thread.next);
	return OUT_OK;
}

/* Append the threads of one interpreter; *n counts them. */
static int interp_threads(const struct mem *mem, const struct layout *layout,
			  const struct interp *interp, struct pythread *threads,
			  size_t max, size_t *n)
{
	uint64_t at = interp->thread_head;
	int r;

	while (at) {
		if (*n == RUNTIME_MAX_THREADS)
			return OUT_TORN;
		if (*n == max)
			return OUT_FULL;
		r = thread_read(mem, layout, at, interp, &threads[*n], &at);
		if (r)
			return r;
		++*n;
	}
	return OUT_OK;
}

/*
 * A thread state is in the list before its thread runs, with the ids of the
 * thread that made it (up to 3.11) or with none, and nothing in the list's heads
 * tells when that changes. New ones are in front of those they were made by.
 */
static bool all_started(const struct layout *layout,
			const struct pythread *threads, size_t n)
{
	const bool native = layout->thread.native_id != LAYOUT_NONE;
	size_t first = 0; /* of this interpreter */

	for (size_t i = 0; i < n; i++) {
		const struct pythread *t = &threads[i];

		if (t->interp != threads[first].interp)
			first = i;
		if (!t->pthread || (native && !t->native))
			return false;
		if (i - first >= NEWEST)
			continue;
		for (size_t k = i + 1; k < n; k++) {
			if (threads[k].interp != t->interp)
				break;
			if (threads[k].pthread == t->pthread ||
			    (native && threads[k].native == t->native))
				return false;
		}
	}
	return true;
}

int runtime_threads(const struct mem *mem, const struct runtime *rt,
		    struct pythread *threads, size_t max, size_t *ret_n,
		    uint64_t *ret_mark)
{
	struct interp interp;
	uint64_t before = MARK_START, after;
	size_t n = 0;
	int r = interp_first(mem, rt, &interp);

	for (size_t i = 0; !r && interp.addr; i++) {
		if (i == RUNTIME_MAX_INTERPS)
			return OUT_TORN;
		before = mark_add(before, &interp);
		r = interp_threads(mem, &rt->layout, &interp, threads, max, &n);
		if (!r)
			r = interp_read(mem, &rt->layout, interp.next, &interp);
	}
	if (r == OUT_FULL)
		*ret_n = n;
	if (r)
		return r;
	r = runtime_mark(mem, rt, &after);
	if (r)
		return r;
	if (mark_sum(before) != after)
		return OUT_TORN;
	*ret_n = n;
	*ret_mark = all_started(&rt->layout, threads, n) ? after
							 : RUNTIME_NO_MARK;
	return OUT_OK;
}
