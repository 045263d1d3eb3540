/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_CHILDREN_H
#define LINUX_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/event.h"
#include "base/vec.h"
#include "linux/procfs.h"

/*
 * Births, execs and ends without the connector: by looking, every few
 * milliseconds, at the `children` files of all threads of the processes that
 * are known, and at their images. What lives and dies between two looks is
 * missed.
 */
struct children;

struct events VEC(struct event);

/*
 * Returns NULL when memory is gone. @fs is borrowed for life.
 *
 * @scan  search all of /proc instead of reading `children` files
 */
struct children *children_new(const struct procfs *fs, bool scan);
void children_free(struct children *c);

/* Whether this kernel has `children` files. */
bool children_has_files(const struct procfs *fs);

/*
 * Watch @pid from now on (its descendants follow by themselves), or no longer
 * (they stay). One that is forgotten is not found again: it may wait for long to
 * be reaped. Returns 0, also when it is watched already; OUT_GONE when there is no
 * such process, or it has ended and waits to be reaped; a negative errno.
 */
int children_watch(struct children *c, pid_t pid);
void children_forget(struct children *c, pid_t pid);

/*
 * Look once. Appends to @events: FORK for each new child (its parent as the
 * files tell, its time of birth from its start time, parent_tid 0), EXEC where the
 * image of a watched process changed, or a new child's is not its parent's
 * (device and inode of its exe, starts of its code and its stack as stat tells
 * them: an exec of the same file without address randomization is missed), EXIT
 * for those that have gone or are zombies (EVENT_NO_STATUS). A new child is
 * watched; one that is a zombie by then gets a FORK and an EXIT.
 * Where the kernel has no `children` files, a scan of all of /proc per look takes
 * their place; a number that is given to another process between two looks is
 * noticed in every SCAN_WHOLE-th only.
 *
 * A parent's account tells that it has waited for a child: where none of its children
 * has gone about then, it was one that no look has shown. Then comes a LOST, once a
 * second at most.
 *
 * Returns 0 or a negative errno.
 */
int children_look(struct children *c, uint64_t now_ns, struct events *events);

/*
 * In how many looks that was so. There were as many missed or more: several between
 * two looks, one beside another that was seen, and those that nobody waited for.
 */
uint64_t children_missed(const struct children *c);

#endif
