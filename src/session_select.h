/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_SELECT_H
#define SESSION_SELECT_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "forkflame/forkflame.h"
#include "linux/procfs.h"
#include "tree/proctree.h"

/*
 * Which processes of the tree are looked into: the options for it, understood,
 * and who fits them. What depends on the program is judged anew with each exec;
 * what a program may change of itself (its user, its title) in growing intervals.
 */
struct selection {
	uint64_t depth; /* generations below a root; UINT64_MAX: all */
	int64_t uid;    /* -1: anybody's */
	bool has_include, has_exclude, has_exe;
	regex_t include, exclude; /* of command lines */
	uint64_t exe_device, exe_inode;
};

struct process;

/*
 * Understand the options. -EINVAL: no regular expression; another negative errno:
 * no such program. @err tells. To be closed in any case.
 */
int selection_open(struct selection *s, const struct forkflame_options *options,
		   struct error *err);
void selection_close(struct selection *s);

/* @p joins as @m below @parent (NULL: a root): how deep is it? */
void select_place(struct forkflame *ff, struct process *p,
		  const struct member *m, const struct process *parent);

/*
 * @p has a new image, in a place that is known: is it left out?
 *
 * @heir_of  whose image it inherited; NULL: it is its own
 */
void select_image(struct forkflame *ff, struct process *p,
		  const struct process *heir_of);

/*
 * @p was left out. Is it still? If so, and that may change, it is looked at again
 * (process_probe_again). Returns whether it is to be looked into now.
 */
bool select_again(struct forkflame *ff, struct process *p);

/* May it be a member at all? */
bool select_sees(const struct forkflame *ff, const struct proc_stat *stat);

/*
 * With all processes taken in: those of a snapshot that no parent brings, and that
 * were born up to @before_ns. The kernel starts such ones for its own needs, and
 * others come from outside of our namespace. 0 or -ENOMEM.
 */
int select_strangers(struct forkflame *ff, const struct procstat *procs,
		     size_t n, uint64_t before_ns, bool first);

/* We may not read @p: say so, once, and why. */
void select_say_denied(struct forkflame *ff, struct process *p);

#endif
