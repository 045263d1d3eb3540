/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In 3.11 and 3.12 each evaluation has a cframe on the C stack. On its way in, it
 * makes the thread point to its cframe first, and only some instructions later
 * puts a frame into it (Python/ceval.c, _PyEval_EvalFrameDefault). A thread that
 * was stopped in between shows what an earlier evaluation left at that place of
 * the C stack: another stack, whole but wrong. It gives itself away: the frame by
 * which an evaluation was entered always continues in the newest frame of the
 * cframe below. Where it does not, the new evaluation has not begun, and the
 * stack is that of the cframe below; if that continues in the one below it in turn,
 * for compilers may have it point to the cframe before they fill in either field.
 *
 * Both fields may be left from evaluations that fit each other by chance. Then what
 * is left of calls that have returned, where the data stack is not in use, is taken
 * for frames: those are known by their place.
 */
#include "python/framestart.h"

#include "base/outcome.h"
#include "python/bytes.h"

void framestart_span(const struct layout *layout, size_t *ret_from,
		     size_t *ret_len)
{
	const uint16_t at[] = { layout->thread.frame, layout->thread.base_frame,
				layout->thread.datastack_chunk,
				layout->thread.native_id == LAYOUT_NONE
					? layout->thread.thread_id
					: layout->thread.native_id };
	size_t from = at[0], end = at[0], unused;

	for (size_t i = 1; i < sizeof(at) / sizeof(*at); i++) {
		if (at[i] == LAYOUT_NONE)
			continue;
		from = at[i] < from ? at[i] : from;
		end = at[i] > end ? at[i] : end;
	}
	/* Two words: see below. */
	unused = layout->thread.datastack_chunk + FRAMESTART_UNUSED;
	if (layout->frame_kind == FRAME_CFRAME &&
	    end < unused + sizeof(uint64_t))
		end = unused + sizeof(uint64_t);
	*ret_from = from;
	*ret_len = end - from + sizeof(uint64_t);
}

/* The lowest cframe is a part of the thread state: no evaluation. */
static bool is_lowest(uint64_t cframe, uint64_t tstate)
{
	return cframe - tstate < LAYOUT_MAX_THREAD;
}

static int read_cframe(const struct mem *mem, const struct layout *layout,
		       struct stackhint *hint, uint64_t cframe,
		       uint64_t *ret_current, uint64_t *ret_previous)
{
	struct mem_range ranges[] = {
		{ .addr = cframe + layout->cframe.current,
		  .buf = ret_current,
		  .len = sizeof(*ret_current) },
		{ .addr = cframe + layout->cframe.previous,
		  .buf = ret_previous,
		  .len = sizeof(*ret_previous) },
	};

	if (!bytes_is_pointer(cframe))
		return OUT_TORN;
	stackhint_also(hint, ranges[0].addr, ranges[0].len);
	stackhint_also(hint, ranges[1].addr, ranges[1].len);
	return mem->readv(mem->ctx, ranges, 2);
}

/*
 * The cframe that @previous of another names. One that was not filled in may name what
 * once was a cframe, where by now may be anything: no frame, most likely. None is in
 * the lowest only, and in one that a library has made (greenlet) and put on that.
 */
static int read_below(const struct mem *mem, const struct layout *layout,
		      struct stackhint *hint, uint64_t tstate,
		      uint64_t previous, struct framestart *ret)
{
	int r = read_cframe(mem, layout, hint, previous, &ret->below,
			    &ret->below_previous);

	if (r)
		return r;
	ret->has_below = true;
	ret->below_at = previous;
	return ret->below || is_lowest(previous, tstate) ||
			       is_lowest(ret->below_previous, tstate)
		       ? 0
		       : OUT_TORN;
}

/* The newest cframe, which has the leaf, and the one below it. */
static int read_cframes(const struct mem *mem, const struct layout *layout,
			struct stackhint *hint, uint64_t tstate,
			struct framestart *ret)
{
	uint64_t cframe = ret->leaf, previous;
	int r = read_cframe(mem, layout, hint, cframe, &ret->leaf, &previous);

	if (r)
		return r;
	/*
	 * Another one than the lowest that has none below it, on the C stack, has just
	 * been made the newest and is not filled in: what is in it is another's, and the
	 * caller's is not to be found.
	 */
	if (!previous)
		return is_lowest(cframe, tstate) ? 0 : OUT_TORN;
	return read_below(mem, layout, hint, tstate, previous, ret);
}

int framestart_below(const struct mem *mem, const struct layout *layout,
		     struct stackhint *hint, uint64_t tstate,
		     const struct framestart *above, struct framestart *ret)
{
	*ret = (struct framestart){ .leaf = above->below,
				    .base = above->base,
				    .chunk = above->chunk,
				    .unused = above->unused,
				    .unused_end = above->unused_end };
	if (is_lowest(above->below_at, tstate))
		return 0;
	return read_below(mem, layout, hint, tstate, above->below_previous,
			  ret);
}

int framestart_find(const struct mem *mem, const struct layout *layout,
		    struct stackhint *hint, uint64_t tstate,
		    struct framestart *ret)
{
	uint8_t bytes[FRAMESTART_MAX_BYTES];
	size_t from, len;
	int r;

	*ret = (struct framestart){ 0 };
	framestart_span(layout, &from, &len);
	r = mem_read(mem, tstate + from, bytes, len);
	if (r)
		return r;
	ret->leaf = bytes_u64(bytes, layout->thread.frame - from);
	if (layout->thread.base_frame != LAYOUT_NONE)
		ret->base = bytes_u64(bytes, layout->thread.base_frame - from);
	if (layout->thread.datastack_chunk != LAYOUT_NONE)
		ret->chunk =
			bytes_u64(bytes, layout->thread.datastack_chunk - from);
	if (layout->frame_kind != FRAME_CFRAME || !ret->leaf)
		return 0;
	from = layout->thread.datastack_chunk + FRAMESTART_UNUSED - from;
	ret->unused = bytes_u64(bytes, from);
	ret->unused_end = bytes_u64(bytes, from + sizeof(uint64_t));
	return read_cframes(mem, layout, hint, tstate, ret);
}
