/* SPDX-License-Identifier: Apache-2.0 */
#include "session_kernel.h"

#include <unistd.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "python/framestart.h"
#include "session_internal.h"

/*
 * Whom the kernel reads: processes that it has the layout of. It is given when the first
 * threads of a process are known (kernel_offer); children have it from their parents, by
 * the kernel itself (kernel_inherit).
 */

/* What is searched of a thread's structure in the C library (glibc: its size). */
#define PTHREAD_BYTES 2304

/* The C library may not know of the thread state yet: asked again so often. */
#define OFFERS_MAX 64

/* Where the C library keeps the thread state, from the thread pointer on. */
static int find_slot(struct forkflame *ff, const struct thread *t,
		     int32_t *ret_slot)
{
	uint64_t words[PTHREAD_BYTES / 8];
	struct mem_range range = { .addr = t->seat.pthread,
				   .buf = words,
				   .len = sizeof(words) };
	int r;

	if (!t->seat.pthread || t->seat.pthread % 8 || !t->seat.tstate)
		return OUT_UNKNOWN;
	ff->remote->pid = t->tid;
	r = ff->mem.readv(ff->mem.ctx, &range, 1);
	if (r != 0 && r != OUT_TORN)
		return r;
	for (size_t i = 0; i < range.got / 8; i++) {
		if (words[i] != t->seat.tstate)
			continue;
		*ret_slot = (int32_t)(i * 8);
		return 0;
	}
	return OUT_UNKNOWN;
}

/* Of a version whose frames the kernel can read as we would. */
static bool is_readable(const struct process *p)
{
	const struct image *image = process_image(p);
	const struct layout *layout = &image->rt.layout;

	return image->verdict == VERDICT_SAMPLED && layout->major == 3 &&
	       layout->minor >= 8 && !layout->free_threaded &&
	       layout->frame.tlbc_index == LAYOUT_NONE &&
	       (layout->frame_kind != FRAME_CFRAME ||
		layout->cframe.previous == layout->cframe.current + 8u);
}

bool kernel_is_simple(const struct process *p)
{
	return !process_image(p)->second_codes && p->interps <= 1 && !p->lends;
}

static void fill_frames(const struct layout *from, struct kframes_layout *to)
{
	to->thread_frame = from->thread.frame;
	to->thread_base = from->thread.base_frame;
	to->cframe_current = from->frame_kind == FRAME_CFRAME
				     ? from->cframe.current
				     : KFRAMES_NONE;
	to->thread_unused =
		(uint16_t)(from->thread.datastack_chunk + FRAMESTART_UNUSED);
	to->frame_previous = from->frame.previous;
	to->frame_code = from->frame.code;
	to->frame_instr = from->frame.instr;
	to->frame_owner = from->frame.owner;
	to->frame_is_entry = from->frame.is_entry;
	to->frame_size = from->frame.size;
	to->lasti = from->frame_kind == FRAME_OBJECT;
	to->owner_skip = from->owner_skip;
	to->owner_limit = from->owner_limit;
	to->tag_mask = from->tag_mask;
}

/* Who has the interpreter's lock: where that is, if anybody wants to know. */
static void fill_lock(struct forkflame *ff, const struct runtime *rt,
		      const struct thread *t, struct kframes_layout *to)
{
	uint64_t holder = 0, locked = 0;

	if (!(ff->recorder || ff->dumping) ||
	    runtime_gil_place(&ff->mem, rt, t->seat.interp, &holder, &locked) ||
	    (locked && locked != holder + sizeof(holder)))
		return;
	to->gil_holder = holder;
	to->gil_pair = locked != 0;
}

static void give(struct forkflame *ff, struct process *p,
		 const struct thread *t)
{
	const struct runtime *rt = &process_image(p)->rt;
	struct kframes_layout layout = { .generation = ++ff->kernel.generations,
					 .uid = getuid(),
					 .gid = getgid(),
					 .all_users = ff->kernel.all_users };
	int r = codecache_plan(&rt->layout, &layout.code) ? 0 : OUT_UNKNOWN;

	p->kernel = KERNEL_REFUSED;
	if (r != 0)
		return;
	fill_frames(&rt->layout, &layout);
	if (find_slot(ff, t, &layout.tls) != 0) {
		if (++p->kernel_offers < OFFERS_MAX)
			p->kernel = KERNEL_NO;
		return;
	}
	fill_lock(ff, rt, t, &layout);
	if (kframes_give(ff->kernel.frames, p->pid, &layout) != 0)
		return;
	p->kernel = KERNEL_GIVEN;
	p->kernel_copied = false;
	p->kernel_generation = layout.generation;
	p->kernel_ns = clock_now();
}

void kernel_offer(struct forkflame *ff, struct process *p)
{
	if (!ff->kernel.frames || p->kernel != KERNEL_NO || !p->threads.n ||
	    p->left || p->left_out)
		return;
	if (!is_readable(p))
		p->kernel = KERNEL_REFUSED;
	else if (kernel_is_simple(p))
		give(ff, p, p->threads.at[0]);
}

void kernel_inherit(struct forkflame *ff, struct process *p,
		    const struct process *parent)
{
	ff->kernel.young_ns = clock_now();
	if (!ff->kernel.frames || parent->kernel != KERNEL_GIVEN ||
	    !kframes_has(ff->kernel.frames, p->pid, &p->kernel_generation))
		return;
	p->kernel = KERNEL_GIVEN;
	p->kernel_copied = true;
	p->kernel_ns = clock_now();
}

void kernel_forget(struct forkflame *ff, struct process *p)
{
	if (ff->kernel.frames && p->kernel == KERNEL_GIVEN)
		kframes_take(ff->kernel.frames, p->pid);
	p->kernel = KERNEL_NO;
	p->kernel_offers = 0;
	p->kernel_misses = 0;
}
