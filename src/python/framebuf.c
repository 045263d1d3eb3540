/* SPDX-License-Identifier: Apache-2.0 */
#include "python/framebuf.h"

bool framebuf_put(struct framebuf *to, const struct rawframe *raw)
{
	if (to->n < to->max) {
		to->at[to->n++] = *raw;
		return true;
	}
	if (!to->kept)
		return false;
	to->at[to->max - to->kept + to->left_out % to->kept] = *raw;
	to->left_out++;
	return true;
}

static void reverse(struct rawframe *frames, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct rawframe raw = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = raw;
	}
}

void framebuf_end(struct framebuf *to)
{
	struct rawframe *ring = to->at + to->max - to->kept;
	size_t begin = to->kept ? to->left_out % to->kept : 0;

	if (!begin)
		return;
	/* Each part turned round, and then the whole, is the parts exchanged. */
	reverse(ring, begin);
	reverse(ring + begin, to->kept - begin);
	reverse(ring, to->kept);
}
