/* SPDX-License-Identifier: Apache-2.0 */
#include "session_kernel.h"

#include <errno.h>
#include <stdio.h>

#include "linux/clock.h"
#include "linux/machine.h"
#include "session_internal.h"

/*
 * Which way running threads are read, and the kernel's program on its way there. Loading
 * takes some 25 ms. A command waits for that; who is attached to runs already, and is
 * sampled by stops until the program is there: a thread of its own loads it.
 */

/* From so many samples a second on a clock's interrupt is the better way by itself. */
#define AUTO_INTERVAL_NS (2 * NSEC_PER_MSEC)

static const char no_records[] = "no switch records";

static void give_reason(struct session_kernel *kernel, const char *text)
{
	(void)snprintf(kernel->reason, sizeof(kernel->reason), "%s", text);
}

static void adopt(struct forkflame *ff, struct kframes *frames)
{
	bool asked = ff->options.sampler == FORKFLAME_SAMPLER_KERNEL;

	ff->kernel.frames = frames;
	ff->kernel.used = true;
	ff->kernel.drain_ns = clock_now() + KERNEL_DRAIN_NS;
	give_reason(&ff->kernel,
		    asked ? "asked for" : "500 samples a second, or more");
}

static void *load_main(void *ctx)
{
	struct kernel_loading *loading = ctx;

	loading->r = kframes_open(&loading->frames, loading->period_ns,
				  &loading->refused);
	atomic_store(&loading->done, true);
	return NULL;
}

/* Without a thread for it, running threads are stopped, as they are until it is done. */
static void load_beside(struct forkflame *ff)
{
	struct kernel_loading *loading = &ff->kernel.loading;

	*loading = (struct kernel_loading){
		.period_ns = ff->options.interval_ns,
	};
	give_reason(&ff->kernel, "the kernel's program was not there in time");
	loading->running =
		pthread_create(&loading->thread, NULL, load_main, loading) == 0;
	if (!loading->running)
		give_reason(&ff->kernel,
			    "no thread to load the kernel's program");
}

/* By the option, and what goes with it. *@ret_why: why not. */
static bool is_wanted(const struct forkflame *ff, const char **ret_why)
{
	switch (ff->options.sampler) {
	case FORKFLAME_SAMPLER_KERNEL:
		return true;
	case FORKFLAME_SAMPLER_STOP:
		*ret_why = "asked for";
		return false;
	default:
		*ret_why = NULL;
		if (ff->options.nonblocking)
			*ret_why = "--nonblocking";
		else if (ff->options.interval_ns > AUTO_INTERVAL_NS)
			*ret_why = "less than 500 samples a second";
		else if (!ff->oncpu && !ff->opening)
			*ret_why = no_records;
		return !*ret_why;
	}
}

int kernel_open(struct forkflame *ff)
{
	struct session_kernel *kernel = &ff->kernel;
	bool asked = ff->options.sampler == FORKFLAME_SAMPLER_KERNEL;
	struct error refused = ERROR_NONE;
	struct kframes *frames = NULL;
	struct machine machine;
	const char *why = "";
	int r;

	if (kernel->frames || kernel->loading.running)
		return 0;
	if (!is_wanted(ff, &why)) {
		give_reason(kernel, why);
		return 0;
	}
	if (!ff->oncpu && !ff->opening)
		return error_set(&ff->err, -EOPNOTSUPP,
				 "frames from the kernel need switch records: "
				 "%s",
				 ff->oncpu_reason);
	machine_read(&ff->fs, &machine);
	kernel->all_users = machine_may(&machine, MACHINE_SYS_PTRACE);
	if (!asked && !ff->command) {
		load_beside(ff);
		return 0;
	}
	r = kframes_open(&frames, ff->options.interval_ns, &refused);
	if (r == 0)
		adopt(ff, frames);
	else if (asked)
		return error_set(&ff->err, r, "%s", refused.text);
	else
		give_reason(kernel, refused.text);
	return 0;
}

/* The thread that loads has ended. Returns what it has loaded; NULL: nothing. */
static struct kframes *take_loaded(struct session_kernel *kernel)
{
	(void)pthread_join(kernel->loading.thread, NULL);
	kernel->loading.running = false;
	return kernel->loading.r == 0 ? kernel->loading.frames : NULL;
}

void kernel_adopt(struct forkflame *ff)
{
	struct kernel_loading *loading = &ff->kernel.loading;
	struct kframes *frames;

	if (!loading->running || ff->opening || !atomic_load(&loading->done))
		return;
	frames = take_loaded(&ff->kernel);
	if (!frames) {
		give_reason(&ff->kernel, loading->refused.text);
	} else if (!ff->oncpu) {
		kframes_close(frames);
		give_reason(&ff->kernel, no_records);
	} else {
		adopt(ff, frames);
	}
}

void kernel_close(struct forkflame *ff)
{
	struct session_kernel *kernel = &ff->kernel;

	if (kernel->loading.running)
		kframes_close(take_loaded(kernel));
	if (kernel->frames) {
		kernel->counts.lost =
			kframes_counter(kernel->frames, KFRAMES_LOST);
		kernel->counts.read =
			kframes_counter(kernel->frames, KFRAMES_SAMPLES);
		kernel->counts.ns = kframes_counter(kernel->frames, KFRAMES_NS);
	}
	kframes_close(kernel->frames);
	kernel->frames = NULL;
	vec_free(&kernel->later);
	vec_free(&kernel->had);
}
