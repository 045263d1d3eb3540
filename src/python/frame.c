/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk goes link by link and never skips a check, whichever way its bytes
 * come. Batching is beside it: before a frame is read, the walk says so
 * (expect_frame), and whatever is not to be had already is fetched, or noted so
 * that it is next time.
 *
 * Since 3.11 frames lie one behind the other in the chunks of the thread's data
 * stack, 16 KiB each unless a frame needs more; the thread knows the newest, and
 * each the one before. Going outwards, the first frame met in a chunk is its
 * innermost, so all of its frames lie between the chunk's start and that frame's
 * end: one read. Frames that lie elsewhere (of generators and coroutines; up to
 * 3.10 all of them; in 3.13 those on the C stack) are fetched by their addresses
 * of the last time.
 *
 * A chunk or an address that is something else by now costs time, not truth: the
 * bytes were read in this stop, and the walk checks them as it would any others.
 */
#include "python/frame.h"

#include <stdbool.h>
#include <string.h>

#include "base/outcome.h"
#include "python/bytes.h"
#include "python/framebuf.h"
#include "python/framestart.h"

#define FRAME_BYTES 256 /* more than any version's frame.size */

#define CHUNK_BYTES 16384u /* a chunk, unless it says otherwise */
#define CHUNK_MAX_BYTES 65536u

struct walk {
	const struct mem *mem;
	const struct layout *layout;
	/* The rest for a batched walk only. */
	struct prefetch *prefetch;
	struct stackhint *hint;
	size_t chunk; /* in which the last frame was; none yet: SIZE_MAX */
	uint64_t next_chunk; /* the one before it (or the newest) ... */
	bool next_known;     /* ... if it was asked for */
};

/* What the walk needs of a frame. */
struct link {
	uint64_t previous;
	struct rawframe raw;
	bool is_python;
	bool is_entry; /* an evaluation was entered from C by it */
};

static int32_t get_i32(const uint8_t *bytes, size_t at)
{
	int32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static bool chunk_holds(const struct stackchunk *chunk, uint64_t addr,
			size_t len)
{
	return addr > chunk->addr && addr - chunk->addr <= chunk->size &&
	       len <= chunk->size - (addr - chunk->addr);
}

/* The known chunk that holds @len bytes at @addr, or NULL. */
static struct stackchunk *find_chunk(struct walk *w, uint64_t addr, size_t len)
{
	struct stackhint *hint = w->hint;

	if (w->chunk < hint->n_chunks &&
	    chunk_holds(&hint->chunks[w->chunk], addr, len))
		return &hint->chunks[w->chunk];
	/* They are in the order of the walk: the next one first. */
	for (size_t i = 1; i <= hint->n_chunks; i++) {
		size_t at = w->chunk < hint->n_chunks ? w->chunk + i : i - 1;

		at %= hint->n_chunks;
		if (!chunk_holds(&hint->chunks[at], addr, len))
			continue;
		w->chunk = at;
		w->next_known = false;
		return &hint->chunks[at];
	}
	return NULL;
}

/* The size that a chunk says it has; only a limit, so a wrong one is no harm. */
static uint32_t chunk_size(struct walk *w, uint64_t chunk)
{
	uint64_t size;

	if (mem_read_u64(w->mem, chunk + w->layout->chunk.size, &size) ||
	    size < CHUNK_BYTES)
		return CHUNK_BYTES;
	return size < CHUNK_MAX_BYTES ? (uint32_t)size : CHUNK_MAX_BYTES;
}

/* Fetch the next older chunk up to @end, when that lies in it. */
static int enter_chunk(struct walk *w, uint64_t addr, size_t len,
		       struct stackchunk **ret)
{
	struct stackhint *hint = w->hint;
	struct stackchunk chunk;
	int r;

	*ret = NULL;
	if (!w->next_known) {
		uint64_t link =
			hint->chunks[w->chunk].addr + w->layout->chunk.previous;

		if (mem_read_u64(w->mem, link, &w->next_chunk))
			w->next_chunk = 0;
		w->next_known = true;
	}
	chunk = (struct stackchunk){ .addr = w->next_chunk,
				     .size = CHUNK_BYTES };
	if (!bytes_is_pointer(chunk.addr) || !chunk_holds(&chunk, addr, len) ||
	    !stackhint_reserve_chunk(hint))
		return 0;
	chunk.fetched = (uint32_t)(addr + len - chunk.addr);
	prefetch_plan(w->prefetch, chunk.addr, chunk.fetched);
	r = prefetch_fetch(w->prefetch);
	if (r)
		return r;
	chunk.size = chunk_size(w, chunk.addr);
	w->chunk = hint->n_chunks;
	w->next_known = false;
	hint->chunks[hint->n_chunks++] = chunk;
	*ret = &hint->chunks[w->chunk];
	return 0;
}

/* The frame at @addr will be read. */
static int expect_frame(struct walk *w, uint64_t addr, size_t len)
{
	struct stackchunk *chunk = NULL;
	uint32_t end;
	int r;

	if (!w->hint)
		return 0;
	if (w->layout->thread.datastack_chunk != LAYOUT_NONE) {
		chunk = find_chunk(w, addr, len);
		r = chunk ? 0 : enter_chunk(w, addr, len, &chunk);
		if (r)
			return r;
	}
	if (!chunk) {
		stackhint_also(w->hint, addr, len);
		return 0;
	}
	end = (uint32_t)(addr + len - chunk->addr);
	if (end > chunk->used)
		chunk->used = end;
	if (end <= chunk->fetched)
		return 0;
	/* Deeper than predicted. A frame may lie across the end of what is here. */
	if (chunk->fetched > len)
		chunk->fetched -= (uint32_t)len;
	prefetch_plan(w->prefetch, chunk->addr + chunk->fetched,
		      end - chunk->fetched);
	chunk->fetched = end;
	return prefetch_fetch(w->prefetch);
}

/* Where the bytecode is that this frame executes. */
static int find_bytecode(struct walk *w, const uint8_t *frame, uint64_t code,
			 uint64_t *ret)
{
	const struct layout *layout = w->layout;
	struct mem_range ranges[2];
	uint64_t copies, slot, n;
	int32_t index;
	int r;

	*ret = code + layout->code.bytecode;
	if (layout->frame.tlbc_index == LAYOUT_NONE ||
	    layout->code.tlbc == LAYOUT_NONE)
		return 0;
	/* Copy 0 is the one in the code object. */
	index = get_i32(frame, layout->frame.tlbc_index);
	if (!index)
		return 0;
	stackhint_also(w->hint, code + layout->code.tlbc, sizeof(copies));
	r = mem_read_u64(w->mem, code + layout->code.tlbc, &copies);
	if (r)
		return r;
	if (index < 0 || !bytes_is_pointer(copies))
		return OUT_TORN;
	slot = copies + layout->tlbc.entries + (uint64_t)index * sizeof(slot);
	ranges[0] = (struct mem_range){ .addr = copies + layout->tlbc.n,
					.buf = &n,
					.len = sizeof(n) };
	ranges[1] = (struct mem_range){ .addr = slot,
					.buf = ret,
					.len = sizeof(*ret) };
	stackhint_also(w->hint, ranges[0].addr, ranges[0].len);
	stackhint_also(w->hint, ranges[1].addr, ranges[1].len);
	r = w->mem->readv(w->mem->ctx, ranges, 2);
	if (r)
		return r;
	return (uint64_t)index < n && *ret ? 0 : OUT_TORN;
}

static int parse_code(struct walk *w, const uint8_t *frame, struct link *ret)
{
	const struct layout *layout = w->layout;
	uint64_t bytecode;
	int r;

	ret->raw.code = bytes_u64(frame, layout->frame.code) &
			~layout->tag_mask;
	if (!bytes_is_pointer(ret->raw.code))
		return OUT_TORN;
	if (layout->frame_kind == FRAME_OBJECT) {
		int32_t lasti = get_i32(frame, layout->frame.instr);

		ret->raw.instr =
			lasti < 0 ? -1 : (int64_t)lasti * layout->instr_scale;
		return 0;
	}
	r = find_bytecode(w, frame, ret->raw.code, &bytecode);
	if (r)
		return r;
	ret->raw.instr =
		(int64_t)(bytes_u64(frame, layout->frame.instr) - bytecode);
	return 0;
}

static int read_link(struct walk *w, uint64_t addr, struct link *ret)
{
	const struct layout *layout = w->layout;
	uint8_t bytes[FRAME_BYTES];
	int r;

	if (!bytes_is_pointer(addr))
		return OUT_TORN;
	r = expect_frame(w, addr, layout->frame.size);
	if (!r)
		r = mem_read(w->mem, addr, bytes, layout->frame.size);
	if (r)
		return r;
	*ret = (struct link){
		.previous = bytes_u64(bytes, layout->frame.previous),
		.raw.addr = addr,
		.is_python = true,
	};
	if (layout->frame.owner != LAYOUT_NONE) {
		uint8_t owner = bytes[layout->frame.owner];

		if (owner >= layout->owner_limit)
			return OUT_TORN;
		ret->is_python = !(layout->owner_skip >> owner & 1);
		/* From 3.12 on that is what the frames without code are for. */
		ret->is_entry = layout->frame.is_entry != LAYOUT_NONE
					? bytes[layout->frame.is_entry] != 0
					: !ret->is_python;
	}
	return ret->is_python ? parse_code(w, bytes, ret) : 0;
}

/* Nothing of it is read beyond what we have room for, whoever made the row. */
static bool layout_fits(const struct layout *layout)
{
	size_t size = layout->frame.size, from, len;
	const uint16_t fields[] = { layout->frame.previous, layout->frame.code,
				    layout->frame.instr };

	framestart_span(layout, &from, &len);
	if (size > FRAME_BYTES || len > FRAMESTART_MAX_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i] + 4u > size ||
		    (fields[i] + 8u > size &&
		     (i < 2 || layout->frame_kind != FRAME_OBJECT)))
			return false;
	return (layout->frame.owner == LAYOUT_NONE ||
		layout->frame.owner < size) &&
	       (layout->frame.is_entry == LAYOUT_NONE ||
		layout->frame.is_entry < size) &&
	       (layout->frame.tlbc_index == LAYOUT_NONE ||
		layout->frame.tlbc_index + 4u <= size);
}

/*
 * Follow the links from the newest frame down to the base. With cframes, the first
 * frame by which an evaluation was entered must continue in the frame below, else
 * OUT_TORN; *@ret_entered tells whether it was met, or need not be. The newest frame may have been given back a
 * moment ago: then the call has returned.
 */
static int follow(struct walk *w, const struct framestart *start,
		  struct framebuf *to, bool *ret_entered)
{
	uint64_t addr = start->leaf, base = start->base;
	size_t most = to->max < SIZE_MAX / 4 ? 2 * to->max + 16 : SIZE_MAX;
	uint64_t seen = 0; /* the last frame whose number was a power of two */
	struct link link;
	int r;

	if (to->kept)
		most = 2 * FRAME_MAX_DEPTH;
	to->n = to->left_out = 0;
	*ret_entered = !start->has_below;
	for (size_t i = 1; addr && addr != base; i++, addr = link.previous) {
		if (i > most)
			return to->left_out ? OUT_FULL : OUT_TORN;
		r = read_link(w, addr, &link);
		if (r)
			return r;
		/* A list that goes round comes to it again. */
		if (to->kept && addr == seen)
			return OUT_TORN;
		if (!(i & (i - 1)))
			seen = addr;
		if (framestart_is_left_over(start, addr)) {
			if (i > 1 || addr != start->unused)
				return OUT_TORN;
			link.is_python = false;
		}
		if (link.is_entry && !*ret_entered) {
			if (link.previous != start->below)
				return OUT_TORN;
			*ret_entered = true;
		}
		if (!link.is_python)
			continue;
		if (to->left_out == FRAME_MAX_DEPTH ||
		    !framebuf_put(to, &link.raw))
			return OUT_FULL;
	}
	if (addr != base)
		return OUT_TORN;
	framebuf_end(to);
	return 0;
}

/* On its way into an evaluation: what is in the newest cframe is old. */
static int walk_below(struct walk *w, uint64_t tstate,
		      const struct framestart *above, struct framebuf *to)
{
	struct framestart start;
	bool entered;
	int r = framestart_below(w->mem, w->layout, w->hint, tstate, above,
				 &start);

	if (r)
		return r;
	r = follow(w, &start, to, &entered);
	return r == 0 && !entered ? OUT_TORN : r;
}

static int walk(struct walk *w, uint64_t tstate, struct framebuf *to)
{
	struct framestart start;
	bool entered;
	int r;

	r = framestart_find(w->mem, w->layout, w->hint, tstate, &start);
	if (r)
		return r;
	w->next_chunk = start.chunk;
	w->next_known = true;
	/* Without a frame at all the thread is new, or at its end. */
	if (!start.leaf)
		start.base = 0;
	else if (w->layout->thread.base_frame != LAYOUT_NONE && !start.base)
		return OUT_TORN;
	r = follow(w, &start, to, &entered);
	if (!entered && (r == 0 || r == OUT_TORN))
		r = walk_below(w, tstate, &start, to);
	return r;
}

int frame_walk(const struct mem *mem, const struct layout *layout,
	       uint64_t tstate, struct rawframe *frames, size_t max,
	       size_t *ret_n)
{
	struct walk w = { .mem = mem, .layout = layout };
	struct framebuf to = { .at = frames, .max = max };
	int r;

	if (!layout_fits(layout))
		return OUT_TORN;
	r = walk(&w, tstate, &to);
	if (r == 0 || r == OUT_FULL)
		*ret_n = to.n;
	return r;
}

int frame_walk_batched(const struct mem *mem, const struct layout *layout,
		       uint64_t tstate, struct prefetch *p,
		       struct stackhint *hint, struct rawframe *frames,
		       size_t max, size_t *ret_n)
{
	struct walk w = {
		.mem = prefetch_mem(p),
		.layout = layout,
		.prefetch = p,
		.hint = hint,
		.chunk = SIZE_MAX,
	};
	struct framebuf to = { .at = frames, .max = max, .kept = max / 2 };
	size_t from, len;
	int r;

	hint->left_out = 0;
	if (!layout_fits(layout))
		return OUT_TORN;
	framestart_span(layout, &from, &len);
	prefetch_start(p, mem);
	prefetch_plan(p, tstate + from, len);
	stackhint_plan(hint, p);
	r = prefetch_fetch(p);
	if (r)
		return r;
	r = walk(&w, tstate, &to);
	stackhint_drop_unused(hint);
	/* Too deep to see its end: what is in the ring is of no use. */
	if (r == OUT_FULL)
		to.n = max - to.kept;
	if (r == 0 || r == OUT_FULL)
		*ret_n = to.n;
	if (r == 0)
		hint->left_out = to.left_out;
	return r == 0 && to.left_out ? OUT_FULL : r;
}
