/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/outcome.h"
#include "python/noted.h"
#include "session_internal.h"

/*
 * The thread states of a thread, and the one stack that theirs make. Most threads
 * have one. A thread that enters another interpreter keeps the stack that it has in
 * the first, and has another in the second: on the C stack the second lies on top.
 * Interpreters are listed the newest first, and the newest is taken for the one
 * that was entered last.
 */

/* One that has entered more interpreters than these is shown without the rest. */
#define SEATS_MAX 64

/* Put a thread state at its place, where another may have been. */
static void seat_take(struct forkflame *ff, struct thread *t, struct seat *seat,
		      const struct pythread *th, bool second)
{
	if (seat->tstate != th->tstate) {
		t->proven = false;
		thread_make_due(ff, t);
	}
	seat->tstate = th->tstate;
	seat->interp = th->interp;
	seat->pthread = th->pthread;
	seat->native = (pid_t)th->native;
	seat->second = second;
}

int thread_seat(struct forkflame *ff, struct thread *t,
		const struct pythread *th, bool second)
{
	size_t i = t->seats;

	if (i == SEATS_MAX)
		return 0;
	if (i > t->below.n && !vec_push(&t->below, (struct seat){ 0 }))
		return -ENOMEM;
	seat_take(ff, t, i ? &t->below.at[i - 1] : &t->seat, th, second);
	t->seats++;
	return 0;
}

void thread_drop_seats(struct thread *t)
{
	if (t->seats > 1)
		t->process->lends = true;
	while (t->below.n && t->below.n >= t->seats)
		stackhint_free(&t->below.at[--t->below.n].hint);
}

int seat_check_owner(const struct mem *mem, const struct layout *layout,
		     const struct seat *seat, pid_t tid)
{
	uint64_t value;
	int r;

	if (layout->thread.native_id != LAYOUT_NONE) {
		r = mem_read_u64(mem, seat->tstate + layout->thread.native_id,
				 &value);
		if (r == 0 && (pid_t)value != tid &&
		    (pid_t)value != seat->native)
			r = OUT_UNKNOWN;
		return r;
	}
	r = mem_read_u64(mem, seat->tstate + layout->thread.thread_id, &value);
	if (r == 0 && seat->pthread && value != seat->pthread)
		r = OUT_UNKNOWN;
	return r;
}

/*
 * Whether the evaluation of a thread state goes on on the C stack of @t. Up to 3.12
 * an interpreter may be run by another thread than the one that made it, and bear
 * the maker's numbers. In 3.10 to 3.12 the thread state points to the C stack, so
 * that it can be told: a thread's pthread structure is at the top of its stack, and
 * the first thread's stack is above all others.
 */
static bool is_here(struct forkflame *ff, const struct thread *t,
		    const struct seat *seat)
{
	const struct process *p = t->process;
	const struct layout *layout = &seat_runtime(t, seat)->layout;
	uint64_t top = t->seat.pthread, at;

	if (layout->thread.c_stack == LAYOUT_NONE ||
	    mem_read_u64(&ff->mem, seat->tstate + layout->thread.c_stack, &at))
		return true;
	/* A leader that a thread has forked goes on on that one's stack. */
	if (at >= top)
		return t->tid == p->pid;
	for (size_t i = 0; i < p->threads.n; i++) {
		uint64_t other = p->threads.at[i]->seat.pthread;

		if (other > at && other < top)
			return false;
	}
	return true;
}

/* May there be a thread state that is run by another thread than it is listed for? */
static bool lends(const struct process *p)
{
	return p->lends &&
	       process_image(p)->rt.layout.thread.c_stack != LAYOUT_NONE;
}

static int read_seat(struct forkflame *ff, struct thread *t, struct seat *seat,
		     size_t *n)
{
	const struct layout *layout = &seat_runtime(t, seat)->layout;
	size_t got;
	int full, r;

	if (t->below.n && !is_here(ff, t, seat))
		return 0;
	full = frame_walk_batched(&ff->mem, layout, seat->tstate, ff->prefetch,
				  &seat->hint, ff->raw + *n, FRAMES_MAX - *n,
				  &got);
	if (full != 0 && full != OUT_FULL)
		return full;
	r = seat_check_owner(prefetch_mem(ff->prefetch), layout, seat, t->tid);
	if (r != 0)
		return r;
	if (seat->hint.left_out) {
		t->left_out = seat->hint.left_out;
		t->mark_at = *n + got - got / 2;
	}
	if (seat->second) {
		if (ff->second_from == ff->second_to)
			ff->second_from = *n;
		ff->second_to = *n + got;
	}
	*n += got;
	return full;
}

/*
 * The stacks of the other interpreters, under the newest one's. Of one interpreter
 * only the newest that is not empty: a thread state that is being made for another
 * thread, or (in 2.7) one of the forking parent's thread, may bear our number.
 */
static int read_below(struct forkflame *ff, struct thread *t, bool own,
		      size_t *n)
{
	uint64_t entered = own ? t->seat.interp : 0;
	int r = 0;

	for (size_t i = 0; i < t->below.n && r == 0; i++) {
		struct seat *seat = &t->below.at[i];
		size_t before = *n;

		if (seat->interp == entered)
			continue;
		r = read_seat(ff, t, seat, n);
		if (*n > before)
			entered = seat->interp;
		if (*n > before && !before)
			t->entered = i + 1;
	}
	return r;
}

/*
 * Up to 3.12 an interpreter that was made by one thread may be run by another: its
 * thread state is listed as the maker's, and its frames are on our stack.
 */
static int read_lent(struct forkflame *ff, struct thread *t, size_t *n)
{
	const struct process *p = t->process;
	int r = 0;

	for (size_t i = 0; i < p->threads.n; i++) {
		struct thread *maker = p->threads.at[i];

		for (size_t k = 0; maker != t && k < maker->below.n; k++) {
			/* The oldest one is of where it was made. */
			struct seat *seat = k ? &maker->below.at[k - 1]
					      : &maker->seat;

			if (r == 0 && !seat->second && is_here(ff, t, seat))
				r = read_seat(ff, t, seat, n);
		}
	}
	return r;
}

/*
 * The code objects of what was read. Those of a second interpreter are one stretch of
 * it: what is above that is only there when an interpreter is lent.
 */
static int capture(struct forkflame *ff, struct thread *t, size_t n)
{
	const struct image *image = process_image(t->process);
	const struct mem *mem = prefetch_mem(ff->prefetch);
	size_t from = ff->second_from, to = ff->second_to;
	size_t at = from == to || from ? 0 : to;
	size_t len = from == to ? n : from ? from : n - to;
	int r = 0;

	/* What is known of the first part would not outlast the last. */
	if (from && from < to && to < n)
		return OUT_TORN;
	if (len)
		r = codecache_capture(
			image->codes,
			t->process->interps == 1 ? &t->process->seen : NULL,
			mem, &image->rt.layout, ff->raw + at, len,
			ff->ids + at);
	if (r == 0 && len && !t->below.n)
		codecache_expect(image->codes, &t->seat.hint);
	if (r == 0 && from < to)
		r = codecache_capture(image->second_codes, NULL, mem,
				      &image->second_rt.layout, ff->raw + from,
				      to - from, ff->ids + from);
	t->learnt = (len && codecache_learnt(image->codes)) ||
		    (from < to && codecache_learnt(image->second_codes));
	return r;
}

void thread_distrust(struct thread *t)
{
	struct process *p = t->process;

	p->seen.n = 0;
	if (!t->learnt)
		return;
	t->learnt = false;
	codecache_forget(process_image(p)->codes);
	if (process_image(p)->second_codes)
		codecache_forget(process_image(p)->second_codes);
}

/*
 * Is the list of threads as it was when it was walked? Told by what was read with the
 * stack, so that the list need not be asked for before each sample.
 */
static int check_list(struct forkflame *ff, struct thread *t)
{
	struct process *p = t->process;
	struct noted noted = { .behind = prefetch_mem(ff->prefetch),
			       .hint = &t->seat.hint };
	const struct mem mem = noted_mem(&noted);
	uint64_t mark;
	int r;

	if (p->refresh_tick == ff->tick || !process_is_calm(ff, p))
		return 0;
	r = runtime_mark(&mem, &process_image(p)->rt, &mark);
	return r == 0 && mark != p->mark ? OUT_UNKNOWN : r;
}

int thread_read(struct forkflame *ff, struct thread *t, size_t *ret_n,
		bool *ret_cut)
{
	size_t n = 0, lent;
	int r;

	ff->remote->pid = t->tid;
	t->left_out = 0;
	t->entered = 0;
	t->learnt = false;
	ff->second_from = ff->second_to = 0;
	r = lends(t->process) ? read_lent(ff, t, &n) : 0;
	lent = n;
	if (r == 0)
		r = read_seat(ff, t, &t->seat, &n);
	/* The newest may be on its way to another thread. */
	if (r == OUT_UNKNOWN && t->below.n) {
		t->process->walked = false;
		r = 0;
	}
	if (r == 0)
		r = read_below(ff, t, n > lent, &n);
	*ret_cut = r == OUT_FULL && !t->left_out;
	if (r != 0 && r != OUT_FULL)
		return r;
	r = capture(ff, t, n);
	if (r == 0)
		r = check_list(ff, t);
	if (r == 0)
		*ret_n = n;
	return r;
}
