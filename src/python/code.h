/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

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

/*
 * What the newest capture asked for to tell that nothing had changed, fetch with the
 * next stack: then that capture costs no call of its own.
 */
void codecache_expect(const struct codecache *cache, struct stackhint *hint);

/*
 * The frame as it can be shown. Needs no target: the thread may run again.
 * @id  as codecache_capture gave it for @raw. Cheap when asked again for the same
 * instruction. Functions are named by co_qualname from 3.11, co_name before; one
 * whose name is empty, "<no name>".
 *
 * A function of 0 is a frame that the interpreter made for itself and hides from
 * tracebacks (from 3.12, between a class and its __init__): leave it out.
 */
struct frame codecache_frame(struct codecache *cache, uint32_t id,
			     const struct rawframe *raw);

#endif
