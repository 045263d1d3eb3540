/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_MACHINE_H
#define LINUX_MACHINE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/procfs.h"

/* A setting that this kernel does not have, or does not show. */
#define MACHINE_UNSET INT_MIN

/* Numbers of capabilities, as bits of machine.caps. */
enum machine_cap {
	MACHINE_NET_ADMIN = 12,
	MACHINE_SYS_PTRACE = 19,
	MACHINE_SYS_ADMIN = 21,
	MACHINE_SYS_NICE = 23,
	MACHINE_PERFMON = 38, /* since Linux 5.8 */
};

enum machine_ns {
	MACHINE_NS_UNKNOWN,
	MACHINE_NS_INITIAL,
	MACHINE_NS_OWN,
};

/* What can be read of this machine, and of us on it, without trying anything. */
struct machine {
	char release[65]; /* "6.1.0-18-amd64" */
	char arch[65];    /* "x86_64" */
	uid_t uid;        /* effective */
	uint64_t caps;    /* effective, bit by bit; within our user namespace */
	int seccomp;      /* 0 none, 1 strict, 2 a filter */
	int paranoid;     /* kernel.perf_event_paranoid, also below 0 */
	int yama;         /* kernel.yama.ptrace_scope */
	int autogroup;    /* kernel.sched_autogroup_enabled */
	bool children;    /* `children` files, CONFIG_PROC_CHILDREN */
	enum machine_ns pid_ns, user_ns;
	/* Its initial number is fixed since Linux 6.18 only: never OWN here. */
	enum machine_ns net_ns;
	uint64_t files_soft, files_hard; /* RLIMIT_NOFILE */
	unsigned cpus;                   /* that there may be */
};

/*
 * Read the facts, those of files from @fs. What cannot be read is MACHINE_UNSET,
 * MACHINE_NS_UNKNOWN, false or 0: there is no failure.
 */
void machine_read(const struct procfs *fs, struct machine *ret);

/* Whether @cap is effective. */
static inline bool machine_may(const struct machine *m, enum machine_cap cap)
{
	return m->caps >> cap & 1;
}

#endif
