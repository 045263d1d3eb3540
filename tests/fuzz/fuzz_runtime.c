/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose memory is the input: 1 byte chooses the version, 1 what is known of
 * the list, 6 are not used, the rest lies at BASE; the list of interpreters begins
 * there, or the one interpreter is there. The lists of threads and all that is asked
 * of the lock end, and come to the same when they are asked again: directly, or
 * through what was noted and fetched ahead.
 */
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "fuzzmem.h"
#include "python/noted.h"
#include "python/runtime.h"

#define BASE 0x10000u
#define MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All answers of one target. */
struct answers {
	struct pythread threads[MAX];
	size_t n;
	uint64_t list_mark, mark, holder, start, end;
	struct gilturn turn;
	pid_t tid;
	int lists, marks, holds, turns, waits;
};

static const struct layout *choose(uint8_t byte)
{
	unsigned minor = 5 + byte % 11;

	if (minor == 5)
		return layout_find(2, 7, false);
	return layout_find(3, minor, byte & 0x80 && minor >= 13);
}

static void ask(const struct mem *mem, const struct runtime *rt,
		uint64_t interp, struct answers *a)
{
	memset(a, 0, sizeof(*a));
	a->lists =
		runtime_threads(mem, rt, a->threads, MAX, &a->n, &a->list_mark);
	if (a->n > MAX || (a->n && a->lists && a->lists != OUT_FULL))
		abort();
	/* What was looked at and not kept is nobody's. */
	memset(a->threads + a->n, 0, (MAX - a->n) * sizeof(*a->threads));
	a->marks = runtime_mark(mem, rt, &a->mark);
	if (a->lists == 0 && (a->marks || (a->list_mark != RUNTIME_NO_MARK &&
					   a->list_mark != a->mark)))
		abort();
	a->holds = runtime_gil_holder(mem, rt, interp, &a->holder);
	a->turns = runtime_gil_turn(mem, rt, interp, &a->turn);
	if (a->turns)
		a->turn = (struct gilturn){ 0 };
	a->waits = runtime_gil_futexes(mem, rt, interp, &a->start, &a->end);
	if (a->end < a->start || a->end - a->start > 4096)
		abort();
	if (runtime_pthread_tid(mem, interp, &a->tid) || a->tid < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtime rt = { 0 };
	struct fuzzmem bytes;
	const struct mem mem = fuzzmem_mem(&bytes);
	struct stackhint hint = { 0 };
	struct prefetch *p = prefetch_new();
	struct noted noted = { .hint = &hint };
	const struct mem by = noted_mem(&noted);
	struct answers first, again;
	uint64_t interp = BASE;

	if (size < 8 || !p)
		goto out;
	bytes = (struct fuzzmem){ .base = BASE,
				  .at = data + 8,
				  .len = size - 8 };
	noted.behind = prefetch_mem(p);
	rt.layout = *choose(data[0]);
	if (data[1] & 1)
		rt.interp_only = BASE;
	else
		rt.address = BASE;
	if (rt.address)
		(void)mem_read_u64(&mem, BASE + rt.layout.runtime.interp_head,
				   &interp);
	if (data[1] & 2)
		rt.interp_hint = interp;
	ask(&mem, &rt, interp, &first);
	for (int i = 0; i < 2; i++) {
		prefetch_start(p, &mem);
		stackhint_plan(&hint, p);
		if (prefetch_fetch(p))
			abort();
		ask(&by, &rt, interp, &again);
		if (memcmp(&first, &again, sizeof(first)) != 0)
			abort();
	}
out:
	stackhint_free(&hint);
	prefetch_free(p);
	return 0;
}
