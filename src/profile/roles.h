/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_ROLES_H
#define PROFILE_ROLES_H

#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile/history.h"
#include "profile/query.h"

/*
 * Roles: the processes that one parent forked with one command line. Is a pool
 * starved, uneven, waiting for a lock, or mostly forking?
 */

#define ROLE_STEPS 60 /* points of a role's curve over time */
#define ROLE_LEAVES 5 /* functions in which its members wait most */

struct role_wait {
	uint32_t function, file; /* the innermost frame */
	uint8_t kind;            /* enum wait_kind */
	uint64_t wall_ns;
};

struct role {
	uint32_t parent;  /* process; HISTORY_NONE: roots, several parents */
	uint32_t command; /* string; a title where all members have the same */
	uint32_t started; /* string: the command line, without titles */
	struct VEC(uint32_t) images; /* its members, by birth */
	uint64_t born_ns, left_ns;   /* of the first, of the last */
	uint32_t at_once;            /* most members at one time */
	uint32_t alive[ROLE_STEPS]; /* the most at one time, along the recording */
	double cpu_mean, cpu_spread; /* of the members' on-CPU share of their
					     lives: mean, standard deviation */
	/* Images with the least and the most CPU time, and how much it was. */
	uint32_t cpu_least, cpu_most;
	uint64_t cpu_least_ns, cpu_most_ns;
	uint64_t wall_ns, cpu_ns, gil_wait_ns; /* of all threads */
	uint64_t ready_ns;                     /* ready to run, and on no CPU */
	uint64_t life_ns;                      /* of all members, added up */
	uint64_t waits[WAIT_COUNT]; /* idle wall time by what was waited for */
	struct role_wait
		leaves[ROLE_LEAVES]; /* the most waited in; wall 0: none */
	/* The last members, for whom the others had waited: from when all but
	 * a tenth (one at least) had last been on a CPU until the last one was. */
	uint32_t stragglers;
	uint64_t straggle_ns;
	/* From birth to the first frame that is not of an import or a start-up
	 * file of Python (multiprocessing, importlib, runpy, site): mean. */
	uint64_t start_mean_ns;
	uint32_t start_known; /* of how many members */
	double turnover;    /* ends a member and minute, over the role's life */
	uint32_t exits;     /* ended */
	uint32_t bad_exits; /* of these, by themselves, with a status not 0 */
	uint32_t signals;   /* of these, by a signal */
};

/* What an image has to do with its role, and what it did. */
struct role_member {
	uint32_t role; /* of roles.at; ROLE_NONE: no Python that was seen */
	uint64_t life_ns;
	uint64_t wall_ns, cpu_ns, gil_wait_ns; /* of all its threads */
	uint64_t ready_ns;
	uint64_t last_cpu_ns; /* when it was last on a CPU; 0: never */
	uint64_t own_ns; /* when its own work began; UINT64_MAX: not known */
};

#define ROLE_NONE UINT32_MAX

struct roles {
	struct VEC(struct role) at;             /* the heaviest (wall) first */
	struct VEC(struct role_member) members; /* by image, one for each */
};

/*
 * Of the processes that @query selects, in its time. Its idle and gil are not
 * minded: they would leave out what is to be told. Command lines that differ in
 * numbers only are the same where multiprocessing made them up, and where one of
 * the numbers is that of a worker or a process ("ForkPoolWorker-2").
 *
 * Returns 0 or -ENOMEM.
 */
int roles_make(struct roles *ret, const struct history *h,
	       const struct query *query);
void roles_free(struct roles *roles);

/*
 * What is to be said of a role of several members in plain words, a sentence
 * without its full stop; nothing where the figures allow no clear one. Names are
 * escaped.
 */
void role_reading(const struct role *role, const struct history *h,
		  struct str *to);

/* In a word: "pipe", "lock". */
const char *wait_name(enum wait_kind kind);

/* An array for the page and for scripts; forkflame(1) documents the keys. */
void roles_json(const struct roles *roles, const struct history *h,
		struct json *j);

#endif
