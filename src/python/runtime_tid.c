/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's number of a thread, in the C library's structure of it. */
#include "python/runtime.h"

#include <stdbool.h>

#include "base/outcome.h"

/* Highest tid that Linux gives (PID_MAX_LIMIT, 64 bits). */
#define TID_MAX 4194304

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
