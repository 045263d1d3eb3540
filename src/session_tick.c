/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "session_sample.h"

/*
 * One tick: who is due, in which order, and what becomes of those who ended. A
 * thread is due when it may have run since its newest sample; all others stand as
 * they stood, and cost nothing.
 */

static void refresh(struct forkflame *ff, struct process *p)
{
	int r;

	if (p->refresh_tick == ff->tick)
		return;
	p->refresh_tick = ff->tick;
	r = process_refresh(ff, p);
	if (r != OUT_DENIED)
		return;
	p->denied = true;
	select_say_denied(ff, p);
}

/* Threads that turned out to have ended. */
static void bury(struct forkflame *ff)
{
	for (size_t i = 0; i < ff->to_bury.n; i++)
		thread_lost(ff, ff->to_bury.at[i]);
	ff->to_bury.n = 0;
}

static bool is_on_cpu(const struct forkflame *ff, const struct thread *t)
{
	const struct oncpu_thread *rec =
		ff->oncpu ? oncpu_find(ff->oncpu, t->tid) : NULL;

	return rec && rec->on;
}

/*
 * The threads that are due (of @only, if given), in the order of their turns: those
 * that run now before all others, for the others wait without changing.
 */
static void take_due(struct forkflame *ff, const struct process *only)
{
	size_t kept = 0, running = 0;

	ff->turns.n = 0;
	for (size_t i = 0; i < ff->due.n; i++) {
		struct thread *t = ff->due.at[i];

		if ((only && t->process != only) || !vec_push(&ff->turns, t)) {
			t->due_at = kept;
			ff->due.at[kept++] = t;
			continue;
		}
		t->due = false;
		if (!is_on_cpu(ff, t))
			continue;
		ff->turns.at[ff->turns.n - 1] = ff->turns.at[running];
		ff->turns.at[running++] = t;
	}
	ff->due.n = kept;
	for (size_t i = 0; i < ff->turns.n; i++) {
		ff->turns.at[i]->turn = true;
		ff->turns.at[i]->turn_at = i;
	}
}

/* Whose turn it is, who has none any more; NULL: it has ended. */
static struct thread *take_turn(struct forkflame *ff, size_t at)
{
	struct thread *t = ff->turns.at[at];

	if (t)
		t->turn = false;
	return t;
}

/* Those from @from on have the first turns when it is their time again. */
static void keep_turns(struct forkflame *ff, size_t from)
{
	struct threads due = ff->due;
	size_t n = ff->turns.n;

	for (size_t i = from; i < n; i++)
		(void)take_turn(ff, i);
	ff->due = ff->turns;
	ff->due.n = 0;
	ff->turns = due;
	for (; from < n; from++)
		if (ff->due.at[from] && !ff->due.at[from]->due)
			thread_make_due(ff, ff->due.at[from]);
	for (size_t i = 0; i < due.n; i++) {
		due.at[i]->due = false;
		thread_make_due(ff, due.at[i]);
	}
}

/* Put the next of them, a few, into the list, from @from. Returns how many. */
static size_t take_some(struct forkflame *ff, size_t from)
{
	size_t n = 0;

	ff->list.n = 0;
	for (; n < TURNS_AT_ONCE && from + n < ff->turns.n; n++) {
		struct thread *t = take_turn(ff, from + n);

		if (t && !vec_push(&ff->list, t))
			thread_make_due(ff, t);
	}
	return n;
}

/*
 * Wait until the first of those who had just got a CPU is fit to be looked at. @until_ns
 * is when that is too late for this tick; 0 for one in which none is stopped.
 */
static void await_fresh(struct forkflame *ff, uint64_t until_ns)
{
	uint64_t now_ns = clock_now();
	bool last = ff->ripe_ns > until_ns;
	struct timespec wait = { .tv_nsec = (long)nsec_since(ff->ripe_ns,
							     now_ns) };

	if (!ff->fresh.n)
		return;
	if (!last && wait.tv_nsec)
		(void)nanosleep(&wait, NULL);
	for (size_t i = 0; i < ff->fresh.n; i++) {
		struct thread *t = ff->fresh.at[i];

		t->put_off = last && until_ns;
		if (last || !vec_push(&ff->list, t))
			thread_make_due(ff, t);
	}
	ff->fresh.n = 0;
}

/*
 * Where a thread had to be stopped on another CPU, or was read by a post, and on ours
 * there is none for some ticks: go there. From then on it is pushed aside when we wake, and stands.
 */
static void follow_running(struct forkflame *ff)
{
	const struct oncpu_thread *rec;
	pid_t stray = ff->stray ? ff->stray : ff->posts.brought;

	if (!ff->perch || !ff->oncpu)
		return;
	if (ff->company || !stray) {
		ff->strays = 0;
		return;
	}
	rec = oncpu_find(ff->oncpu, stray);
	if (!rec || ++ff->strays < STRAYS)
		return;
	ff->strays = 0;
	if (perch_move(ff->perch, (int)rec->cpu) < 0) {
		perch_free(ff->perch);
		ff->perch = NULL;
	}
}

static void stop_all(struct forkflame *ff)
{
	for (size_t i = 0; i < ff->to_stop.n; i += STOPS_MAX)
		session_stop_some(ff, ff->to_stop.at + i,
				  ff->to_stop.n - i < STOPS_MAX
					  ? ff->to_stop.n - i
					  : STOPS_MAX);
}

/*
 * Sample all of the list. @fresh_ns: until when those who had just got a CPU may be
 * waited for; 0: those that would have to be stopped stay due.
 */
static void sample_list(struct forkflame *ff, uint64_t fresh_ns)
{
	bool may_stop = fresh_ns != 0;

	ff->to_stop.n = 0;
	for (ff->round = 1; ff->list.n; ff->round++) {
		size_t n = ff->list.n;

		for (size_t i = 0; i < n; i++)
			session_sample_thread(ff, ff->list.at[i]);
		ff->list.n = 0;
		await_fresh(ff, fresh_ns);
		if (ff->oncpu)
			session_settle_batch(ff, ff->round >= ROUNDS);
	}
	if (may_stop && ff->oncpu && ff->to_stop.n)
		session_spare_sleepers(ff);
	if (may_stop && ff->to_stop.n) {
		if (!ff->stray)
			ff->stray = ff->to_stop.at[0]->tid;
		stop_all(ff);
	}
	for (size_t i = 0; !may_stop && i < ff->to_stop.n; i++)
		thread_make_due(ff, ff->to_stop.at[i]);
	bury(ff);
}

/*
 * Those whose process turned out to have another list of threads than we thought: to
 * the list, as far as they are still in that one.
 */
static void list_moved(struct forkflame *ff)
{
	ff->list.n = 0;
	for (size_t i = 0; i < ff->moved.n; i++) {
		struct thread *t = thread_of(ff, ff->moved.at[i]);

		if (!t)
			continue;
		refresh(ff, t->process);
		t = thread_of(ff, ff->moved.at[i]);
		if (t && !t->due && !vec_push(&ff->list, t))
			thread_make_due(ff, t);
	}
	ff->moved.n = 0;
}

/*
 * Sample all that are due, of @only if given. A few at a time: what was read is
 * proven before many of them can have run again. Those whose turn has not come by
 * @until_ns have the first turns in the next tick, after who runs then.
 */
static void sample_due(struct forkflame *ff, const struct process *only,
		       bool may_stop, uint64_t until_ns)
{
	uint64_t fresh_ns = may_stop ? clock_now() + FRESH_WAIT_NS : 0;
	size_t i = 0;

	take_due(ff, only);
	do {
		i += take_some(ff, i);
		sample_list(ff, fresh_ns);
		if (!ff->moved.n)
			continue;
		list_moved(ff);
		sample_list(ff, fresh_ns);
	} while (i < ff->turns.n && clock_now() < until_ns);
	if (i < ff->turns.n)
		keep_turns(ff, i);
}

static bool is_python(const struct process *p)
{
	return !p->left && !p->left_out &&
	       process_image(p)->verdict == VERDICT_SAMPLED;
}

/* Who writes a title over his arguments mostly takes it for a name as well. */
static void look_at_titles(struct forkflame *ff)
{
	uint64_t now_ns = clock_now();
	pid_t pid;

	while ((pid = oncpu_renamed(ff->oncpu)) != 0) {
		struct process *p =
			process_at(ff, proctree_find(ff->tree, pid));

		if (p && is_python(p))
			session_look_at_title(ff, p, now_ns);
	}
}

/* By the records: who has run is due, and the thread list of its process too. */
static void find_due(struct forkflame *ff)
{
	const struct oncpu_thread *rec;
	struct thread *t;
	uint64_t at;
	pid_t tid;

	session_drain(ff);
	look_at_titles(ff);
	while ((tid = oncpu_next(ff->oncpu)) != 0) {
		t = thread_of(ff, tid);
		if (t) {
			thread_make_due(ff, t);
			continue;
		}
		rec = oncpu_find(ff->oncpu, tid);
		at = rec ? proctree_find(ff->tree, rec->pid) : PROCTREE_NONE;
		if (at < ff->processes.n && ff->processes.at[at] &&
		    is_python(ff->processes.at[at]))
			refresh(ff, ff->processes.at[at]);
	}
}

/* Without records: all whose time for a look has come. */
static void find_due_by_count(struct forkflame *ff)
{
	for (size_t i = 0; i < ff->processes.n; i++) {
		struct process *p = ff->processes.at[i];

		if (!p || !is_python(p))
			continue;
		if (!p->walked)
			refresh(ff, p);
		for (size_t k = 0; k < p->threads.n; k++)
			if (p->threads.at[k]->look_tick <= ff->tick)
				thread_make_due(ff, p->threads.at[k]);
	}
}

/*
 * The thread lists of those processes that have something due, but for those whose
 * list has not changed for long. Without records that is done when a thread is found to
 * have run: most of those that are looked at have not.
 */
static void refresh_due(struct forkflame *ff)
{
	if (!ff->oncpu)
		return;
	ff->active.n = 0;
	for (size_t i = 0; i < ff->due.n; i++) {
		struct process *p = ff->due.at[i]->process;

		/* Twice in the list does no harm: the second time is free. */
		if (p->refresh_tick != ff->tick && !process_is_calm(ff, p))
			(void)vec_push(&ff->active, p);
	}
	for (size_t i = 0; i < ff->active.n; i++)
		refresh(ff, ff->active.at[i]);
}

/* Sample less often, when that costs more than it may; more often, when less. */
static void keep_budget(struct forkflame *ff)
{
	const struct budget *budget = &ff->budget;
	uint64_t now_ns = clock_now();

	if (ff->tick == 1 && budget->interval_ns != budget->asked_ns)
		record_note(ff, NOTE_RATE, budget->interval_ns);
	if (!budget_due(budget, now_ns))
		return;
	if (budget_look(&ff->budget, now_ns,
			clock_ns(CLOCK_PROCESS_CPUTIME_ID))) {
		record_note(ff, NOTE_RATE, budget->interval_ns);
		kernel_set_rate(ff);
	}
	/* It begins low: after a second it is known. */
	if (ff->budget_told || budget->interval_ns <= budget->asked_ns ||
	    nsec_since(now_ns, budget->start_ns) < NSEC_PER_SEC)
		return;
	ff->budget_told = true;
	session_notice(ff,
		       "at the rate asked for, sampling would cost more than "
		       "%.4g %% of a core: it is lowered as far as need be",
		       (double)budget->share_ns / (double)NSEC_PER_SEC * 100);
}

void session_tick(struct forkflame *ff)
{
	uint64_t until_ns;

	ff->ticked_ns = clock_now();
	until_ns = ff->ticked_ns +
		   ff->budget.interval_ns * ff->kernel.stride / TURNS_SHARE;
	kernel_adopt(ff);
	ff->kernel.ticking = true;
	ff->company = false;
	ff->stray = 0;
	ff->posts.brought = 0;
	ff->tick += ff->kernel.stride;
	ff->counts.ticks += ff->kernel.stride;
	if (ff->oncpu)
		find_due(ff);
	else
		find_due_by_count(ff);
	refresh_due(ff);
	kernel_drain(ff);
	posts_collect(ff);
	sample_due(ff, NULL, true, until_ns);
	if (ff->posts.late_ns)
		posts_collect(ff);
	follow_running(ff);
	if (ff->stray)
		ff->kernel.stops_ns = clock_now();
	ff->kernel.ticking = false;
	keep_budget(ff);
}

void session_sample_process(struct forkflame *ff, struct process *p,
			    bool may_stop)
{
	if (!is_python(p))
		return;
	if (!p->threads.n)
		(void)process_refresh(ff, p);
	if (ff->oncpu)
		find_due(ff);
	kernel_drain(ff);
	for (size_t i = 0; !ff->oncpu && i < p->threads.n; i++)
		thread_make_due(ff, p->threads.at[i]);
	sample_due(ff, p, may_stop, UINT64_MAX);
}
