/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outcome.h"
#include "linux/clock.h"
#include "session_sample.h"

/*
 * There are three ways to a sample:
 *  1. off its CPU by the switch records: read, drain the records, and if there
 *     is none of it since, the stack is proven; the thread may sleep, or have been
 *     pushed aside (by us, most often) and wait for its turn;
 *  2. off its CPU by /proc/TID/syscall, and the same run count before and after:
 *     the same proof, for threads without a record, and where there are none;
 *  3. on a CPU: stop, read, let go, and only then decode. One that does not stop
 *     in time stands in the kernel: it is read too, and let go when it stops.
 *
 * Which of them it was is not known to what follows: accept.
 *
 * With frames from the kernel (session_kernel.c) the third is left to the clocks in
 * the regular ticks. With options.nonblocking there is another in place of the third: a thread that
 * runs is read as it runs, twice, and dropped if it changed.
 */

static void drop(struct forkflame *ff, enum drop why)
{
	ff->counts.drops[why]++;
}

/*
 * What we know of the list of threads may be old, where it was taken for granted in
 * this tick: it will be walked, and this one tried again.
 */
static bool look_again(struct forkflame *ff, const struct thread *t)
{
	return process_is_calm(ff, t->process) &&
	       t->process->refresh_tick != ff->tick &&
	       vec_push(&ff->moved, t->tid);
}

void session_refuse(struct forkflame *ff, struct thread *t, int r)
{
	struct process *p = t->process;

	switch (r) {
	case OUT_GONE:
		if (session_sample_ending(ff, t))
			return;
		drop(ff, DROP_GONE);
		/* The leader's end is told by the pidfd, with its time. */
		if (t->tid != p->pid && !t->dead && vec_push(&ff->to_bury, t))
			t->dead = true;
		return;
	case OUT_DENIED:
		drop(ff, DROP_DENIED);
		p->denied = true;
		p->walked = false;
		break;
	case OUT_BUSY:
		drop(ff, DROP_BUSY);
		break;
	case OUT_UNKNOWN:
		if (look_again(ff, t))
			return;
		drop(ff, DROP_MOVED);
		p->walked = false;
		break;
	default:
		if (look_again(ff, t))
			return;
		drop(ff, DROP_TORN);
		break;
	}
	thread_make_due(ff, t);
}

static void count_taken(struct forkflame *ff, struct process *p,
			const struct reading *reading)
{
	uint64_t *all = reading->by_kernel ? &ff->counts.kernel
			: reading->stopped ? &ff->counts.stopped
					   : &ff->counts.unstopped;
	uint64_t *held = reading->by_kernel ? &p->held_kernel
			 : reading->stopped ? &p->held_stopped
					    : &p->held_unstopped;

	++*all;
	if (p->waiting)
		++*held;
}

/* The thread's account when it was read. */
static int account_of(struct forkflame *ff, struct thread *t,
		      const struct reading *reading, struct sched_account *ret)
{
	if (!reading->by_kernel)
		return thread_account(ff, t, ret);
	*ret = (struct sched_account){ .cpu_ns = reading->cpu_ns };
	return 0;
}

/* The switch records up to the moment of the reading, and to its account. */
static void take_records(struct forkflame *ff, struct thread *t,
			 const struct oncpu_thread *rec,
			 const struct reading *reading, uint64_t used_ns)
{
	t->records = rec->records;
	if (reading->by_kernel) {
		/* They go on beyond that moment. */
		t->rec_cpu_ns += used_ns;
	} else {
		t->rec_cpu_ns = rec->cpu_ns;
		if (rec->on && reading->now_ns > rec->in_ns)
			t->rec_cpu_ns += reading->now_ns - rec->in_ns;
	}
	oncpu_seen(ff->oncpu, t->tid);
}

/* How many ticks this reading answers for: at high rates, several. */
static uint64_t ticks_of(const struct forkflame *ff,
			 const struct reading *reading)
{
	if (ff->kernel.ticking)
		return ff->kernel.stride;
	return !reading->by_kernel;
}

void session_accept(struct forkflame *ff, struct thread *t,
		    const struct reading *reading)
{
	const struct oncpu_thread *rec = NULL;
	struct charge charges[WEIGH_CHARGES];
	struct process *p = t->process;
	struct sched_account account = { .cpu_ns = t->weigh.cpu_ns };
	uint64_t ticks = ticks_of(ff, reading);
	uint64_t used_ns;
	unsigned n;
	int r = reading->seen.stack == STACKS_NONE ? OUT_TORN : 0;

	if (r == 0)
		r = account_of(ff, t, reading, &account);
	/* OUT_UNKNOWN: a kernel that keeps no accounts. */
	if (r != 0 && r != OUT_UNKNOWN) {
		session_refuse(ff, t, r);
		return;
	}
	if (ff->oncpu)
		rec = oncpu_find(ff->oncpu, t->tid);
	if (t->proven && rec && rec->woke_ns)
		weigh_stood(&t->weigh, rec->woke_ns);
	/* It stood through the ticks between. */
	if (t->proven && ff->tick > t->tick + ticks)
		thread_repeat(ff, t, ff->tick - t->tick - ticks);
	used_ns = nsec_since(account.cpu_ns, t->weigh.cpu_ns);
	/* Records tell when it woke, a tick ago at most. */
	if (!ff->oncpu && r == 0)
		weigh_waited(&t->weigh, account.wait_ns);
	t->weigh.interval_ns = ff->budget.interval_ns;
	n = weigh_sample(&t->weigh, &reading->seen, reading->since_ns,
			 reading->now_ns, account.cpu_ns, charges);
	for (unsigned i = 0; i < n; i++)
		process_charge(ff, t, &charges[i]);
	count_taken(ff, p, reading);
	if (p->first_sample_ns == UINT64_MAX)
		p->first_sample_ns = nsec_since(reading->now_ns, p->born_ns);
	/* The clocks' samples come beside those of the ticks. */
	if (!reading->by_kernel && ticks > 1)
		thread_repeat(ff, t, ticks - 1);
	t->tick = reading->by_kernel ? nsec_since(ff->tick, ticks) : ff->tick;
	t->runs = account.runs;
	t->proven = t->standing = reading->proven;
	t->put_off = false;
	if (rec)
		take_records(ff, t, rec, reading, used_ns);
	if (!reading->proven)
		thread_make_due(ff, t);
}

int session_read_stack(struct forkflame *ff, struct thread *t, struct seen *ret)
{
	bool cut;
	size_t n;
	int r = thread_read(ff, t, &n, &cut);

	if (r != 0)
		return r;
	t->empty = n == 0;
	ret->stack = thread_decode(ff, t, n, cut);
	thread_look_around(ff, t, ret);
	return 0;
}

/* Is it asleep, right now, by the kernel's own waiting for it? */
static int asleep(struct forkflame *ff, struct thread *t)
{
	int fd = t->syscall;
	int r = 0;

	if (fd < 0)
		r = sched_open(ff->fs.root, t->process->pid, t->tid, "syscall",
			       &fd);
	if (r != 0)
		return r;
	r = sched_asleep(fd);
	t->syscall = session_keep_fd(ff, fd);
	return r;
}

/*
 * How long a sleeper may stay unlooked at without records, in ticks: so that all of
 * them are some 4000 looks a second, about one percent of a core. Few threads are
 * looked at in each tick, and who wakes is seen at once.
 */
static uint64_t longest_gap(const struct forkflame *ff)
{
	uint64_t most_ns = ff->threads.n * SLEEPER_LOOK_NS;

	if (most_ns > NSEC_PER_SEC)
		most_ns = NSEC_PER_SEC;
	return most_ns / ff->budget.interval_ns;
}

/*
 * The run count has not changed: the proven stack still stands. In run-count mode
 * it is looked at in growing intervals; a change brings it back to every tick.
 */
static void still_standing(struct forkflame *ff, struct thread *t,
			   uint64_t now_ns)
{
	uint64_t most = longest_gap(ff);

	weigh_stood(&t->weigh, now_ns);
	thread_repeat(ff, t, nsec_since(ff->tick, t->tick));
	t->standing = true;
	t->gap += t->gap / 4 + 1;
	if (t->gap > most)
		t->gap = most ? most : 1;
	t->look_tick = ff->tick + t->gap;
}

/*
 * To be compared first: the list of threads that it is in. Returns false when that has
 * been done, or there is no need.
 */
static bool is_unlisted(struct forkflame *ff, const struct thread *t,
			bool standing)
{
	const struct process *p = t->process;

	if (ff->oncpu || p->refresh_tick == ff->tick ||
	    (standing && clock_now() < p->listed_ns + LIST_NS))
		return false;
	return vec_push(&ff->moved, t->tid);
}

/* The second way. Returns 0 when done, OUT_BUSY when it runs, or an outcome. */
static int sample_by_count(struct forkflame *ff, struct thread *t)
{
	struct sched_account before, after;
	struct reading reading = { .seen = { .run = RUN_IDLE },
				   .proven = true };
	bool standing;
	int r = 0;

	for (int round = 0; round < ROUNDS; round++) {
		r = thread_account(ff, t, &before);
		if (r != 0)
			return r == OUT_UNKNOWN ? OUT_BUSY : r;
		standing = t->proven && before.runs == t->runs;
		if (is_unlisted(ff, t, standing))
			return 0;
		if (standing) {
			still_standing(ff, t, clock_now());
			return 0;
		}
		r = asleep(ff, t);
		if (r != 0)
			return r;
		r = session_read_stack(ff, t, &reading.seen);
		if (thread_account(ff, t, &after) != 0)
			return OUT_GONE;
		if (r == OUT_GONE || r == OUT_DENIED)
			return r;
		if (after.runs != before.runs) {
			thread_distrust(t);
			continue;
		}
		if (r != 0)
			return r;
		reading.now_ns = reading.since_ns = clock_now();
		session_accept(ff, t, &reading);
		t->gap = 1;
		t->look_tick = ff->tick + 1;
		return 0;
	}
	return OUT_BUSY;
}

bool session_vouched(const struct forkflame *ff, const struct thread *t,
		     const struct oncpu_thread **ret)
{
	if (!ff->oncpu)
		return false;
	*ret = oncpu_find(ff->oncpu, t->tid);
	return *ret ? (*ret)->known : t->newborn;
}

/* Did it leave its CPU at @ns because we stopped it? */
static bool was_stopped(const struct thread *t, uint64_t ns)
{
	return ns >= t->held_from_ns && ns <= t->held_to_ns;
}

bool session_is_ready(const struct thread *t, const struct oncpu_thread *rec)
{
	return rec->away || was_stopped(t, rec->out_ns);
}

bool session_has_slept(const struct thread *t, const struct oncpu_thread *rec)
{
	return rec->slept_ns && !was_stopped(t, rec->slept_ns);
}

/* Pushed aside for no longer than this: as good as on its CPU. */
#define READY_NS NSEC_PER_MSEC

static void put(struct forkflame *ff, struct thread *t, bool stop)
{
	bool there = stop ? vec_push(&ff->to_stop, t) : vec_push(&ff->batch, t);

	if (!there)
		thread_make_due(ff, t);
}

/*
 * Until when it is too early to stop it. One that is no sleeper and has been waited
 * for has its CPU anew each time that we wait: it was pushed aside, by us.
 */
static uint64_t ripe_at(const struct forkflame *ff, const struct thread *t,
			const struct oncpu_thread *rec)
{
	bool sleeper = session_has_slept(t, rec) ||
		       (weigh_has(&t->weigh) && !weigh_ran(&t->weigh));

	if (!sleeper && ff->round > ROUNDS)
		return rec->in_ns;
	return rec->in_ns +
	       (sleeper && !t->put_off ? FRESH_SLEEPER_NS : FRESH_NS);
}

/* Look again in this tick, when it is ripe. */
static void put_fresh(struct forkflame *ff, struct thread *t, uint64_t ripe_ns)
{
	if (!vec_push(&ff->fresh, t))
		thread_make_due(ff, t);
	else if (ff->fresh.n == 1 || ripe_ns < ff->ripe_ns)
		ff->ripe_ns = ripe_ns;
}

/*
 * The first way, first half: read it. What was read counts once
 * session_settle_batch has looked at the records again.
 */
static void read_candidate(struct forkflame *ff, struct thread *t,
			   const struct oncpu_thread *rec)
{
	int r;

	t->records = rec ? rec->records : 0;
	t->candidate.run = session_run_of(t, rec);
	r = session_read_stack(ff, t, &t->candidate);
	if (r == 0) {
		put(ff, t, false);
		return;
	}
	thread_distrust(t);
	session_refuse(ff, t, r);
}

/*
 * On a CPU, and read by the kernel when its clock comes; or pushed aside a moment
 * ago, by us most likely. One that waits for a CPU for longer has a sample of that.
 */
static bool is_covered(struct forkflame *ff, struct thread *t,
		       const struct oncpu_thread *rec)
{
	if (!ff->kernel.frames || !rec)
		return false;
	if (rec->on)
		return kernel_covers(ff, t, rec->in_ns);
	return session_is_ready(t, rec) &&
	       nsec_since(clock_now(), rec->out_ns) < READY_NS &&
	       kernel_covers(ff, t, rec->out_ns);
}

/* Send a thread on the way that fits it. */
void session_sample_thread(struct forkflame *ff, struct thread *t)
{
	const struct oncpu_thread *rec = NULL;
	int r;

	if (session_vouched(ff, t, &rec)) {
		if (is_covered(ff, t, rec) || posts_cover(ff, t))
			thread_make_due(ff, t);
		else if (!rec || !rec->on)
			read_candidate(ff, t, rec);
		else if (ff->options.nonblocking)
			session_sample_running(ff, t);
		else if (ripe_at(ff, t, rec) > clock_now())
			put_fresh(ff, t, ripe_at(ff, t, rec));
		else if (!session_still_empty(ff, t) &&
			 !session_sample_outside(ff, t))
			put(ff, t, true);
		return;
	}
	r = sample_by_count(ff, t);
	if (r == OUT_BUSY && ff->options.nonblocking)
		session_sample_running(ff, t);
	else if (r == OUT_BUSY && !session_sample_outside(ff, t))
		put(ff, t, true);
	else if (r != 0 && r != OUT_BUSY)
		session_refuse(ff, t, r);
}

void session_lose_sight(struct forkflame *ff)
{
	for (size_t i = 0; i < ff->processes.n; i++) {
		struct process *p = ff->processes.at[i];

		for (size_t k = 0; p && k < p->threads.n; k++) {
			p->threads.at[k]->newborn = false;
			p->threads.at[k]->proven = false;
			thread_make_due(ff, p->threads.at[k]);
		}
	}
}

void session_drain(struct forkflame *ff)
{
	if (ff->oncpu && !oncpu_drain(ff->oncpu))
		session_lose_sight(ff);
}

/*
 * Asleep by the time that it was read, and on a CPU in this tick, or in the last one,
 * in which it was not fit to be stopped. The kernel's clocks hit such bursts themselves.
 */
static bool ran_before(const struct forkflame *ff, const struct thread *t,
		       const struct oncpu_thread *rec)
{
	return (t->put_off || rec->out_ns >= ff->ticked_ns) &&
	       t->process->kernel != KERNEL_GIVEN;
}

/*
 * The first way, second half: those without a new record are proven. The others
 * have run meanwhile and go back to the list, unless it is the last round: then
 * one that is on a CPU or waits for one is stopped (pushed aside by us, it overtakes
 * who is slow to read, under a tracer of system calls for one), and one that sleeps is
 * left for the next tick: a stop would fail the system call that it sleeps in.
 */
void session_settle_batch(struct forkflame *ff, bool last)
{
	uint64_t now_ns = clock_now();

	session_drain(ff);
	for (size_t i = 0; i < ff->batch.n; i++) {
		struct thread *t = ff->batch.at[i];
		struct reading reading = { .seen = t->candidate,
					   .now_ns = now_ns,
					   .since_ns = now_ns,
					   .proven = true };
		const struct oncpu_thread *rec = NULL;

		if (session_vouched(ff, t, &rec) &&
		    (rec ? rec->records : 0) == t->records) {
			if (rec)
				reading.since_ns = rec->out_ns;
			if (rec && ran_before(ff, t, rec))
				weigh_ran_before(&t->weigh);
			/* Pushed aside by us. */
			if (rec && rec->away && (int)rec->cpu == perch_cpu())
				ff->company = true;
			session_accept(ff, t, &reading);
			continue;
		}
		thread_distrust(t);
		if (!last) {
			if (!vec_push(&ff->list, t))
				thread_make_due(ff, t);
		} else if (rec && (rec->on || session_is_ready(t, rec)) &&
			   !ff->options.nonblocking) {
			put(ff, t, true);
		} else {
			session_refuse(ff, t, OUT_TORN);
		}
	}
	ff->batch.n = 0;
}

void session_spare_sleepers(struct forkflame *ff)
{
	size_t kept = 0, n = ff->to_stop.n;

	session_drain(ff);
	for (size_t i = 0; i < n; i++) {
		struct thread *t = ff->to_stop.at[i];
		const struct oncpu_thread *rec = NULL;

		if (session_vouched(ff, t, &rec) && !(rec && rec->on))
			read_candidate(ff, t, rec);
		else
			ff->to_stop.at[kept++] = t;
	}
	ff->to_stop.n = kept;
	session_settle_batch(ff, true);
}
