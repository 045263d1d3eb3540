/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_FRAME_H
#define PYTHON_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/mem.h"
#include "python/layout.h"
#include "python/prefetch.h"
#include "python/stackhint.h"

/*
 * Walk one Python thread's stack, innermost frame first, link by link.
 *
 * @mem       reads the target; the thread must not run for the whole call
 * @layout    of the target's CPython version
 * @tstate    address of its thread state
 * @frames    room for @max frames; the caller owns it
 * @ret_n     set to the number written, on 0 and OUT_FULL only; 0 when the
 *            thread runs no Python
 *
 * Frames that are no Python code (shims, trampolines, the base frame) are passed
 * over and do not count. `instr` is relative to the code's bytecode, in the
 * thread's own copy of it where the build has such copies.
 *
 * A thread on its way into an evaluation, whose new frame is not in place yet, has
 * the stack of its caller.
 *
 * Returns 0; OUT_FULL when the stack is deeper than @max (the @max innermost are
 * written); OUT_TORN when a link leads nowhere, an owner cannot be, or (3.15) a
 * stack ends without its base frame; OUT_GONE, OUT_DENIED.
 * No errno, no heap, no clock. Visits at most 2 * @max + 16 frames, so a corrupt
 * list cannot trap it.
 */
int frame_walk(const struct mem *mem, const struct layout *layout,
	       uint64_t tstate, struct rawframe *frames, size_t max,
	       size_t *ret_n);

/* Deeper than that in frames, the outermost frames of a stack are not looked for. */
#define FRAME_MAX_DEPTH 131072u

/*
 * As frame_walk, but that of a stack which is deeper than @max both ends are kept:
 * on OUT_FULL with @hint->left_out, that many frames are missing between the first
 * @max - @max / 2 frames, which are the innermost, and the other @max / 2, the
 * outermost. On OUT_FULL without (deeper than FRAME_MAX_DEPTH more), only the
 * innermost @max - @max / 2 are there. As all of the stack is walked, a list that
 * goes round is found out: OUT_TORN. Visits at most 2 * FRAME_MAX_DEPTH frames.
 *
 * And with the reads batched as @hint predicts: @p is started on
 * @mem, the thread state and all that is predicted are fetched in one call, and
 * the walk reads through @p. Afterwards @hint predicts this stack; that is all
 * that may use the heap, and without memory it predicts less.
 *
 * In the steady state (the same depth, give or take a frame) one call to @mem
 * for 3.11+ and two for older versions, for any depth up to @max. A frame that
 * is new to the stack costs a call of its own up to 3.10, and later where it is
 * not on the data stack; a chunk of the data stack that is new, one.
 */
int frame_walk_batched(const struct mem *mem, const struct layout *layout,
		       uint64_t tstate, struct prefetch *p,
		       struct stackhint *hint, struct rawframe *frames,
		       size_t max, size_t *ret_n);

#endif
