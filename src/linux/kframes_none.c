/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "linux/kframes.h"

/* In place of kframes.c, in a build without BPF. */

int kframes_open(struct kframes **ret, uint64_t period_ns, struct error *err)
{
	(void)period_ns;
	*ret = NULL;
	return error_set(err, -EOPNOTSUPP,
			 "frames from the kernel: built without BPF");
}

void kframes_close(struct kframes *k)
{
	(void)k;
}

void kframes_set_period(struct kframes *k, uint64_t period_ns)
{
	(void)k;
	(void)period_ns;
}

int kframes_give(struct kframes *k, pid_t pid,
		 const struct kframes_layout *layout)
{
	(void)k;
	(void)pid;
	(void)layout;
	return -EOPNOTSUPP;
}

void kframes_take(struct kframes *k, pid_t pid)
{
	(void)k;
	(void)pid;
}

bool kframes_has(const struct kframes *k, pid_t pid, uint32_t *ret_generation)
{
	(void)k;
	(void)pid;
	(void)ret_generation;
	return false;
}

void kframes_drain(struct kframes *k,
		   void (*take)(void *ctx, const struct kframes_sample *sample),
		   void *ctx)
{
	(void)k;
	(void)take;
	(void)ctx;
}

uint64_t kframes_counter(const struct kframes *k, enum kframes_counter which)
{
	(void)k;
	(void)which;
	return 0;
}
