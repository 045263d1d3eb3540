/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_RUNTIME_H
#define PYTHON_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "python/probe.h"

/*
 * A thread state, as the interpreter lists it. One that was made for a thread
 * that does not run yet has no ids (from 3.12) or its maker's (before). Thread
 * states of several interpreters may be of one thread.
 */
struct pythread {
	uint64_t tstate;
	uint64_t interp;
	uint64_t interp_id; /* 0 up to 3.6 */
	uint64_t pthread;   /* pthread_t */
	uint64_t native;    /* kernel tid by the interpreter; 0 before 3.11 */
};

/* Above this the list is taken for corrupt: more threads than pids. */
#define RUNTIME_MAX_THREADS 65536
#define RUNTIME_MAX_INTERPS 4096

/* A mark that runtime_mark never gives: the list is to be read again. */
#define RUNTIME_NO_MARK 0

/*
 * Walk the thread states of all interpreters, newest first in each.
 *
 * @threads, @max   the caller's array
 * @ret_n           set to the number written, on 0 and OUT_FULL only
 * @ret_mark        a fingerprint of the list heads and of each interpreter's
 *                  count of threads ever made (up to 3.6: of the newest thread's
 *                  kernel tid), set on 0 only: when runtime_mark gives it again,
 *                  no thread state was added since, though one behind the first
 *                  may have ended. RUNTIME_NO_MARK when a thread seems to be
 *                  without its own ids as yet
 *
 * Returns 0; OUT_FULL (the first @max are written); OUT_TORN when the lists do
 * not end, a thread belongs to another interpreter, or the heads changed during
 * the walk: the process runs, ask again; else what reading came to.
 */
int runtime_threads(const struct mem *mem, const struct runtime *rt,
		    struct pythread *threads, size_t max, size_t *ret_n,
		    uint64_t *ret_mark);

/*
 * Bytes from the start of a thread state that runtime_threads reads of it in one
 * call: for a memory that fetches ahead those that are known already.
 */
size_t runtime_thread_bytes(const struct layout *layout);

/*
 * The fingerprint alone, in as few reads as can be (one, for one interpreter; up
 * to 3.6 three).
 */
int runtime_mark(const struct mem *mem, const struct runtime *rt,
		 uint64_t *ret_mark);

/*
 * The kernel tid kept in a pthread structure of glibc on x86-64 (offset 720)
 * and aarch64 (208, not tried); for versions before 3.11. As the target's own
 * pid namespace counts.
 *
 * Returns 0, with 0 in *ret when it cannot be read or is no tid; OUT_GONE or
 * OUT_DENIED, with *ret left alone.
 */
int runtime_pthread_tid(const struct mem *mem, uint64_t pthread, pid_t *ret);

/* The same at another offset, as runtime_find_tid tells it. 0: as glibc has it. */
int runtime_pthread_tid_at(const struct mem *mem, uint64_t pthread,
			   uint16_t offset, pid_t *ret);

/*
 * Where another C library keeps a thread's number in its pthread structure: the
 * one place where each of the structures has the number of a task, and no two the
 * same.
 *
 * @pthreads   @n addresses, of threads of one process; the first 8 are used
 * @tids       the tasks of the process as its own pid namespace counts; @n_tids
 *
 * Returns 0; OUT_UNKNOWN when there is none, or more than one (a small number may
 * stand anywhere); OUT_GONE, OUT_DENIED.
 */
int runtime_find_tid(const struct mem *mem, const uint64_t *pthreads, size_t n,
		     const pid_t *tids, size_t n_tids, uint16_t *ret_offset);

/*
 * The thread state that holds the GIL of @interp, 0 when none does. Up to 3.11
 * all interpreters have one GIL, and its holder may be another one's thread.
 * Returns 0; OUT_UNKNOWN in a free-threaded build and in 3.7, where it moved with
 * a patch release; else what reading came to.
 */
int runtime_gil_holder(const struct mem *mem, const struct runtime *rt,
		       uint64_t interp, uint64_t *ret_tstate);

/* Whose turn it is to have a GIL, or was last. */
struct gilturn {
	uint64_t gil;    /* its address */
	uint64_t holder; /* a thread state; stays when it lets go */
	uint64_t number; /* counts when another thread takes it */
};

/*
 * The turn of the GIL of @interp. A thread that takes the GIL and was not its last
 * holder counts the number up first (Python/ceval_gil.c, take_gil). So a thread that
 * is not the holder in two readings with the same number has not had the GIL in
 * between, and has executed no Python.
 *
 * @turn  the last one of @interp, or zeros; with the right address in it, one call
 *
 * Returns 0; OUT_UNKNOWN in a free-threaded build, and up to 3.11; else what reading
 * came to.
 */
int runtime_gil_turn(const struct mem *mem, const struct runtime *rt,
		     uint64_t interp, struct gilturn *turn);

/*
 * Where that stands: the address of a pointer to the holder, and that of an int
 * which is 1 while the lock is taken (*@ret_locked 0: the pointer alone tells).
 * Returns likewise.
 */
int runtime_gil_place(const struct mem *mem, const struct runtime *rt,
		      uint64_t interp, uint64_t *ret_holder,
		      uint64_t *ret_locked);

/*
 * Where a thread that waits for the GIL of @interp waits: the addresses of its
 * futexes (a condition variable's and a mutex's) are in *@ret_start to *@ret_end.
 * Returns 0, with both 0 where that is not known (up to 3.7, free-threaded); else
 * what reading came to.
 */
int runtime_gil_futexes(const struct mem *mem, const struct runtime *rt,
			uint64_t interp, uint64_t *ret_start,
			uint64_t *ret_end);

#endif
