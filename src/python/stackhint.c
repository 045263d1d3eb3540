/* SPDX-License-Identifier: Apache-2.0 */
#include "python/stackhint.h"

#include <stdlib.h>

#include "base/vec.h"

#define CHUNKS_MAX 1024
#define TOUCHES_MAX 65536
#define SLACK 512 /* room for a frame or two more than last time */

void stackhint_free(struct stackhint *hint)
{
	free(hint->touches);
	free(hint->chunks);
	*hint = (struct stackhint){ 0 };
}

void stackhint_also(struct stackhint *hint, uint64_t addr, size_t len)
{
	if (!hint || hint->n_touches == TOUCHES_MAX ||
	    !vec_grow(&hint->touches, hint->n_touches, &hint->room_touches,
		      sizeof(*hint->touches), 1))
		return;
	hint->touches[hint->n_touches++] = (struct stacktouch){
		.addr = addr,
		.len = (uint32_t)len,
	};
}

bool stackhint_reserve_chunk(struct stackhint *hint)
{
	return hint->n_chunks < CHUNKS_MAX &&
	       vec_grow(&hint->chunks, hint->n_chunks, &hint->room_chunks,
			sizeof(*hint->chunks), 1);
}

void stackhint_plan(struct stackhint *hint, struct prefetch *p)
{
	for (size_t i = 0; i < hint->n_chunks; i++) {
		struct stackchunk *chunk = &hint->chunks[i];

		chunk->fetched -= chunk->fetched / 8;
		if (chunk->fetched < chunk->used + SLACK)
			chunk->fetched = chunk->used + SLACK;
		if (chunk->fetched > chunk->size)
			chunk->fetched = chunk->size;
		chunk->used = 0;
		prefetch_plan(p, chunk->addr, chunk->fetched);
	}
	for (size_t i = 0; i < hint->n_touches; i++)
		prefetch_plan(p, hint->touches[i].addr, hint->touches[i].len);
	hint->n_touches = 0;
}

void stackhint_drop_unused(struct stackhint *hint)
{
	uint32_t n = 0;

	for (size_t i = 0; i < hint->n_chunks; i++)
		if (hint->chunks[i].used)
			hint->chunks[n++] = hint->chunks[i];
	hint->n_chunks = n;
}
