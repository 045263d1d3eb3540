/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_KFRAMES_H
#define LINUX_KFRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "linux/kframes_wire.h"

/*
 * Raw frames of running threads, read by a program of ours in the kernel
 * (kframes.bpf.c), in the interrupt of a clock on the thread's own CPU: it is not
 * stopped, and its stack cannot change meanwhile.
 *
 * Only processes whose layout was given are read, and what they fork until it execs.
 * In a build without BPF all of this is refused (kframes_none.c).
 */
struct kframes;

/* One sample, as it lies in the ring: valid for the call that hands it on. */
struct kframes_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;  /* the thread's account then, up to a tick behind */
	uint64_t tstate;  /* of whatever the thread pointer leads to */
	pid_t pid, tid;   /* in the initial pid namespace */
	uint32_t cpu;     /* that it was on */
	uint32_t generation; /* of the layout that it was read by */
	enum kframes_status status;
	enum kframes_gil gil;
	const struct kframes_frame *frames; /* innermost first */
	size_t n;                           /* 0 unless WHOLE */
};

/*
 * Load the program, and have each CPU's clock run it. @period_ns is that of the
 * clocks; each CPU's is a little longer, and another, so that they do not keep step
 * with each other or with a program.
 *
 * Returns 0, or a negative errno with @err told: -EOPNOTSUPP in a build without BPF,
 * on another machine than x86-64, and in a pid namespace other than the initial one
 * (whose numbers the kernel's are); what loading came to, else.
 */
int kframes_open(struct kframes **ret, uint64_t period_ns, struct error *err);

/* NULL is fine. */
void kframes_close(struct kframes *k);

/*
 * Have the clocks run at another period from now on: those of CPUs on which there was a
 * sample in one of the last KFRAMES_QUIET periods. The others keep theirs until there is
 * one again, since each change interrupts its CPU, and waits for one that is idle to wake.
 */
#define KFRAMES_QUIET 8
void kframes_set_period(struct kframes *k, uint64_t period_ns);

/* Read @pid by @layout from now on, or no more. Returns 0 or a negative errno. */
int kframes_give(struct kframes *k, pid_t pid,
		 const struct kframes_layout *layout);
void kframes_take(struct kframes *k, pid_t pid);

/* Does the kernel have it, from us or from the process that forked it? By which layout? */
bool kframes_has(const struct kframes *k, pid_t pid, uint32_t *ret_generation);

/* Hand all samples that are there to @take, each CPU's in the order of time. */
void kframes_drain(struct kframes *k,
		   void (*take)(void *ctx, const struct kframes_sample *sample),
		   void *ctx);

/* One of the program's counters, over all CPUs. */
uint64_t kframes_counter(const struct kframes *k, enum kframes_counter which);

/*
 * Decode a record of the ring (8-byte aligned). Returns 1 with *@ret, or 0 for one
 * that is malformed.
 */
int kframes_decode(const void *record, size_t len, struct kframes_sample *ret);

#endif
