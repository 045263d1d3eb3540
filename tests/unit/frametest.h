/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FRAMETEST_H
#define TESTS_FRAMETEST_H

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/frame.h"

/* A thread of any version, and stacks of it. To be included after cmocka.h. */

#define TSTATE 0x7f0000000100u
#define CFRAME (TSTATE + 384) /* the lowest is a part of it */
#define BASE 0x7f0000001100u  /* the frame below all, 3.15 */
#define HEAP 0x7f0000002000u  /* frames that are in no chunk, 512 apart */
#define CHUNK 0x7f0000100000u /* chunks of a data stack, 64 KiB apart */
#define CODE 0x7f0000800000u
#define SHIM_OWNER 3
#define CHUNK_BYTES 16384u
#define FRAME_APART 144u
#define FRAMES_A_CHUNK 100u
#define MAX 4000

/* What was walked last, and what is wanted. */
static struct rawframe got[MAX], want[MAX];

struct bench {
	struct fakemem fm;
	struct mem mem;
	const struct layout *layout;
	struct prefetch *prefetch;
	struct stackhint hint;
	size_t n;
	unsigned calls; /* of the last walk_batched */
};

static inline void setup(struct bench *b, unsigned minor, bool free_threaded)
{
	*b = (struct bench){
		.layout = fakemem_row(minor, free_threaded),
		.prefetch = prefetch_new(),
		.n = 77,
	};
	assert_non_null(b->prefetch);
	b->mem = fakemem_mem(&b->fm);
	fakemem_zero(&b->fm, TSTATE, 512);
	fakemem_zero(&b->fm, CFRAME, 64);
	if (b->layout->thread.base_frame != LAYOUT_NONE)
		fakemem_put_u64(&b->fm, TSTATE + b->layout->thread.base_frame,
				BASE);
}

static inline void teardown(struct bench *b)
{
	prefetch_free(b->prefetch);
	stackhint_free(&b->hint);
	fakemem_free(&b->fm);
}

/* What is below the outermost frame. */
static inline uint64_t bottom(const struct bench *b)
{
	return b->layout->thread.base_frame != LAYOUT_NONE ? BASE : 0;
}

static inline void set_leaf(struct bench *b, uint64_t leaf)
{
	const struct layout *l = b->layout;
	uint64_t at = TSTATE + l->thread.frame;

	if (l->frame_kind == FRAME_CFRAME) {
		fakemem_put_u64(&b->fm, at, CFRAME);
		at = CFRAME + l->cframe.current;
	}
	fakemem_put_u64(&b->fm, at, leaf);
}

static inline void set_owner(struct bench *b, uint64_t addr, uint8_t owner)
{
	if (b->layout->frame.owner != LAYOUT_NONE)
		fakemem_put_u8(&b->fm, addr + b->layout->frame.owner, owner);
}

static inline void put_frame(struct bench *b, uint64_t addr, uint64_t previous,
			     uint64_t code, int32_t instr)
{
	const struct layout *l = b->layout;

	fakemem_zero(&b->fm, addr, l->frame.size);
	fakemem_put_u64(&b->fm, addr + l->frame.previous, previous);
	fakemem_put_u64(&b->fm, addr + l->frame.code, code);
	if (l->frame_kind == FRAME_OBJECT)
		fakemem_put_u32(
			&b->fm, addr + l->frame.instr,
			(uint32_t)(instr < 0 ? -1 : instr / l->instr_scale));
	else
		fakemem_put_u64(&b->fm, addr + l->frame.instr,
				code + l->code.bytecode + (uint64_t)instr);
}

/* Three frames on the heap, innermost first at HEAP; the outermost not started. */
static inline void put_three(struct bench *b)
{
	put_frame(b, HEAP, HEAP + 512, CODE, 6);
	put_frame(b, HEAP + 512, HEAP + 1024, CODE + 512, 0);
	put_frame(b, HEAP + 1024, bottom(b), CODE + 1024, -2);
	set_leaf(b, HEAP);
}

static inline int walk(struct bench *b, size_t max)
{
	return frame_walk(&b->mem, b->layout, TSTATE, got, max, &b->n);
}

static inline int walk_batched(struct bench *b, size_t max)
{
	int r = frame_walk_batched(&b->mem, b->layout, TSTATE, b->prefetch,
				   &b->hint, got, max, &b->n);

	b->calls = prefetch_calls(b->prefetch);
	return r;
}

/* Batched or not, the same frames; returns the calls it took. */
static inline unsigned walk_both(struct bench *b)
{
	size_t n;

	assert_int_equal(walk(b, MAX), 0);
	n = b->n;
	memcpy(want, got, sizeof(got));
	assert_int_equal(walk_batched(b, MAX), 0);
	assert_int_equal(b->n, n);
	assert_memory_equal(got, want, n * sizeof(*got));
	return b->calls;
}

/*
 * A stack of @n frames in chunks, each full; the innermost in the newest. For
 * older versions the same addresses are as good as any.
 */
static inline void put_stack(struct bench *b, unsigned n)
{
	uint16_t newest = b->layout->thread.datastack_chunk;
	uint64_t previous = bottom(b), chunk = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned place = i % FRAMES_A_CHUNK;
		uint64_t addr;

		if (!place) {
			uint64_t older = chunk;

			chunk = CHUNK + i / FRAMES_A_CHUNK * 0x10000u;
			fakemem_zero(&b->fm, chunk, CHUNK_BYTES);
			fakemem_put_u64(&b->fm, chunk, older);
			fakemem_put_u64(&b->fm, chunk + 8, CHUNK_BYTES);
		}
		addr = chunk + 24 + place * FRAME_APART;
		put_frame(b, addr, previous, CODE + i * 8, (int32_t)i * 2);
		previous = addr;
	}
	set_leaf(b, previous);
	if (newest != LAYOUT_NONE)
		fakemem_put_u64(&b->fm, TSTATE + newest, chunk);
}

#endif
