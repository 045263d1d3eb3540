/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Our program in the kernel. GPL is a choice because the kernel gives the
 * functions that read a process's memory only to programs that say so.
 *
 * At each tick of a CPU's clock, in the interrupt that the clock makes there:
 *
 *  1. is the process of the thread that was hit in the map of layouts? If not, that
 *     was all; and may its memory be read by who loaded us, now that it may have
 *     become another user's?
 *  2. its thread state, by its own thread pointer; the newest frame in that;
 *  3. frame after frame, as python/frame.c does it for a thread that was stopped: the
 *     thread is interrupted, and executes nothing until we are done;
 *  4. of each frame its code object, told apart from all others (base/codecheck.h);
 *  5. one record into the ring.
 *
 * A page that is not there cannot be brought in from an interrupt: then the record
 * says so, and has no frames. Fork, exec and end of a process copy and drop its
 * layout here, so that a child has its first tick read.
 *
 * Only the kernel's fields that are named here are used; where they are is found when
 * the program is loaded (CO-RE).
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "linux/kframes_check.h"
#include "linux/kframes_wire.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct thread_struct {
	unsigned long fsbase;
};

struct sched_entity {
	uint64_t sum_exec_runtime;
};

struct signal_live {
	int counter;
};

struct signal_struct {
	struct signal_live live;
};

typedef struct {
	uint32_t val;
} user_id;

struct cred {
	user_id uid, suid, euid, gid, sgid, egid;
};

/* Since Linux 6.18 the flags are a structure. */
struct mm_flags {
	unsigned long word;
};

struct mm_struct {
	unsigned long flags;
};

struct mm_struct___bits {
	struct mm_flags flags;
};

struct task_struct {
	int pid, tgid;
	struct mm_struct *mm;
	const struct cred *real_cred;
	struct sched_entity se;
	struct signal_struct *signal;
	struct thread_struct thread;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, uint32_t);
	__type(value, struct kframes_layout);
} layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KFRAMES_COUNTERS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counters SEC(".maps");

/* Of mm_struct's flags: who may dump it; 1, its user (linux/sched/coredump.h). */
#define MMF_DUMPABLE_MASK 3u

/* What is read of a stack at once; a power of two. */
#define WINDOW 2048u

/* Code objects that a sample has met already, by their addresses; a power of two. */
#define MET 64u

/*
 * Where a sample is put together, one for each CPU. The walk's own state is in it too,
 * and not on the stack: there the verifier would follow each value that it can have, and
 * look at forty times as many instructions (2,700; 0.04 s for all of the loading).
 */
struct scratch {
	struct kframes_head head;
	struct kframes_frame frames[KFRAMES_MAX];
	/* Bytes of the stack, from window_at on, and room for the last frame's end. */
	uint64_t window_at;
	uint8_t window[WINDOW + KFRAMES_FRAME_BYTES + 8];
	struct codework code;
	/* Of this sample: where in frames a code object was last seen. */
	uint16_t met[MET];
	/* The walk. */
	uint64_t at, base;
	uint64_t tstate;
	uint64_t leaf;      /* the newest frame */
	uint64_t unused[2]; /* what lies there are no frames: framestart.c */
	uint64_t below;     /* the newest frame of the evaluation below */
	uint64_t below_at, below_previous; /* its cframe, and the next one */
	uint32_t frame;  /* the present frame begins there in the window */
	uint32_t filled; /* bytes of the window */
	uint32_t n;
	uint32_t status;
	bool entered; /* the first entry frame was met, or need not be */
	bool retried; /* from the cframe below the newest */
};

/* Its size is that of the machine, set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct walk {
	const struct kframes_layout *layout;
	struct scratch *s;
};

static void add(uint32_t which, uint64_t n)
{
	uint64_t *counter = bpf_map_lookup_elem(&counters, &which);

	if (counter)
		*counter += n;
}

static const uint8_t *field(const struct walk *w, uint16_t at)
{
	return w->s->window + (w->s->frame & (WINDOW - 1)) +
	       (at & (KFRAMES_FRAME_BYTES - 1));
}

static uint64_t field_u64(const struct walk *w, uint16_t at)
{
	return *(const uint64_t *)field(w, at);
}

/*
 * Have the frame at w->s->at in the window. From 3.11 those that called it lie below it,
 * most often: they come with it, as far as its page goes, which is there.
 */
static int read_frame(struct walk *w)
{
	struct scratch *s = w->s;
	uint32_t size = w->layout->frame_size, len = size;
	uint64_t from = w->s->at, page = from & ~4095ull;

	if (size > KFRAMES_FRAME_BYTES)
		return -1;
	if (!w->layout->lasti) {
		if (from >= s->window_at &&
		    from - s->window_at < w->s->filled &&
		    from + size <= s->window_at + w->s->filled) {
			w->s->frame = (uint32_t)(from - s->window_at);
			return 0;
		}
		from = from + size - WINDOW;
		if (from < page)
			from = page;
		len = (uint32_t)(w->s->at + size - from);
	}
	w->s->filled = 0;
	if (len > sizeof(s->window) ||
	    bpf_probe_read_user(s->window, len, (const void *)from))
		return -1;
	s->window_at = from;
	w->s->filled = len;
	w->s->frame = (uint32_t)(w->s->at - from);
	return 0;
}

static int read_u64(uint64_t addr, uint64_t *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)addr);
}

/* Take down a frame of Python code, whose bytes are in the scratch. */
static int put_frame(struct walk *w)
{
	const struct kframes_layout *layout = w->layout;
	struct scratch *s = w->s;
	struct kframes_frame *to;
	uint64_t code, instr;
	uint32_t seen;
	uint16_t *met;

	if (w->s->n >= KFRAMES_MAX)
		return KFRAMES_DEEP;
	code = field_u64(w, layout->frame_code) & ~layout->tag_mask;
	instr = field_u64(w, layout->frame_instr);
	if (!code || code % 8)
		return KFRAMES_TORN;
	to = &s->frames[w->s->n & (KFRAMES_MAX - 1)];
	to->code = code;
	to->instr = layout->lasti ? (uint64_t)(int64_t)(int32_t)instr : instr;
	/* Recursion: the frame above holds the object, which is still the same one. */
	met = &s->met[(code >> 4 ^ code >> 12) & (MET - 1)];
	seen = *met & (KFRAMES_MAX - 1);
	*met = (uint16_t)w->s->n;
	if (seen < w->s->n && s->frames[seen].code == code)
		to->check = s->frames[seen].check;
	else if (check_code(&layout->code, &s->code, code, &to->check))
		return KFRAMES_UNREAD;
	w->s->n++;
	return KFRAMES_WHOLE;
}

/* The lowest cframe is a part of the thread state: no evaluation. */
static bool is_lowest(const struct walk *w, uint64_t cframe)
{
	return cframe - w->s->tstate < 1024;
}

/* The cframe that another names as the one below it: as in python/framestart.c. */
static uint32_t read_below(struct walk *w, uint64_t previous)
{
	uint64_t both[2];

	if (!previous || previous % 8)
		return KFRAMES_TORN;
	if (bpf_probe_read_user(
		    both, sizeof(both),
		    (const void *)(previous + w->layout->cframe_current)))
		return KFRAMES_UNREAD;
	w->s->below = both[0];
	w->s->below_previous = both[1];
	w->s->below_at = previous;
	w->s->entered = false;
	return both[0] || is_lowest(w, previous) || is_lowest(w, both[1])
		       ? KFRAMES_WHOLE
		       : KFRAMES_TORN;
}

/*
 * What is in the newest cframe is an old one's: on its way into an evaluation, the
 * stack is that below. Not 0: there is none to be told.
 */
static long try_below(struct walk *w)
{
	w->s->status = KFRAMES_TORN;
	if (w->s->entered || w->s->retried)
		return 1;
	w->s->retried = true;
	w->s->n = 0;
	w->s->leaf = w->s->at = w->s->below;
	w->s->status = KFRAMES_WHOLE;
	if (is_lowest(w, w->s->below_at))
		w->s->entered = true;
	else
		w->s->status = read_below(w, w->s->below_previous);
	return w->s->status != KFRAMES_WHOLE;
}

/* Not 0: the walk ends here. */
static long step(uint32_t i, struct walk *w)
{
	const struct kframes_layout *layout = w->layout;
	bool python = true, entry = false, left_over;
	uint8_t owner;

	if (!w->s->at || w->s->at == w->s->base) {
		return w->s->entered ? 1 : try_below(w);
	}
	w->s->status = KFRAMES_TORN;
	if (w->s->at % 8)
		goto torn;
	if (read_frame(w)) {
		w->s->status = KFRAMES_UNREAD;
		goto torn;
	}
	left_over = w->s->at - w->s->unused[0] <
		    w->s->unused[1] - w->s->unused[0];
	if (left_over &&
	    (w->s->at != w->s->leaf || w->s->at != w->s->unused[0]))
		goto torn;
	if (layout->frame_owner != KFRAMES_NONE) {
		owner = *field(w, layout->frame_owner);
		if (owner >= layout->owner_limit)
			goto torn;
		python = !(layout->owner_skip >> (owner & 7) & 1);
		entry = layout->frame_is_entry != KFRAMES_NONE
				? *field(w, layout->frame_is_entry)
				: !python;
	}
	w->s->at = field_u64(w, layout->frame_previous);
	if (entry && !w->s->entered) {
		if (w->s->at != w->s->below)
			goto torn;
		w->s->entered = true;
	}
	if (python && !left_over) {
		w->s->status = put_frame(w);
		if (w->s->status == KFRAMES_DEEP)
			return 1;
		if (w->s->status != KFRAMES_WHOLE)
			goto torn;
	}
	w->s->status = KFRAMES_WHOLE;
	return 0;
torn:
	/* A page that is not there does not tell whether it is an old one's. */
	return w->s->entered || w->s->status == KFRAMES_UNREAD ? 1
							       : try_below(w);
}

/* 3.11 and 3.12: the newest frame is in the newest cframe. */
static int enter_cframe(struct walk *w)
{
	const struct kframes_layout *layout = w->layout;
	uint64_t cframe = w->s->at,
		 both[2]; /* side by side where we are used */

	if (cframe % 8)
		return KFRAMES_TORN;
	if (bpf_probe_read_user(
		    both, sizeof(both),
		    (const void *)(cframe + layout->cframe_current)))
		return KFRAMES_UNREAD;
	w->s->leaf = w->s->at = both[0];
	if (bpf_probe_read_user(
		    w->s->unused, sizeof(w->s->unused),
		    (const void *)(w->s->tstate + layout->thread_unused)))
		return KFRAMES_UNREAD;
	if (!both[1])
		return is_lowest(w, cframe) ? KFRAMES_WHOLE : KFRAMES_TORN;
	return (int)read_below(w, both[1]);
}

static int find_start(struct walk *w, uint64_t tstate)
{
	const struct kframes_layout *layout = w->layout;

	if (read_u64(tstate + layout->thread_frame, &w->s->at))
		return KFRAMES_UNREAD;
	if (!w->s->at)
		return KFRAMES_WHOLE;
	if (layout->thread_base != KFRAMES_NONE) {
		if (read_u64(tstate + layout->thread_base, &w->s->base))
			return KFRAMES_UNREAD;
		if (!w->s->base)
			return KFRAMES_TORN;
	}
	if (layout->cframe_current != KFRAMES_NONE)
		return enter_cframe(w);
	return KFRAMES_WHOLE;
}

static int read_stack(struct walk *w, uint64_t fsbase)
{
	struct kframes_head *head = &w->s->head;
	int status;

	if (read_u64(fsbase + (int64_t)w->layout->tls, &head->tstate))
		return KFRAMES_UNREAD;
	if (!head->tstate || head->tstate % 8)
		return KFRAMES_NO_STATE;
	w->s->code.file.addr = w->s->code.name.addr = 0;
	w->s->tstate = head->tstate;
	status = find_start(w, head->tstate);
	if (status != KFRAMES_WHOLE)
		return status;
	/* Frames without code and one new start come on top. */
	bpf_loop(2 * KFRAMES_MAX + 16, step, w, 0);
	if (w->s->status == KFRAMES_WHOLE && w->s->at != w->s->base)
		return w->s->at ? KFRAMES_DEEP : KFRAMES_TORN;
	return (int)w->s->status;
}

static uint32_t look_at_gil(const struct kframes_layout *layout,
			    uint64_t tstate)
{
	struct {
		uint64_t holder;
		int32_t locked, zero;
	} gil = { .locked = 1 };
	uint32_t len = layout->gil_pair ? sizeof(gil) : sizeof(gil.holder);

	if (!layout->gil_holder ||
	    bpf_probe_read_user(&gil, len, (const void *)layout->gil_holder))
		return KFRAMES_GIL_UNKNOWN;
	/* The last holder stays when it lets go. */
	return gil.locked == 1 && gil.holder == tstate ? KFRAMES_GIL_HELD
						       : KFRAMES_GIL_NONE;
}

/* May it be dumped, and so read by its own user? That ends when it changes its user. */
static bool is_dumpable(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	unsigned long flags = 0;

	if (!mm)
		return false;
	if (bpf_core_field_exists(mm->flags))
		flags = mm->flags;
	else
		(void)bpf_core_read(&flags, sizeof(flags),
				    &((struct mm_struct___bits *)mm)->flags);
	return (flags & MMF_DUMPABLE_MASK) == 1;
}

/* What ptrace asks of who has no rights over others. */
static bool may_read(struct task_struct *task,
		     const struct kframes_layout *layout)
{
	const struct cred *cred = task->real_cred;

	if (layout->all_users)
		return true;
	return cred->uid.val == layout->uid && cred->suid.val == layout->uid &&
	       cred->euid.val == layout->uid && cred->gid.val == layout->gid &&
	       cred->sgid.val == layout->gid && cred->egid.val == layout->gid &&
	       is_dumpable(task);
}

static void begin(struct scratch *s)
{
	s->at = s->base = s->leaf = s->unused[0] = s->unused[1] = 0;
	s->below = s->below_at = s->below_previous = 0;
	s->filled = s->n = s->status = 0;
	s->entered = true;
	s->retried = false;
}

SEC("perf_event")
int on_clock(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t ids = bpf_get_current_pid_tgid();
	uint32_t pid = ids >> 32, cpu = bpf_get_smp_processor_id();
	struct walk w = { 0 };
	struct kframes_head *head;
	uint64_t len;

	if (!pid)
		return 0;
	w.layout = bpf_map_lookup_elem(&layouts, &pid);
	if (!w.layout)
		return 0;
	w.s = bpf_map_lookup_elem(&scratches, &cpu);
	if (!w.s)
		return 0;
	begin(w.s);
	head = &w.s->head;
	head->time_ns = bpf_ktime_get_ns();
	head->cpu_ns = task->se.sum_exec_runtime;
	head->tstate = 0;
	head->pid = pid;
	head->tid = (uint32_t)ids;
	head->generation = w.layout->generation;
	head->status = may_read(task, w.layout)
			       ? read_stack(&w, task->thread.fsbase)
			       : KFRAMES_DENIED;
	/* Taken away meanwhile, and its place given to another. */
	if (w.layout->generation != head->generation)
		head->status = KFRAMES_TORN;
	if (head->status != KFRAMES_WHOLE || w.s->n > KFRAMES_MAX)
		w.s->n = 0;
	head->n = w.s->n;
	head->gil = w.s->n ? look_at_gil(w.layout, head->tstate)
			   : KFRAMES_GIL_UNKNOWN;
	head->cpu = cpu;
	len = sizeof(*head) + w.s->n * sizeof(struct kframes_frame);
	if (len > sizeof(*head) + sizeof(w.s->frames))
		return 0;
	if (bpf_ringbuf_output(&ring, w.s, len, BPF_RB_NO_WAKEUP)) {
		add(KFRAMES_LOST, 1);
		return 0;
	}
	add(KFRAMES_SAMPLES, 1);
	add(KFRAMES_NS, bpf_ktime_get_ns() - head->time_ns);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	uint32_t from = parent->tgid, to = child->tgid;
	struct kframes_layout *layout, copy;

	if (from == to)
		return 0;
	layout = bpf_map_lookup_elem(&layouts, &from);
	if (!layout)
		return 0;
	copy = *layout;
	/* It may be gone before anybody looks, and counts by itself from now on. */
	copy.code.version = 0;
	add(bpf_map_update_elem(&layouts, &to, &copy, BPF_ANY) ? KFRAMES_NO_ROOM
							       : KFRAMES_FORKS,
	    1);
	return 0;
}

static void drop(uint32_t pid)
{
	if (!bpf_map_delete_elem(&layouts, &pid))
		add(KFRAMES_DROPS, 1);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	drop(task->tgid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	/* The last one of the process; it has been taken off the count already. */
	if (task->signal->live.counter == 0)
		drop(task->tgid);
	return 0;
}
