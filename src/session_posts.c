/* SPDX-License-Identifier: Apache-2.0 */
#include "session_posts.h"

#include "base/outcome.h"
#include "linux/clock.h"
#include "session_sample.h"

/*
 * The sampling thread pushes aside who runs on its own CPU, by waking; who runs on
 * another would have to be stopped, which in a virtual machine costs several times as
 * much: two interrupts from CPU to CPU. So there is a post on each CPU where a member
 * was found running, for as long as that is so. It wakes a little before the tick, and
 * has read the thread by then:
 *
 *	after tick n    posts_ask      t runs on CPU 3: post 3, read t at the next tick
 *	tick n + 1      post 3 wakes, t stands, is read, runs on
 *	                posts_collect  by the records t stood from before the reading to
 *	                               after it: a sample, of the moment when it was read
 *
 * What is not proven so does not count, and t is dealt with as if there were no posts.
 * They need switch records, and an urgency that pushes others aside.
 */

/* A post wakes so much before the tick, that it may have read by then. */
#define LEAD_NS (100 * NSEC_PER_USEC)
#define LEAD_SHARE 8

/* One that has not come by then is looked for again after this. */
#define LATE_NS (50 * NSEC_PER_USEC)

/* After so many readings in a row that proved nothing it is put back where it is to be. */
#define MISSES_MAX 8

/* One that has not been asked for so many ticks may be sent to another CPU. */
#define UNUSED_TICKS 64

void posts_close(struct forkflame *ff)
{
	for (size_t i = 0; i < ff->posts.all.n; i++)
		post_free(ff->posts.all.at[i].post);
	vec_free(&ff->posts.all);
}

/* The thread that a post was asked to read, if it is still as it was. */
static struct thread *find_thread(const struct forkflame *ff,
				  const struct post_task *task)
{
	struct thread *t = thread_of(ff, task->tid);

	if (!t || t->dead || t->process->serial != task->serial ||
	    t->process->left || t->process->left_out ||
	    process_image(t->process) != task->image ||
	    t->seat.tstate != task->tstate || t->below.n ||
	    !kernel_is_simple(t->process))
		return NULL;
	return t;
}

/*
 * Did it stand, ready to run, all the time that it was read? All records until then are
 * in. One that slept is left to the sampling thread, which asks what it waited for.
 */
static bool has_stood(const struct thread *t, const struct oncpu_thread *rec,
		      const struct post_found *found)
{
	bool asleep = rec && rec->slept_ns == rec->out_ns &&
		      session_has_slept(t, rec);

	return rec && rec->known && rec->out_ns &&
	       rec->out_ns <= found->from_ns && !asleep &&
	       (!rec->on || rec->in_ns >= found->to_ns);
}

/*
 * Returns whether it is proven that the thread stood. One that has a sample since it left
 * its CPU needs none.
 */
static bool take_found(struct forkflame *ff, struct posted *posted)
{
	struct post *post = posted->post;
	const struct post_found *found = post_found(post);
	struct thread *t = find_thread(ff, post_task(post));
	const struct oncpu_thread *rec = t ? oncpu_find(ff->oncpu, t->tid)
					   : NULL;
	struct reading reading = { .seen = { .run = RUN_ON_CPU,
					     .gil = found->gil },
				   .now_ns = found->from_ns,
				   .since_ns = found->from_ns };

	if (!t || found->from_ns < t->process->image_ns ||
	    (rec && weigh_has(&t->weigh) && rec->out_ns <= t->weigh.stood_ns))
		return false;
	if (!has_stood(t, rec, found)) {
		ff->posts.counts.moved++;
		posted->misses++;
		return false;
	}
	posted->misses = 0;
	/* Threads were made meanwhile, or it is none of ours: look for oneself. */
	if (found->r != 0 || found->mark != t->process->mark)
		return true;
	reading.seen.stack = post_stack(post, ff->stacks, ff->strings);
	if (reading.seen.stack == STACKS_NONE)
		return true;
	t->empty = found->empty;
	t->entered = t->left_out = 0;
	t->posted = ff->tick;
	session_accept(ff, t, &reading);
	ff->posts.counts.samples++;
	ff->posts.brought = t->tid;
	return true;
}

/* It was to read at the present tick, and has not yet. */
static bool is_late(const struct forkflame *ff, const struct post *post)
{
	enum post_state state = post_state(post);

	return (state == POST_ASKED || state == POST_BUSY) &&
	       post_task(post)->asked_tick < ff->tick;
}

void posts_collect(struct forkflame *ff)
{
	bool drained = false, wait = ff->posts.late_ns != 0;

	ff->posts.late_ns = 0;
	for (size_t i = 0; i < ff->posts.all.n; i++) {
		struct post *post = ff->posts.all.at[i].post;

		if (post_state(post) != POST_FOUND) {
			if (wait && is_late(ff, post))
				ff->posts.late_ns = clock_now() + LATE_NS;
			continue;
		}
		/* What came while it read. */
		if (!drained)
			session_drain(ff);
		drained = true;
		if (!ff->oncpu || !take_found(ff, &ff->posts.all.at[i]))
			post_distrust(post);
		post_take(post);
	}
}

uint64_t posts_next_ns(const struct forkflame *ff)
{
	return ff->posts.late_ns ? ff->posts.late_ns : UINT64_MAX;
}

bool posts_cover(struct forkflame *ff, const struct thread *t)
{
	if (t->posted == ff->tick && ff->tick)
		return true;
	if (t->posted_next != ff->tick || !ff->tick)
		return false;
	for (size_t i = 0; i < ff->posts.all.n; i++) {
		struct post *post = ff->posts.all.at[i].post;

		if (!is_late(ff, post) || post_task(post)->tid != t->tid)
			continue;
		ff->posts.counts.late++;
		ff->posts.late_ns = clock_now() + LATE_NS;
		return true;
	}
	return false;
}

/* One that may be had for @cpu: that of it, a new one, or one that nobody needs. */
static struct posted *post_for(struct forkflame *ff, int cpu)
{
	struct session_posts *posts = &ff->posts;
	struct posted fresh = { .cpu = cpu };
	size_t most = ff->options.samplers ? ff->options.samplers - 1
					   : SIZE_MAX;

	for (size_t i = 0; i < posts->all.n; i++)
		if (posts->all.at[i].cpu == cpu)
			return &posts->all.at[i];
	for (size_t i = 0; posts->all.n >= most && i < posts->all.n; i++) {
		struct posted *posted = &posts->all.at[i];

		if (posted->used_tick + UNUSED_TICKS > ff->tick ||
		    post_state(posted->post) != POST_IDLE ||
		    perch_send(ff->perch, post_tid(posted->post), cpu) < 0)
			continue;
		posted->cpu = cpu;
		return posted;
	}
	if (posts->failed || posts->all.n >= most)
		return NULL;
	if (post_new(&fresh.post, &posts->plan, ff->recorder != NULL) < 0 ||
	    perch_send(ff->perch, post_tid(fresh.post), cpu) < 0 ||
	    !vec_push(&posts->all, fresh)) {
		post_free(fresh.post);
		posts->failed = true;
		return NULL;
	}
	posts->counts.threads = posts->all.n;
	return &posts->all.at[posts->all.n - 1];
}

/* A thread that runs on @cpu: have it read at the next tick. */
static void ask(struct forkflame *ff, struct thread *t, int cpu)
{
	struct post_task task = {
		.tid = t->tid,
		.serial = t->process->serial,
		.tstate = t->seat.tstate,
		.interp = t->seat.interp,
		.pthread = t->seat.pthread,
		.native = t->seat.native,
		.image = process_image(t->process),
		.asked_tick = ff->tick,
	};
	struct posted *posted = post_for(ff, cpu);

	if (posted && posted->misses > MISSES_MAX) {
		(void)perch_send(ff->perch, post_tid(posted->post), cpu);
		posted->misses = 0;
	}
	if (!posted || (post_state(posted->post) == POST_ASKED &&
			!post_unask(posted->post)))
		return;
	if (post_state(posted->post) != POST_IDLE ||
	    !post_ask(posted->post, &task))
		return;
	posted->used_tick = ff->tick;
	t->posted_next = ff->tick + 1;
}

static bool may_ask(const struct thread *t)
{
	const struct process *p = t->process;

	return !t->dead && !t->below.n && p->walked && !p->left &&
	       !p->left_out && process_image(p)->verdict == VERDICT_SAMPLED &&
	       kernel_is_simple(p);
}

void posts_ask(struct forkflame *ff)
{
	struct session_posts *posts = &ff->posts;
	uint64_t lead_ns = ff->budget.interval_ns / LEAD_SHARE;
	int here;

	/* Alone, one follows it with less ado: see follow_running. */
	if (!ff->perch || !ff->oncpu || ff->kernel.frames ||
	    ff->options.samplers == 1 || (!ff->company && !posts->brought))
		return;
	here = perch_cpu();
	atomic_store(&posts->plan.lead_ns,
		     lead_ns < LEAD_NS ? lead_ns : LEAD_NS);
	atomic_store(&posts->plan.next_ns, ff->next_tick_ns);
	atomic_store(&posts->plan.after_ns, ff->after_tick_ns);
	for (size_t i = 0; i < ff->due.n; i++) {
		struct thread *t = ff->due.at[i];
		const struct oncpu_thread *rec = oncpu_find(ff->oncpu, t->tid);

		if (rec && rec->on && (int)rec->cpu != here && may_ask(t))
			ask(ff, t, (int)rec->cpu);
	}
}
