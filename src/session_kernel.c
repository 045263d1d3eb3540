/* SPDX-License-Identifier: Apache-2.0 */
#include "session_kernel.h"

#include <string.h>

#include "base/outcome.h"
#include "base/retime.h"
#include "linux/clock.h"
#include "session_sample.h"

/*
 * Running threads that the kernel reads for us (linux/kframes), in place of a stop.
 *
 *	kernel_offer    a process whose layout the kernel has; its children have it too
 *	kernel_drain    what the clocks have brought: each sample counts at its own time,
 *	                whatever the thread does by now
 *	kernel_covers   in a tick: a thread that is on a CPU, or ready for one, is left
 *	                to the clock of that CPU
 *
 * All samples of a clock count, and not only those of threads that are found running
 * in a tick: or the beginnings of bursts would have more of them than their ends. So
 * a running thread has them in proportion to its CPU time, and one that sleeps has
 * one in each tick in which it sleeps, as ever.
 *
 * A thread that cannot be read in the kernel is stopped in the next tick instead; and
 * so is one that should have been hit by a clock and was not.
 */

/* No sample in so many intervals on a CPU: something is amiss with it. */
#define MISSING_INTERVALS 4

/* The clock does not reach its threads at all, it seems: they are stopped for good. */
#define MISSES_MAX 8

/*
 * Ticks are so far apart, at high rates, while nobody had to be stopped for some time,
 * who would have fewer samples then; a tick may come a quarter late, and what the clocks bring is not to wait for longer than
 * KERNEL_DRAIN_NS. While a process is young it is looked at in each interval, so that
 * what it runs is known should it end soon.
 */
#define STRIDE_NS (8 * NSEC_PER_MSEC)
#define STOPS_NS NSEC_PER_SEC
#define YOUNG_NS (20 * NSEC_PER_MSEC)

/* A forked process is taken for one that lives on. */
#define COPIED_NS NSEC_PER_SEC

/*
 * For how long a period of the clocks is kept, at least: each change interrupts its CPU,
 * which at 1 kHz took two thirds of our CPU time when it was made each 16 ticks.
 */
#define RETIME_TICKS 16
#define RETIME_NS (100 * NSEC_PER_MSEC)

/* Of members that are still to be heard of: kept from one drain to the next. */
#define LATER_MAX (1u << 20)

/*
 * Not for ever the same, or they run in step with what they look at: base/retime.h. After
 * each that is faster comes one that is as much slower, or the other way round: else the
 * samples of 10 s at 100 Hz would differ by 2 % from run to run.
 */
void kernel_set_rate(struct forkflame *ff)
{
	struct session_kernel *kernel = &ff->kernel;
	uint64_t interval = ff->budget.interval_ns, now_ns = clock_now();
	uint64_t kept_ns = RETIME_TICKS * interval;

	if (!kernel->frames)
		return;
	kernel->mirrored = kernel->period_ns && !kernel->mirrored;
	kernel->chance = kernel->mirrored ? RETIME_CHANCES - 1 - kernel->chance
					  : session_random(ff, RETIME_CHANCES);
	kernel->period_ns = retime_next(interval, kernel->period_ns,
					nsec_since(now_ns, kernel->set_ns),
					kernel->chance);
	kframes_set_period(kernel->frames, kernel->period_ns);
	kernel->set_ns = now_ns;
	kernel->retime_ns =
		now_ns + (kept_ns > RETIME_NS ? kept_ns : RETIME_NS);
}

/* It has become one that is not to be read in the kernel. */
static void refuse_process(struct forkflame *ff, struct process *p)
{
	kernel_forget(ff, p);
	p->kernel = KERNEL_REFUSED;
}

bool kernel_covers(struct forkflame *ff, struct thread *t, uint64_t since_ns)
{
	struct process *p = t->process;
	uint64_t from_ns = t->kernel_ns;

	if (!ff->kernel.frames || !ff->kernel.ticking)
		return false;
	if (p->kernel == KERNEL_GIVEN && (!kernel_is_simple(p) || t->below.n))
		kernel_forget(ff, p);
	/* It lives on: its code objects are told by their own numbers from now on. */
	if (p->kernel == KERNEL_GIVEN && p->kernel_copied &&
	    clock_now() > p->kernel_ns + COPIED_NS)
		p->kernel = KERNEL_NO;
	kernel_offer(ff, p);
	if (p->kernel != KERNEL_GIVEN)
		return false;
	if (t->kernel_failed) {
		t->kernel_failed = false;
		return false;
	}
	from_ns = since_ns > from_ns ? since_ns : from_ns;
	from_ns = p->kernel_ns > from_ns ? p->kernel_ns : from_ns;
	if (clock_now() < from_ns + MISSING_INTERVALS * ff->budget.interval_ns)
		return true;
	if (++p->kernel_misses > MISSES_MAX)
		refuse_process(ff, p);
	return false;
}

/* The thread that a sample is of, as it is known. */
static struct thread *find_thread(const struct forkflame *ff,
				  const struct process *p, pid_t tid)
{
	struct thread *t = thread_of(ff, tid);

	return t && t->process == p && !t->dead ? t : NULL;
}

static struct process *find_process(const struct forkflame *ff, pid_t pid)
{
	uint32_t serial = proctree_find(ff->tree, pid);

	return serial == PROCTREE_NONE ? NULL : process_at(ff, serial);
}

/*
 * The thread's account at the sample. The kernel's is behind by up to a scheduler's
 * tick; where the switch records cover that time they say more.
 */
static uint64_t cpu_at(const struct forkflame *ff, const struct thread *t,
		       const struct kframes_sample *sample)
{
	const struct oncpu_thread *rec = oncpu_find(ff->oncpu, t->tid);
	uint64_t cpu_ns = t->weigh.cpu_ns, total_ns = 0;

	if (rec && rec->known && rec->in_ns && rec->in_ns <= sample->time_ns) {
		if (rec->on)
			total_ns = rec->cpu_ns + sample->time_ns - rec->in_ns;
		else if (sample->time_ns <= rec->out_ns)
			total_ns = nsec_since(rec->cpu_ns,
					      rec->out_ns - sample->time_ns);
	}
	cpu_ns += nsec_since(total_ns, t->rec_cpu_ns);
	return sample->cpu_ns > cpu_ns ? sample->cpu_ns : cpu_ns;
}

/*
 * Its frames as ff->raw and ff->ids. Returns 0, or what reading came to of a code
 * object that is not known.
 */
static int take_frames(struct forkflame *ff, struct thread *t,
		       const struct kframes_sample *sample)
{
	const struct image *image = process_image(t->process);
	const struct layout *layout = &image->rt.layout;
	struct session_kernel *kernel = &ff->kernel;
	int r;

	for (size_t i = 0; i < sample->n; i++) {
		const struct kframes_frame *from = &sample->frames[i];
		int64_t instr = (int64_t)from->instr;

		if (layout->frame_kind == FRAME_OBJECT)
			instr = instr < 0 ? -1 : instr * layout->instr_scale;
		else
			instr -= (int64_t)(from->code + layout->code.bytecode);
		ff->raw[i] =
			(struct rawframe){ .code = from->code, .instr = instr };
		kernel->checks[i] = from->check;
	}
	ff->remote->pid = t->tid;
	ff->second_from = ff->second_to = 0;
	t->left_out = 0;
	t->entered = 0;
	r = codecache_recall(
		image->codes,
		t->process->kernel_copied ? NULL : &t->process->seen, &ff->mem,
		layout, ff->raw, kernel->checks, sample->n, ff->ids);
	for (size_t i = 0; r == 0 && i < sample->n; i++)
		kernel->counts.freed += ff->ids[i] == CODE_UNKNOWN;
	return r;
}

static void count_failure(struct summary_kernel *counts,
			  enum kframes_status status)
{
	switch (status) {
	case KFRAMES_UNREAD:
		counts->unread++;
		return;
	case KFRAMES_DEEP:
		counts->deep++;
		return;
	case KFRAMES_TORN:
		counts->torn++;
		return;
	case KFRAMES_NO_STATE:
		counts->no_state++;
		return;
	case KFRAMES_DENIED:
		counts->denied++;
		return;
	default:
		counts->unknown++;
		return;
	}
}

static uint8_t gil_of(const struct forkflame *ff, enum kframes_gil gil)
{
	static const uint8_t states[] = {
		[KFRAMES_GIL_UNKNOWN] = GIL_UNKNOWN,
		[KFRAMES_GIL_NONE] = GIL_NONE,
		[KFRAMES_GIL_HELD] = GIL_HELD,
	};

	return ff->recorder || ff->dumping ? states[gil] : GIL_UNKNOWN;
}

/* One sample, of a thread that is known. */
static void take_sample(struct forkflame *ff, struct thread *t,
			const struct kframes_sample *sample)
{
	struct reading reading = { .seen = { .run = RUN_ON_CPU },
				   .now_ns = sample->time_ns,
				   .since_ns = sample->time_ns,
				   .by_kernel = true };
	int r;

	t->kernel_ns = sample->time_ns;
	t->process->kernel_misses = 0;
	/* Another thread state than that which we know it by: never a guess. */
	if (sample->status != KFRAMES_WHOLE ||
	    sample->tstate != t->seat.tstate || t->below.n) {
		count_failure(&ff->kernel.counts, sample->status);
		t->kernel_failed = true;
		return;
	}
	if (weigh_has(&t->weigh) && sample->time_ns <= t->weigh.stood_ns) {
		ff->kernel.counts.superseded++;
		return;
	}
	r = take_frames(ff, t, sample);
	if (r != 0) {
		session_refuse(ff, t, r);
		return;
	}
	t->empty = sample->n == 0;
	reading.seen.gil = gil_of(ff, sample->gil);
	reading.cpu_ns = cpu_at(ff, t, sample);
	reading.seen.stack = thread_decode(ff, t, sample->n, false);
	session_accept(ff, t, &reading);
}

/* Did this process have a Python, and was it this one, when the sample was taken? */
static bool is_of(const struct process *p, const struct kframes_sample *sample)
{
	return p->kernel == KERNEL_GIVEN && !p->left_out && !p->left &&
	       sample->generation == p->kernel_generation &&
	       sample->time_ns >= p->image_ns && kernel_is_simple(p);
}

/* Keep it until more is known. */
static bool keep(struct session_kernel *kernel,
		 const struct kframes_sample *sample)
{
	struct kframes_head head = {
		.time_ns = sample->time_ns,
		.cpu_ns = sample->cpu_ns,
		.tstate = sample->tstate,
		.pid = (uint32_t)sample->pid,
		.tid = (uint32_t)sample->tid,
		.generation = sample->generation,
		.status = (uint16_t)sample->status,
		.gil = (uint32_t)sample->gil,
		.n = (uint16_t)sample->n,
	};
	size_t frames = sample->n * sizeof(*sample->frames);

	if (kernel->later.n > LATER_MAX ||
	    !vec_reserve(&kernel->later, sizeof(head) + frames))
		return false;
	memcpy(kernel->later.at + kernel->later.n, &head, sizeof(head));
	kernel->later.n += sizeof(head);
	if (frames)
		memcpy(kernel->later.at + kernel->later.n, sample->frames,
		       frames);
	kernel->later.n += frames;
	return true;
}

/*
 * With @last, what is not known is not waited for. Returns false when @sample was not
 * of anything that we know.
 */
static bool take_known(struct forkflame *ff,
		       const struct kframes_sample *sample)
{
	struct process *p = find_process(ff, sample->pid);
	struct thread *t;

	if (!p || !is_of(p, sample))
		return false;
	t = find_thread(ff, p, sample->tid);
	if (!t) {
		/* A thread that runs no Python is nobody that we miss. */
		if (sample->status == KFRAMES_NO_STATE)
			return true;
		(void)process_refresh(ff, p);
		t = find_thread(ff, p, sample->tid);
	}
	if (!t)
		return false;
	take_sample(ff, t, sample);
	return true;
}

static void take_new(void *ctx, const struct kframes_sample *sample)
{
	struct forkflame *ff = ctx;

	if (!take_known(ff, sample) && !keep(&ff->kernel, sample))
		ff->kernel.counts.unknown++;
}

/* Those that were kept at the last drain: now or never. */
static void take_kept(struct forkflame *ff)
{
	struct session_kernel *kernel = &ff->kernel;
	struct kframes_sample sample;
	size_t at = 0;

	kernel->had.n = 0;
	if (!kernel->later.n || !vec_reserve(&kernel->had, kernel->later.n))
		return;
	memcpy(kernel->had.at, kernel->later.at, kernel->later.n);
	kernel->had.n = kernel->later.n;
	kernel->later.n = 0;
	while (at < kernel->had.n &&
	       kframes_decode(kernel->had.at + at, kernel->had.n - at,
			      &sample)) {
		if (!take_known(ff, &sample))
			kernel->counts.unknown++;
		at += sizeof(struct kframes_head) +
		      sample.n * sizeof(struct kframes_frame);
	}
}

uint64_t kernel_stride(struct forkflame *ff, uint64_t now_ns)
{
	struct session_kernel *kernel = &ff->kernel;

	kernel->stride = 1;
	if (kernel->frames && now_ns > kernel->stops_ns + STOPS_NS &&
	    now_ns > kernel->young_ns + YOUNG_NS)
		kernel->stride = STRIDE_NS / ff->budget.interval_ns;
	if (!kernel->stride)
		kernel->stride = 1;
	return kernel->stride;
}

void kernel_drain(struct forkflame *ff)
{
	struct session_kernel *kernel = &ff->kernel;

	if (!kernel->frames || kernel->draining)
		return;
	/* A thread that is found by it may want to be sampled at once. */
	kernel->draining = true;
	session_drain(ff);
	take_kept(ff);
	kframes_drain(kernel->frames, take_new, ff);
	kernel->drain_ns = clock_now() + KERNEL_DRAIN_NS;
	kernel->draining = false;
	if (clock_now() >= kernel->retime_ns)
		kernel_set_rate(ff);
}

uint64_t kernel_next_ns(const struct forkflame *ff)
{
	return ff->kernel.frames ? ff->kernel.drain_ns : UINT64_MAX;
}
