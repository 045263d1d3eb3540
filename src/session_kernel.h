/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_KERNEL_H
#define SESSION_KERNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/nsec.h"
#include "base/vec.h"
#include "linux/kframes.h"
#include "profile/summary.h"

/* Running threads that the kernel reads for us, in place of a stop. */

/* What the clocks bring is taken in so often: before code objects are forgotten. */
#define KERNEL_DRAIN_NS (10 * NSEC_PER_MSEC)

/* So often the list of a process's threads is compared while nothing else tells. */
#define KERNEL_LIST_NS (50 * NSEC_PER_MSEC)

/* A thread that loads the program. All else is its own until it is done. */
struct kernel_loading {
	pthread_t thread;
	bool running; /* until it is joined */
	atomic_bool done;
	uint64_t period_ns;
	struct kframes *frames; /* if r is 0 */
	struct error refused;
	int r;
};

struct session_kernel {
	struct kframes *frames; /* NULL: running threads are stopped */
	struct kernel_loading loading;
	bool used;
	bool all_users; /* we may read other users' processes */
	char reason[512];
	uint64_t period_ns, set_ns; /* of the clocks, and since when */
	uint64_t retime_ns;         /* when they get another one */
	uint64_t chance;            /* that it was made with */
	bool mirrored;              /* it made up for the one before it */
	uint64_t drain_ns;          /* when to take in the next samples */
	uint32_t generations;       /* of layouts that were given */
	bool ticking; /* in a regular tick, which leaves threads to the clocks */
	uint64_t stride;   /* how many intervals the next tick is of */
	uint64_t stops_ns; /* some had to be stopped then */
	uint64_t young_ns; /* a process was born then */
	bool draining;
	uint64_t checks[KFRAMES_MAX];
	struct VEC(uint8_t) later,
		had; /* records of whom we have not heard yet */
	struct summary_kernel counts;
};

/* Of a process. */
enum kernel_state {
	KERNEL_NO,      /* not offered, or it has to be offered again */
	KERNEL_GIVEN,   /* the kernel has its layout */
	KERNEL_REFUSED, /* its running threads are stopped */
};

struct forkflame;
struct process;
struct thread;

/*
 * session_loading.c. Before anything is sampled, and after the switch records were
 * opened. Returns 0; or a negative errno with ff->err told, if frames from the kernel
 * were asked for and are not to be had. What is loaded beside a run is there once
 * kernel_adopt, in a tick, has found it done.
 */
int kernel_open(struct forkflame *ff);
void kernel_adopt(struct forkflame *ff);
void kernel_close(struct forkflame *ff);

/* The interval of the ticks has changed. */
void kernel_set_rate(struct forkflame *ff);

/* One interpreter, and no thread in two of them: which may be so for a moment. */
bool kernel_is_simple(const struct process *p);

/* Threads of @p are known: have the kernel read them, if it can. */
void kernel_offer(struct forkflame *ff, struct process *p);

/* @p was forked: the kernel has it, if it had @parent by then. */
void kernel_inherit(struct forkflame *ff, struct process *p,
		    const struct process *parent);

/* @p has another program now, or is not to be read any more. */
void kernel_forget(struct forkflame *ff, struct process *p);

/*
 * In a tick: is @t, which is on a CPU or ready for one since @since_ns, left to the
 * clocks? Else it is to be stopped.
 */
bool kernel_covers(struct forkflame *ff, struct thread *t, uint64_t since_ns);

/*
 * How many intervals the tick after @now_ns comes at: while the clocks read whatever
 * runs, there is no need to look at every one. 1 without them.
 */
uint64_t kernel_stride(struct forkflame *ff, uint64_t now_ns);

/* Take in what the clocks have brought; and when that is next to be done. */
void kernel_drain(struct forkflame *ff);
uint64_t kernel_next_ns(const struct forkflame *ff);

#endif
