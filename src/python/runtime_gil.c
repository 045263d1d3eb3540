/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's lock: who has it, whose turn it is, and where it is waited for. */
#include "python/runtime.h"

#include "base/outcome.h"

int runtime_gil_place(const struct mem *mem, const struct runtime *rt,
		      uint64_t interp, uint64_t *ret_holder,
		      uint64_t *ret_locked)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil;
	int r;

	if (layout->free_threaded)
		return OUT_UNKNOWN;
	*ret_holder = *ret_locked = 0;
	if (layout->runtime.tstate_current != LAYOUT_NONE)
		*ret_holder = rt->address + layout->runtime.tstate_current;
	else if (rt->tstate_current)
		*ret_holder = rt->tstate_current;
	if (*ret_holder)
		return OUT_OK;
	if (layout->interp.gil == LAYOUT_NONE)
		return OUT_UNKNOWN;
	r = mem_read_u64(mem, interp + layout->interp.gil, &gil);
	if (r == 0 && gil) {
		*ret_holder = gil + layout->gil.last_holder;
		*ret_locked = gil + layout->gil.locked;
	}
	return r;
}

int runtime_gil_holder(const struct mem *mem, const struct runtime *rt,
		       uint64_t interp, uint64_t *ret_tstate)
{
	uint64_t holder_at, locked_at, holder = 0;
	int32_t locked = 0;
	struct mem_range ranges[2];
	int r = runtime_gil_place(mem, rt, interp, &holder_at, &locked_at);

	if (r)
		return r;
	if (!holder_at) {
		*ret_tstate = 0;
		return OUT_OK;
	}
	if (!locked_at)
		return mem_read_u64(mem, holder_at, ret_tstate);
	ranges[0] = (struct mem_range){ .addr = holder_at,
					.buf = &holder,
					.len = sizeof(holder) };
	ranges[1] = (struct mem_range){ .addr = locked_at,
					.buf = &locked,
					.len = sizeof(locked) };
	r = mem->readv(mem->ctx, ranges, 2);
	if (r)
		return r;
	/* The last holder stays when it lets go; locked is -1 before the first. */
	*ret_tstate = locked == 1 ? holder : 0;
	return OUT_OK;
}

/* The counter follows `locked`, an int, in all versions (pycore_gil.h). */
#define GIL_NUMBER_AFTER 8

static int read_turn(const struct mem *mem, const struct layout *layout,
		     uint64_t at, uint64_t *ret_gil, struct gilturn *turn)
{
	struct mem_range ranges[] = {
		{ .addr = at, .buf = ret_gil, .len = sizeof(*ret_gil) },
		{ .addr = turn->gil + layout->gil.last_holder,
		  .buf = &turn->holder,
		  .len = sizeof(turn->holder) },
		{ .addr = turn->gil + layout->gil.locked + GIL_NUMBER_AFTER,
		  .buf = &turn->number,
		  .len = sizeof(turn->number) },
	};

	return mem->readv(mem->ctx, ranges, turn->gil ? 3 : 1);
}

int runtime_gil_turn(const struct mem *mem, const struct runtime *rt,
		     uint64_t interp, struct gilturn *turn)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil = 0;
	int r;

	if (layout->free_threaded || layout->interp.gil == LAYOUT_NONE ||
	    layout->gil.locked == LAYOUT_NONE)
		return OUT_UNKNOWN;
	r = read_turn(mem, layout, interp + layout->interp.gil, &gil, turn);
	if (r == OUT_GONE || r == OUT_DENIED)
		return r;
	if (r == 0 && gil && gil == turn->gil)
		return 0;
	/* The address was not known, or is another one by now. */
	turn->gil = gil;
	if (!gil)
		return OUT_UNKNOWN;
	r = read_turn(mem, layout, interp + layout->interp.gil, &gil, turn);
	return r == 0 && gil != turn->gil ? OUT_TORN : r;
}

/*
 * The GIL (struct _gil_runtime_state) is a member of _PyRuntime up to 3.11,
 * within its first 2 KiB (708 to 1,100 bytes on x86-64); from 3.12 it has a
 * place of its own, of some 200 bytes.
 */
#define GIL_BEFORE 2048
#define GIL_SIZE 256

int runtime_gil_futexes(const struct mem *mem, const struct runtime *rt,
			uint64_t interp, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct layout *layout = &rt->layout;
	uint64_t gil = 0;
	int r = 0;

	*ret_start = *ret_end = 0;
	if (layout->free_threaded)
		return OUT_OK;
	if (layout->interp.gil != LAYOUT_NONE) {
		r = mem_read_u64(mem, interp + layout->interp.gil, &gil);
		if (r == 0 && gil && gil < UINT64_MAX - GIL_SIZE) {
			*ret_start = gil;
			*ret_end = gil + GIL_SIZE;
		}
	} else if (layout->runtime.tstate_current != LAYOUT_NONE) {
		*ret_start = rt->address;
		*ret_end = rt->address + GIL_BEFORE;
	}
	return r;
}
