/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/perch.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* Machines with more CPUs than these are not known; on them nobody moves. */
#define CPUS_MAX 8192

struct perch {
	size_t size;
	cpu_set_t *allowed, *one;
};

int perch_new(struct perch **ret, struct error *err)
{
	struct perch *perch = calloc(1, sizeof(*perch));
	int r = -ENOMEM;

	if (!perch)
		goto out;
	perch->size = CPU_ALLOC_SIZE(CPUS_MAX);
	perch->allowed = CPU_ALLOC(CPUS_MAX);
	perch->one = CPU_ALLOC(CPUS_MAX);
	if (!perch->allowed || !perch->one)
		goto out;
	CPU_ZERO_S(perch->size, perch->allowed);
	r = sched_getaffinity(0, perch->size, perch->allowed) < 0 ? -errno : 0;
out:
	if (r < 0) {
		perch_free(perch);
		perch = NULL;
		r = error_set(err, r, "ask on which CPUs to run");
	}
	*ret = perch;
	return r;
}

void perch_free(struct perch *perch)
{
	if (!perch)
		return;
	CPU_FREE(perch->allowed);
	CPU_FREE(perch->one);
	free(perch);
}

int perch_cpu(void)
{
	return sched_getcpu();
}

int perch_send(struct perch *perch, pid_t tid, int cpu)
{
	if (cpu < 0 || cpu >= CPUS_MAX ||
	    !CPU_ISSET_S((size_t)cpu, perch->size, perch->allowed))
		return -EPERM;
	CPU_ZERO_S(perch->size, perch->one);
	CPU_SET_S((size_t)cpu, perch->size, perch->one);
	return sched_setaffinity(tid, perch->size, perch->one) < 0 ? -errno : 0;
}

int perch_move(struct perch *perch, int cpu)
{
	return perch_send(perch, 0, cpu);
}
