/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_FRAMEBUF_H
#define PYTHON_FRAMEBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

/*
 * Where the frames of a walk go, innermost first. When there are more than @max of
 * them, the last @kept places are a ring: at the end they have the outermost ones.
 */
struct framebuf {
	struct rawframe *at; /* room for @max */
	size_t max, kept;    /* @kept < @max; 0: no ring */
	size_t n;
	size_t left_out; /* were in the ring, and are not any more */
};

/* Returns false, with nothing changed, when there is neither room nor a ring. */
bool framebuf_put(struct framebuf *to, const struct rawframe *raw);

/* That was the last one: put the ring in order. */
void framebuf_end(struct framebuf *to);

#endif
