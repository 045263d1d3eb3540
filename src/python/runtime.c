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

/* Highest tid that Linux gives (PID_MAX_LIMIT, 64 bits). */
#define TID_MAX 4194304

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

int runtime_pthread_tid_at(const struct mem *mem, uint64_t pthread,
			   uint16_t offset, pid_t *ret)
{
	/*
	 * `tid` in glibc's struct pthread: after a header of 704 bytes and a
	 * list node on x86-64 (glibc 2.36 and 2.43 looked at), after 24 pointers
	 * and a list node on aarch64.
	 */
#ifdef __aarch64__
	static const uint16_t glibc = 208;
#else
	static const uint16_t glibc = 720;
#endif
	int32_t tid = 0;
	int r = OUT_TORN;

	if (pthread)
		r = mem_read(mem, pthread + (offset ? offset : glibc), &tid,
			     sizeof(tid));
	if (r && r != OUT_TORN)
		return r;
	*ret = r || tid < 0 || tid > TID_MAX ? 0 : tid;
	return OUT_OK;
}

int runtime_pthread_tid(const struct mem *mem, uint64_t pthread, pid_t *ret)
{
	return runtime_pthread_tid_at(mem, pthread, 0, ret);
}

/* What is looked through of a pthread structure: any has its tid within. */
#define PTHREAD_WORDS 256
#define PTHREADS_MAX 8

/* Has each of the @n structures a task's number at @word, no two the same? */
static bool is_tid(int32_t (*structs)[PTHREAD_WORDS], size_t n, size_t word,
		   const pid_t *tids, size_t n_tids)
{
	for (size_t i = 0; i < n; i++) {
		int32_t tid = structs[i][word];
		size_t k = 0;

		while (k < n_tids && tids[k] != tid)
			k++;
		if (k == n_tids)
			return false;
		for (k = 0; k < i; k++)
			if (structs[k][word] == tid)
				return false;
	}
	return n > 0;
}

int runtime_find_tid(const struct mem *mem, const uint64_t *pthreads, size_t n,
		     const pid_t *tids, size_t n_tids, uint16_t *ret_offset)
{
	int32_t structs[PTHREADS_MAX][PTHREAD_WORDS] = { 0 };
	struct mem_range ranges[PTHREADS_MAX];
	size_t found = 0;
	int r;

	if (n > PTHREADS_MAX)
		n = PTHREADS_MAX;
	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct mem_range){ .addr = pthreads[i],
						.buf = structs[i],
						.len = sizeof(structs[i]) };
	/* One may lie so near the end of its mapping that it comes short. */
	r = mem->readv(mem->ctx, ranges, n);
	if (r && r != OUT_TORN)
		return r;
	for (size_t word = 0; word < PTHREAD_WORDS; word++) {
		if (!is_tid(structs, n, word, tids, n_tids))
			continue;
		found++;
		*ret_offset = (uint16_t)(word * sizeof(int32_t));
	}
	return found == 1 ? OUT_OK : OUT_UNKNOWN;
}

int runtime_gil_place(const struct mem *mem, const struct runtime *rt,
		      uint64_t interp, uint64_t *ret_holder,
		      uint64_t *ret_locked)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil;
	int r;

	if (layout->free_threaded)
		return OUT_UNKNOWN;
	*ret_holder = *ret_locked = 0;
	if (layout->runtime.tstate_current != LAYOUT_NONE)
		*ret_holder = rt->address + layout->runtime.tstate_current;
	else if (rt->tstate_current)
		*ret_holder = rt->tstate_current;
	if (*ret_holder)
		return OUT_OK;
	if (layout->interp.gil == LAYOUT_NONE)
		return OUT_UNKNOWN;
	r = mem_read_u64(mem, interp + layout->interp.gil, &gil);
	if (r == 0 && gil) {
		*ret_holder = gil + layout->gil.last_holder;
		*ret_locked = gil + layout->gil.locked;
	}
	return r;
}

int runtime_gil_holder(const struct mem *mem, const struct runtime *rt,
		       uint64_t interp, uint64_t *ret_tstate)
{
	uint64_t holder_at, locked_at, holder = 0;
	int32_t locked = 0;
	struct mem_range ranges[2];
	int r = runtime_gil_place(mem, rt, interp, &holder_at, &locked_at);

	if (r)
		return r;
	if (!holder_at) {
		*ret_tstate = 0;
		return OUT_OK;
	}
	if (!locked_at)
		return mem_read_u64(mem, holder_at, ret_tstate);
	ranges[0] = (struct mem_range){ .addr = holder_at,
					.buf = &holder,
					.len = sizeof(holder) };
	ranges[1] = (struct mem_range){ .addr = locked_at,
					.buf = &locked,
					.len = sizeof(locked) };
	r = mem->readv(mem->ctx, ranges, 2);
	if (r)
		return r;
	/* The last holder stays when it lets go; locked is -1 before the first. */
	*ret_tstate = locked == 1 ? holder : 0;
	return OUT_OK;
}

/* The counter follows `locked`, an int, in all versions (pycore_gil.h). */
#define GIL_NUMBER_AFTER 8

static int read_turn(const struct mem *mem, const struct layout *layout,
		     uint64_t at, uint64_t *ret_gil, struct gilturn *turn)
{
	struct mem_range ranges[] = {
		{ .addr = at, .buf = ret_gil, .len = sizeof(*ret_gil) },
		{ .addr = turn->gil + layout->gil.last_holder,
		  .buf = &turn->holder,
		  .len = sizeof(turn->holder) },
		{ .addr = turn->gil + layout->gil.locked + GIL_NUMBER_AFTER,
		  .buf = &turn->number,
		  .len = sizeof(turn->number) },
	};

	return mem->readv(mem->ctx, ranges, turn->gil ? 3 : 1);
}

int runtime_gil_turn(const struct mem *mem, const struct runtime *rt,
		     uint64_t interp, struct gilturn *turn)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil = 0;
	int r;

	if (layout->free_threaded || layout->interp.gil == LAYOUT_NONE ||
	    layout->gil.locked == LAYOUT_NONE)
		return OUT_UNKNOWN;
	r = read_turn(mem, layout, interp + layout->interp.gil, &gil, turn);
	if (r == OUT_GONE || r == OUT_DENIED)
		return r;
	if (r == 0 && gil && gil == turn->gil)
		return 0;
	/* The address was not known, or is another one by now. */
	turn->gil = gil;
	if (!gil)
		return OUT_UNKNOWN;
	r = read_turn(mem, layout, interp + layout->interp.gil, &gil, turn);
	return r == 0 && gil != turn->gil ? OUT_TORN : r;
}

/*
 * The GIL (struct _gil_runtime_state) is a member of _PyRuntime up to 3.11,
 * within its first 2 KiB (708 to 1,100 bytes on x86-64); from 3.12 it has a
 * place of its own, of some 200 bytes.
 */
#define GIL_BEFORE 2048
#define GIL_SIZE 256

int runtime_gil_futexes(const struct mem *mem, const struct runtime *rt,
			uint64_t interp, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil = 0;
	int r = 0;

	*ret_start = *ret_end = 0;
	if (layout->free_threaded)
		return OUT_OK;
	if (layout->interp.gil != LAYOUT_NONE) {
		r = mem_read_u64(mem, interp + layout->interp.gil, &gil);
		if (r == 0 && gil) {
			*ret_start = gil;
			*ret_end = gil + GIL_SIZE;
		}
	} else if (layout->runtime.tstate_current != LAYOUT_NONE) {
		*ret_start = rt->address;
		*ret_end = rt->address + GIL_BEFORE;
	}
	return r;
}
