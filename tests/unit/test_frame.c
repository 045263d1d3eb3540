/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/frame.h"

#define TSTATE 0x7f0000000100u
#define STACK 0x7ffd00001000
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

struct bench {
	struct fakemem fm;
	struct mem mem;
	const struct layout *layout;
	struct prefetch *prefetch;
	struct stackhint hint;
	size_t n;
	unsigned calls; /* of the last walk_batched */
};

static struct rawframe got[MAX], want[MAX];

static void setup(struct bench *b, unsigned minor, bool free_threaded)
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

static void teardown(struct bench *b)
{
	prefetch_free(b->prefetch);
	stackhint_free(&b->hint);
	fakemem_free(&b->fm);
}

/* What is below the outermost frame. */
static uint64_t bottom(const struct bench *b)
{
	return b->layout->thread.base_frame != LAYOUT_NONE ? BASE : 0;
}

static void set_leaf(struct bench *b, uint64_t leaf)
{
	const struct layout *l = b->layout;
	uint64_t at = TSTATE + l->thread.frame;

	if (l->frame_kind == FRAME_CFRAME) {
		fakemem_put_u64(&b->fm, at, CFRAME);
		at = CFRAME + l->cframe.current;
	}
	fakemem_put_u64(&b->fm, at, leaf);
}

static void set_owner(struct bench *b, uint64_t addr, uint8_t owner)
{
	if (b->layout->frame.owner != LAYOUT_NONE)
		fakemem_put_u8(&b->fm, addr + b->layout->frame.owner, owner);
}

static void put_frame(struct bench *b, uint64_t addr, uint64_t previous,
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
static void put_three(struct bench *b)
{
	put_frame(b, HEAP, HEAP + 512, CODE, 6);
	put_frame(b, HEAP + 512, HEAP + 1024, CODE + 512, 0);
	put_frame(b, HEAP + 1024, bottom(b), CODE + 1024, -2);
	set_leaf(b, HEAP);
}

static int walk(struct bench *b, size_t max)
{
	return frame_walk(&b->mem, b->layout, TSTATE, got, max, &b->n);
}

static int walk_batched(struct bench *b, size_t max)
{
	int r = frame_walk_batched(&b->mem, b->layout, TSTATE, b->prefetch,
				   &b->hint, got, max, &b->n);

	b->calls = prefetch_calls(b->prefetch);
	return r;
}

/* Batched or not, the same frames; returns the calls it took. */
static unsigned walk_both(struct bench *b)
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
static void put_stack(struct bench *b, unsigned n)
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

static void walks_innermost_first_in_every_version(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		for (int ft = 0; ft < (minor >= 13 ? 2 : 1); ft++) {
			struct bench b;

			setup(&b, minor, ft);
			put_three(&b);
			assert_int_equal(walk(&b, 8), 0);
			assert_int_equal(b.n, 3);
			assert_int_equal(got[0].code, CODE);
			assert_int_equal(got[0].instr, 6);
			assert_int_equal(got[1].code, CODE + 512);
			assert_int_equal(got[1].instr, 0);
			assert_int_equal(got[2].addr, HEAP + 1024);
			assert_true(got[2].instr < 0);
			assert_int_equal(
				walk_both(&b),
				b.layout->frame_kind == FRAME_CFRAME ? 5 : 4);
			assert_int_equal(walk_both(&b), 1);
			teardown(&b);
		}
	}
}

static void walks_the_frames_of_2_7(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 27, false);
	put_frame(&b, HEAP, HEAP + 512, CODE, 7);
	put_frame(&b, HEAP + 512, 0, CODE + 512, -1);
	set_leaf(&b, HEAP);
	assert_int_equal(walk(&b, 8), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(got[0].code, CODE);
	assert_int_equal(got[0].instr, 7);
	assert_int_equal(got[1].code, CODE + 512);
	assert_int_equal(got[1].instr, -1);
	assert_int_equal(walk_both(&b), 3);
	assert_int_equal(walk_both(&b), 1);
	teardown(&b);
}

static void finds_no_frame_in_a_thread_without_python(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		set_leaf(&b, 0);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		set_leaf(&b, bottom(&b));
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, 0);
		assert_int_equal(walk(&b, 8), 0);
		teardown(&b);
	}
}

static void passes_over_frames_that_are_no_python(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 12; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_three(&b);
		set_owner(&b, HEAP + 512, SHIM_OWNER);
		/* Its "code" is none. */
		fakemem_put_u64(&b.fm, HEAP + 512 + b.layout->frame.code, 1);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 2);
		assert_int_equal(got[1].addr, HEAP + 1024);
		set_owner(&b, HEAP, SHIM_OWNER);
		set_owner(&b, HEAP + 1024, SHIM_OWNER);
		assert_int_equal(walk(&b, 8), 0);
		assert_int_equal(b.n, 0);
		teardown(&b);
	}
}

static void clears_the_tags_of_code_references(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 14, false);
	put_three(&b);
	fakemem_put_u64(&b.fm, HEAP + b.layout->frame.code, CODE | 1);
	assert_int_equal(walk(&b, 8), 0);
	assert_int_equal(got[0].code, CODE);
	teardown(&b);
}

static void says_when_the_stack_is_deeper_than_the_room(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_three(&b);
	assert_int_equal(walk(&b, 2), OUT_FULL);
	assert_int_equal(b.n, 2);
	assert_int_equal(got[1].addr, HEAP + 512);
	assert_int_equal(walk(&b, 3), 0);
	assert_int_equal(walk(&b, 0), OUT_FULL);
	assert_int_equal(b.n, 0);
	/* What is left is no Python: nothing is missing. */
	set_owner(&b, HEAP + 1024, SHIM_OWNER);
	assert_int_equal(walk(&b, 2), 0);
	teardown(&b);
}

static void leaves_the_result_alone_when_torn(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		const struct layout *l;

		setup(&b, minor, false);
		l = b.layout;
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + l->frame.previous, 0xdead0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		fakemem_put_u64(&b.fm, HEAP + l->frame.previous, HEAP + 513);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_frame(&b, HEAP + 513, bottom(&b), CODE, 0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + l->frame.code, 0);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		put_three(&b);
		set_owner(&b, HEAP + 512, l->owner_limit);
		assert_int_equal(walk(&b, 8),
				 l->frame.owner == LAYOUT_NONE ? 0 : OUT_TORN);
		b.n = l->frame.owner == LAYOUT_NONE ? 77 : b.n;
		fakemem_unmap(&b.fm, TSTATE, 512);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		b.fm.fail = OUT_GONE;
		assert_int_equal(walk(&b, 8), OUT_GONE);
		assert_int_equal(walk_batched(&b, 8), OUT_GONE);
		assert_int_equal(b.n, 77);
		teardown(&b);
	}
}

static void ends_in_a_ring(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_three(&b);
		fakemem_put_u64(&b.fm, HEAP + 1024 + b.layout->frame.previous,
				HEAP);
		assert_int_equal(walk(&b, 50), OUT_FULL);
		for (unsigned i = 0; i < 3; i++)
			set_owner(&b, HEAP + 512 * i, SHIM_OWNER);
		if (b.layout->owner_skip) {
			b.fm.calls = 0;
			assert_int_equal(walk(&b, 50), OUT_TORN);
			assert_true(b.fm.calls <= 2 * 50 + 16 + 2);
		}
		teardown(&b);
	}
}

static void misses_the_base_frame_in_3_15(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 15, false);
	put_three(&b);
	fakemem_put_u64(&b.fm, HEAP + 1024 + b.layout->frame.previous, 0);
	assert_int_equal(walk(&b, 8), OUT_TORN);
	fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.base_frame, 0);
	assert_int_equal(walk(&b, 8), OUT_TORN);
	assert_int_equal(b.n, 77);
	teardown(&b);
}

static void counts_from_the_threads_own_bytecode(void **state)
{
	const uint64_t copies = 0x7f0000900000u, copy = 0x7f0000910000u;
	struct bench b;

	(void)state;
	for (unsigned minor = 14; minor <= 15; minor++) {
		const struct layout *l;

		setup(&b, minor, true);
		l = b.layout;
		put_three(&b);
		fakemem_put_u64(&b.fm, CODE + l->code.tlbc, copies);
		fakemem_zero(&b.fm, copies, 64);
		fakemem_put_u64(&b.fm, copies + l->tlbc.n, 3);
		fakemem_put_u64(&b.fm, copies + l->tlbc.entries + 16, copy);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, 2);
		fakemem_put_u64(&b.fm, HEAP + l->frame.instr, copy + 10);
		(void)walk_both(&b);
		assert_int_equal(got[0].instr, 10);
		assert_int_equal(walk_both(&b), 1);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, 3);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		fakemem_put_u32(&b.fm, HEAP + l->frame.tlbc_index, UINT32_MAX);
		assert_int_equal(walk(&b, 8), OUT_TORN);
		teardown(&b);
	}
}

static void takes_one_call_in_the_steady_state(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		bool has_chunks = minor >= 11;

		setup(&b, minor, false);
		put_stack(&b, 1234);
		(void)walk_both(&b);
		assert_int_equal(b.n, 1234);
		assert_int_equal(walk_both(&b), 1);
		put_stack(&b, 1235);
		assert_int_equal(walk_both(&b), has_chunks ? 1 : 2);
		put_stack(&b, 1233);
		assert_int_equal(walk_both(&b), 1);
		/* Ten frames more are in one piece, where pieces there are. */
		put_stack(&b, 1250);
		if (has_chunks)
			assert_int_equal(walk_both(&b), 2);
		/* As is a new chunk. */
		put_stack(&b, 1310);
		if (has_chunks)
			assert_in_range(walk_both(&b), 2, 3);
		teardown(&b);
	}
}

/* As the caller asks for it after each walk. */
static void fetches_whose_the_thread_is_with_its_stack(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		uint64_t at, value;
		unsigned calls;

		setup(&b, minor, false);
		put_stack(&b, 100);
		(void)walk_both(&b);
		(void)walk_both(&b);
		at = TSTATE + (minor < 11 ? b.layout->thread.thread_id
					  : b.layout->thread.native_id);
		calls = prefetch_calls(b.prefetch);
		assert_int_equal(
			mem_read_u64(prefetch_mem(b.prefetch), at, &value), 0);
		assert_int_equal(prefetch_calls(b.prefetch), calls);
		teardown(&b);
	}
}

static void fetches_a_stack_by_chunks_at_first_sight(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 11; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_stack(&b, 1000);
		/* The thread, its cframe, ten chunks. */
		assert_int_equal(walk_both(&b), minor <= 12 ? 12 : 11);
		teardown(&b);
	}
}

static void keeps_both_ends_of_a_stack_that_is_too_deep(void **state)
{
	/* What is left out is a part of the ring, all of it, or none. */
	static const unsigned rooms[] = { 2, 7, 150, 333, 500, 999, 1000 };
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_stack(&b, 1000);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		size_t max = rooms[i], outer = max / 2, inner = max - outer;

		assert_int_equal(walk(&b, MAX), 0);
		memcpy(want, got, sizeof(got));
		assert_int_equal(walk_batched(&b, max),
				 max < 1000 ? OUT_FULL : 0);
		assert_int_equal(b.n, max);
		assert_int_equal(b.hint.left_out, 1000 - max);
		assert_memory_equal(got, want, inner * sizeof(*got));
		assert_memory_equal(got + inner, want + 1000 - outer,
				    outer * sizeof(*got));
		if (i)
			assert_int_equal(b.calls, 1);
	}
	teardown(&b);
}

static void finds_out_a_stack_that_goes_round(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 13, false);
	put_stack(&b, 1000);
	/* The outermost one continues in one of those before. */
	put_frame(&b, CHUNK + 24, CHUNK + 24 + FRAME_APART * 50, CODE, 2);
	assert_int_equal(walk_batched(&b, 100), OUT_TORN);
	assert_int_equal(walk(&b, 100), OUT_FULL);
	teardown(&b);
}

/* A generator's frame lies elsewhere, a shim of 3.13 on the C stack. */
static void predicts_frames_outside_of_the_chunks(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 11; minor <= 15; minor++) {
		uint64_t in = CHUNK + 24;

		setup(&b, minor, false);
		put_stack(&b, 4);
		put_frame(&b, in + 3 * FRAME_APART, HEAP, CODE, 2);
		put_frame(&b, HEAP, HEAP + 512, CODE, 4);
		put_frame(&b, HEAP + 512, in + 2 * FRAME_APART, CODE, 6);
		if (b.layout->owner_skip)
			set_owner(&b, HEAP, SHIM_OWNER);
		put_frame(&b, HEAP + 1024, in + 3 * FRAME_APART, CODE, 6);
		set_leaf(&b, HEAP + 1024);
		(void)walk_both(&b);
		assert_int_equal(b.n, b.layout->owner_skip ? 6 : 7);
		assert_int_equal(walk_both(&b), 1);
		teardown(&b);
	}
}

static void survives_any_wrong_prediction(void **state)
{
	struct bench b;

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		setup(&b, minor, false);
		put_stack(&b, 500);
		(void)walk_both(&b);
		/* All of it is gone, and what stands there is something else. */
		fakemem_unmap(&b.fm, CHUNK, 0x10000);
		fakemem_zero(&b.fm, CHUNK + 0x10000, CHUNK_BYTES);
		put_three(&b);
		fakemem_put_u64(&b.fm,
				TSTATE + b.layout->thread.datastack_chunk,
				0xdead);
		(void)walk_both(&b);
		assert_int_equal(b.n, 3);
		assert_int_equal(walk_both(&b), 1);
		put_stack(&b, 30);
		(void)walk_both(&b);
		assert_int_equal(b.n, 30);
		assert_int_equal(b.hint.n_chunks, minor >= 11);
		teardown(&b);
	}
}

/* The cframe below the newest one, and its newest frame. */
static void set_below(struct bench *b, uint64_t leaf)
{
	uint64_t below = CFRAME + 32;

	fakemem_put_u64(&b->fm, CFRAME + b->layout->cframe.previous, below);
	fakemem_put_u64(&b->fm, below + b->layout->cframe.current, leaf);
}

/* The frame at @addr is the one by which an evaluation was entered. */
static void set_entry(struct bench *b, uint64_t addr)
{
	if (b->layout->frame.is_entry != LAYOUT_NONE)
		fakemem_put_u8(&b->fm, addr + b->layout->frame.is_entry, 1);
	else
		set_owner(b, addr, SHIM_OWNER);
}

/*
 * Two evaluations: inner (HEAP, entered by HEAP + 512) was called by outer
 * (HEAP + 1024, entered by HEAP + 1536).
 */
static void put_two_evaluations(struct bench *b)
{
	put_frame(b, HEAP, HEAP + 512, CODE, 6);
	put_frame(b, HEAP + 512, HEAP + 1024, CODE + 512, 0);
	set_entry(b, HEAP + 512);
	put_frame(b, HEAP + 1024, HEAP + 1536, CODE + 1024, 0);
	put_frame(b, HEAP + 1536, 0, CODE + 1536, 0);
	set_entry(b, HEAP + 1536);
	set_leaf(b, HEAP);
	set_below(b, HEAP + 1024);
}

static void walks_through_evaluations_within_evaluations(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		(void)walk_both(&b);
		/* From 3.12 on the entries are frames of their own. */
		assert_int_equal(b.n, minor == 11 ? 4 : 2);
		assert_int_equal(got[0].code, CODE);
		teardown(&b);
	}
}

/* Its cframe is the newest, and has what another evaluation left there. */
static void shows_the_caller_of_an_evaluation_that_has_not_begun(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		/* A generator that ran here before, and belongs to nobody now. */
		put_frame(&b, HEAP + 2048, HEAP + 2560, CODE + 2048, 0);
		put_frame(&b, HEAP + 2560, 0, CODE + 2560, 0);
		set_entry(&b, HEAP + 2560);
		set_leaf(&b, HEAP + 2048);
		(void)walk_both(&b);
		assert_int_equal(got[0].code, CODE + 1024);
		assert_int_equal(b.n, minor == 11 ? 2 : 1);
		teardown(&b);
	}
}

static void shows_the_caller_whatever_was_left_in_a_new_cframe(void **state)
{
	static const uint64_t left[] = { 0, 3, 0xdead0000, HEAP + 2048 };

	(void)state;
	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		struct bench b;

		setup(&b, 11, false);
		put_two_evaluations(&b);
		/* A frame without an entry below it, and without a code. */
		put_frame(&b, HEAP + 2048, 0, i % 2 ? 0 : CODE, 0);
		set_leaf(&b, left[i]);
		(void)walk_both(&b);
		assert_int_equal(b.n, 2);
		assert_int_equal(got[0].code, CODE + 1024);
		teardown(&b);
	}
}

/* The thread points to it already, and it to nothing: it lies on the C stack. */
static void drops_the_stack_while_a_cframe_is_not_filled_in(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		struct bench b;
		size_t n = 0;

		setup(&b, minor, false);
		put_two_evaluations(&b);
		put_frame(&b, HEAP + 2048, 0, CODE, 0);
		set_entry(&b, HEAP + 2048);
		fakemem_zero(&b.fm, STACK, 64);
		fakemem_put_u64(&b.fm, STACK + b.layout->cframe.current,
				HEAP + 2048);
		fakemem_put_u64(&b.fm, TSTATE + b.layout->thread.frame, STACK);
		assert_int_equal(
			frame_walk(&b.mem, b.layout, TSTATE, got, MAX, &n),
			OUT_TORN);
		teardown(&b);
	}
}

static void shows_nothing_before_the_first_evaluation(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, 11, false);
	put_two_evaluations(&b);
	set_leaf(&b, 0xdead0000);
	set_below(&b, 0);
	(void)walk_both(&b);
	assert_int_equal(b.n, 0);
	teardown(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_through_evaluations_within_evaluations),
		cmocka_unit_test(
			shows_the_caller_of_an_evaluation_that_has_not_begun),
		cmocka_unit_test(
			shows_the_caller_whatever_was_left_in_a_new_cframe),
		cmocka_unit_test(
			drops_the_stack_while_a_cframe_is_not_filled_in),
		cmocka_unit_test(shows_nothing_before_the_first_evaluation),
		cmocka_unit_test(walks_innermost_first_in_every_version),
		cmocka_unit_test(walks_the_frames_of_2_7),
		cmocka_unit_test(finds_no_frame_in_a_thread_without_python),
		cmocka_unit_test(passes_over_frames_that_are_no_python),
		cmocka_unit_test(clears_the_tags_of_code_references),
		cmocka_unit_test(says_when_the_stack_is_deeper_than_the_room),
		cmocka_unit_test(leaves_the_result_alone_when_torn),
		cmocka_unit_test(ends_in_a_ring),
		cmocka_unit_test(misses_the_base_frame_in_3_15),
		cmocka_unit_test(counts_from_the_threads_own_bytecode),
		cmocka_unit_test(takes_one_call_in_the_steady_state),
		cmocka_unit_test(fetches_whose_the_thread_is_with_its_stack),
		cmocka_unit_test(fetches_a_stack_by_chunks_at_first_sight),
		cmocka_unit_test(keeps_both_ends_of_a_stack_that_is_too_deep),
		cmocka_unit_test(finds_out_a_stack_that_goes_round),
		cmocka_unit_test(predicts_frames_outside_of_the_chunks),
		cmocka_unit_test(survives_any_wrong_prediction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
