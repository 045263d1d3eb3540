/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codecheck.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "python/frame.h"
#include "python/layout.h"

/*
 * Code objects that were read once, by address. Addresses are used again, by
 * programs that make and drop functions within microseconds of each other with
 * all pointers the same: so an entry is believed only when, in the same stop as
 * the frames, the code object still has the content it was read with: its own
 * pointers and first line, and the length and hash (or, where the hash was never
 * computed, the first bytes) of its name, qualified name and file name.
 *
 * One cache serves a process and all that it forked (they share addresses by
 * birth); when their memories come to differ, the check sees it.
 */
struct codecache;

#define CODE_MAX_LINETABLE \
	(8u << 20) /* larger tables are read as empty: line 0 */

/* Beyond these the cache forgets all, and starts again. */
#define CODE_MAX_ENTRIES 32768
#define CODE_MAX_STRINGS 65536
#define CODE_MAX_TABLES (64u << 20) /* bytes of line tables */

/* @strings is borrowed for life. Returns NULL when memory is gone. */
struct codecache *codecache_new(struct strtab *strings);
void codecache_free(struct codecache *cache);

/*
 * Which code objects were checked whole in one process. From 3.12 the interpreter
 * gives each code object a number of its own (co_version): where that is the same
 * in the same process, the object is, and its names need not be looked at again. A
 * fork copies the counter with everything else, so this is of one process and is
 * not inherited; and of processes with one interpreter, as each has a counter. A
 * zeroed one is empty; vec_free frees it.
 */
struct codeseen VEC(uint64_t);

/*
 * Make sure that the code objects of @frames are in the cache, as they are now.
 * To be called while the thread does not run, after the walk: checks those that
 * are known in one readv of @mem, reads those that are not in a few more, of all
 * together. Allocates nothing when all are known.
 *
 * @seen  of the process, see above; NULL: everything is checked
 * @ids   room for @n: set on 0, a number for each frame to be given to
 *        codecache_frame; valid until the next codecache_capture
 *
 * Returns 0; OUT_TORN when a code object cannot be one; OUT_GONE, OUT_DENIED;
 * -ENOMEM.
 */
int codecache_capture(struct codecache *cache, struct codeseen *seen,
		      const struct mem *mem, const struct layout *layout,
		      const struct rawframe *frames, size_t n, uint32_t *ids);

/* An object that is not there any more as it was. */
#define CODE_UNKNOWN UINT32_MAX

/*
 * Where the thread turns out to have run during a capture, what was read anew by it may be
 * of two objects that took turns at one address, and nothing would tell later on. Did the
 * newest capture read anything anew? Then forget all.
 */
bool codecache_learnt(const struct codecache *cache);
void codecache_forget(struct codecache *cache);

/*
 * The same for frames that were read a moment ago, by the kernel, and whose thread runs
 * on. What each code object was then is told by its number in @checks
 * (base/codecheck.h). One that is known as that needs no read at all; one that is not
 * is read, twice, and is the frame's if it has that number both times. Else the object
 * was given back and its place used again, and its id is CODE_UNKNOWN: it has no name.
 *
 * @seen  of the process, as above, which has one interpreter: the numbers are those that
 *        the interpreter gives, where it does. NULL: they are made of what an object is,
 *        and the same in all processes
 *
 * Returns 0, also when all are unknown; OUT_GONE or OUT_DENIED when an object had to be
 * read and the target could not be; -ENOMEM. For layouts with a plan (codefields_plan).
 */
int codecache_recall(struct codecache *cache, struct codeseen *seen,
		     const struct mem *mem, const struct layout *layout,
		     const struct rawframe *frames, const uint64_t *checks,
		     size_t n, uint32_t *ids);

/* Whether @layout has what that needs, with where the number's parts are. */
bool codecache_plan(const struct layout *layout, struct codeplan *ret);

/*
 * What the newest capture asked for to tell that nothing had changed, fetch with the
 * next stack: then that capture costs no call of its own.
 */
void codecache_expect(const struct codecache *cache, struct stackhint *hint);

/*
 * The frame as it can be shown. Needs no target: the thread may run again.
 * @id  as codecache_capture gave it for @raw. Cheap when asked again for the same
 * instruction. Functions are named by co_qualname from 3.11, co_name before; one
 * whose name is empty, "<no name>"; CODE_UNKNOWN is "[freed function]".
 *
 * A function of 0 is a frame that the interpreter made for itself and hides from
 * tracebacks (from 3.12, between a class and its __init__): leave it out.
 */
struct frame codecache_frame(struct codecache *cache, uint32_t id,
			     const struct rawframe *raw);

#endif
