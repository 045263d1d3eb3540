/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/nsec.h"
#include "profile/roles_internal.h"

/*
 * What is wrong with a pool, or right, as one sentence. The first that its figures
 * allow is told: from what makes the other figures worthless (it never got to its
 * work) over what keeps it from work, to what it does.
 */

/* Shares from which on a thing is worth saying. */
#define STARTING 0.4            /* of its lives */
#define FORKING_NS NSEC_PER_SEC /* a life shorter than that */
#define GIL 0.25                /* of the time that its threads wanted to run */
#define NO_CPU 0.3              /* of the same */
#define WAITING 0.5             /* of its wall time */
#define MOSTLY 0.6              /* of its idle time is of one kind */
#define UNEVEN 2.0              /* times the CPU */
#define SPREAD 0.3              /* of the mean: no matter of different lives */
#define STRAGGLING 0.1          /* of the role's time */
#define BUSY 0.75               /* of a CPU */

#define NAME_MOST 30 /* bytes of a function's name */

const char *wait_name(enum wait_kind kind)
{
	static const char *const names[WAIT_COUNT] = {
		[WAIT_UNKNOWN] = "unknown", [WAIT_GIL] = "gil",
		[WAIT_LOCK] = "lock",       [WAIT_PIPE] = "pipe",
		[WAIT_SOCKET] = "socket",   [WAIT_FILE] = "file",
		[WAIT_POLL] = "poll",       [WAIT_TIME] = "time",
		[WAIT_PROCESS] = "process", [WAIT_SIGNAL] = "signal",
		[WAIT_OTHER] = "other",
	};

	return kind < WAIT_COUNT ? names[kind] : "unknown";
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

/* In percent, for "%.0f %%". */
static double percent(uint64_t part, uint64_t whole)
{
	return 100 * share(part, whole);
}

static uint64_t mean_life(const struct role *role)
{
	return role->images.n ? role->life_ns / role->images.n : 0;
}

static bool says_starting(const struct role *role, struct str *to)
{
	uint64_t life = mean_life(role);

	if (role->start_known * 2 < role->images.n ||
	    share(role->start_mean_ns, life) < STARTING)
		return false;
	str_printf(to,
		   "mostly starting up: %.3g s of a life of %.3g s pass before "
		   "work of its own begins",
		   seconds(role->start_mean_ns), seconds(life));
	return true;
}

static bool says_forking(const struct role *role, struct str *to)
{
	uint64_t life = mean_life(role);

	if (life >= FORKING_NS || role->exits < 10 ||
	    role->images.n < 5 * (size_t)role->at_once)
		return false;
	str_printf(to,
		   "mostly forking: %zu members lived %.3g s each, of which "
		   "%.3g s on a CPU",
		   role->images.n, seconds(life),
		   seconds(role->cpu_ns / role->images.n));
	return true;
}

static bool says_gil(const struct role *role, struct str *to)
{
	uint64_t wanted = role->cpu_ns + role->ready_ns + role->gil_wait_ns;

	if (share(role->gil_wait_ns, wanted) < GIL ||
	    share(role->gil_wait_ns, role->life_ns) < 0.1)
		return false;
	str_printf(to,
		   "the GIL: %.0f %% of the time that its threads wanted to "
		   "run they waited for it",
		   percent(role->gil_wait_ns, wanted));
	return true;
}

static bool says_no_cpu(const struct role *role, struct str *to)
{
	uint64_t wanted = role->cpu_ns + role->ready_ns;

	if (share(role->ready_ns, wanted) < NO_CPU ||
	    share(role->ready_ns, role->life_ns) < 0.1)
		return false;
	str_printf(to,
		   "short of CPUs: %.0f %% of the time that it was ready to "
		   "run it had none",
		   percent(role->ready_ns, wanted));
	return true;
}

/* The least and the most of members that were there together for long. */
static bool says_uneven(const struct role *role, struct str *to)
{
	if (role->at_once < role->images.n ||
	    share(role->cpu_most_ns, role->left_ns - role->born_ns) < 0.25 ||
	    role->cpu_spread < SPREAD * role->cpu_mean ||
	    (double)role->cpu_most_ns < UNEVEN * (double)role->cpu_least_ns)
		return false;
	if (share(role->cpu_least_ns, role->cpu_most_ns) < 0.01)
		str_printf(to,
			   "uneven: one member had %.3g s of CPU, another one "
			   "next to none",
			   seconds(role->cpu_most_ns));
	else
		str_printf(to,
			   "uneven: the busiest member has %.1f times the CPU "
			   "of the least busy",
			   share(role->cpu_most_ns, role->cpu_least_ns));
	return true;
}

/* Of members that all ended: an end of the recording is none of their work. */
static bool says_straggling(const struct role *role, struct str *to)
{
	uint64_t span = role->left_ns - role->born_ns;

	if (!role->stragglers || role->exits < role->images.n ||
	    share(role->straggle_ns, span) < STRAGGLING)
		return false;
	str_printf(to,
		   "stragglers: the others waited for %" PRIu32
		   " of %zu for %.3g s, %.0f %% of the time",
		   role->stragglers, role->images.n, seconds(role->straggle_ns),
		   percent(role->straggle_ns, span));
	return true;
}

static void add_name(struct str *to, const struct history *h, uint32_t id)
{
	size_t len;
	const char *text = strtab_get(h->strings, id, &len);
	size_t most = len;

	/* A sentence needs no more of a name; cut where a character ends. */
	if (len > NAME_MOST) {
		most = NAME_MOST;
		while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
			most--;
	}
	str_escape(to, text, most, "");
	if (most < len)
		str_puts(to, "...");
}

/* In what hands out the work: a queue's pipe, or the lock before it. */
static bool says_starved(const struct role *role, const struct history *h,
			 struct str *to)
{
	uint64_t by_kind[WAIT_COUNT] = { 0 };
	uint64_t sum = 0;
	const char *in;

	for (size_t i = 0; i < ROLE_LEAVES && role->leaves[i].wall_ns; i++) {
		const struct role_wait *leaf = &role->leaves[i];

		if (leaf->kind >= WAIT_COUNT || leaf->kind == WAIT_GIL ||
		    !stages_is_pool(h->strings, leaf->file))
			continue;
		sum += leaf->wall_ns;
		by_kind[leaf->kind] += leaf->wall_ns;
	}
	if (share(sum, role->wall_ns) < WAITING)
		return false;
	if (by_kind[WAIT_PIPE] && by_kind[WAIT_LOCK])
		in = " in a pipe read or the lock before it";
	else if (by_kind[WAIT_PIPE])
		in = " in a pipe read";
	else if (by_kind[WAIT_LOCK])
		in = " at the lock of a queue";
	else
		in = " for work to come";
	str_printf(to, "waits for its parent: %.0f %% of the time%s",
		   percent(sum, role->wall_ns), in);
	return true;
}

static bool says_waiting(const struct role *role, const struct history *h,
			 struct str *to)
{
	static const char *const words[WAIT_COUNT] = {
		[WAIT_LOCK] = "waits for a lock or another thread",
		[WAIT_PIPE] = "waits at a pipe",
		[WAIT_SOCKET] = "waits at a socket",
		[WAIT_FILE] = "waits for files",
		[WAIT_POLL] = "waits for something to happen (poll)",
		[WAIT_TIME] = "sleeps",
		[WAIT_PROCESS] = "waits for its children",
		[WAIT_SIGNAL] = "waits for a signal",
	};
	const struct role_wait *leaf = NULL;
	uint64_t idle = 0;
	int most = WAIT_UNKNOWN;

	for (int i = 0; i < WAIT_COUNT; i++) {
		idle += role->waits[i];
		if (role->waits[i] > role->waits[most])
			most = i;
	}
	if (share(idle, role->wall_ns) < WAITING || !words[most] ||
	    share(role->waits[most], idle) < MOSTLY)
		return false;
	str_printf(to, "%s: %.0f %% of the time", words[most],
		   percent(role->waits[most], role->wall_ns));
	for (size_t i = ROLE_LEAVES; i-- > 0;)
		if (role->leaves[i].wall_ns && role->leaves[i].kind == most)
			leaf = &role->leaves[i];
	if (leaf && share(leaf->wall_ns, role->waits[most]) > 0.5) {
		str_puts(to, ", mostly in ");
		add_name(to, h, leaf->function);
	}
	return true;
}

static bool says_busy(const struct role *role, struct str *to)
{
	if (role->cpu_mean < BUSY)
		return false;
	str_printf(to, "busy: each is on a CPU for %.0f %% of its life",
		   100 * role->cpu_mean);
	return true;
}

void role_reading(const struct role *role, const struct history *h,
		  struct str *to)
{
	if (role->images.n < 2)
		return;
	(void)(says_starting(role, to) || says_forking(role, to) ||
	       says_gil(role, to) || says_no_cpu(role, to) ||
	       says_uneven(role, to) || says_straggling(role, to) ||
	       says_starved(role, h, to) || says_waiting(role, h, to) ||
	       says_busy(role, to));
}
