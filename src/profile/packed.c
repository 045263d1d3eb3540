/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/packed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/varint.h"

/*
 * A slice: a byte of flags, then what they tell is there, in this order. What is
 * not is as it was in the slice before.
 */
#define HAS_START 0x01u /* folded difference to the end of the one before */
#define HAS_STACK 0x02u /* folded difference */
#define HAS_STATE 0x04u /* three bytes */
#define HAS_WALL 0x08u
#define HAS_SAMPLES 0x10u /* else 1 */
#define HAS_CPU 0x20u
#define CPU_IS_WALL 0x40u /* without both, none */

#define SLICE_MAX (1 + 3 + 5 * VARINT_MAX)

int packed_init(struct packed *packed, size_t lanes, size_t most)
{
	*packed = (struct packed){ .most = most, .n_lanes = lanes };
	packed->lanes = malloc((lanes + 1) * sizeof(*packed->lanes));
	if (!packed->lanes)
		return -ENOMEM;
	packed_begin(packed, 0);
	return 0;
}

void packed_free(struct packed *packed)
{
	vec_free(&packed->chunks);
	free(packed->lanes);
	packed->lanes = NULL;
}

static void lane_clear(struct packed_lane *lane)
{
	*lane = (struct packed_lane){ .first = PACKED_NONE,
				      .last = PACKED_NONE };
}

void packed_begin(struct packed *packed, size_t from)
{
	packed->chunks.n = 0;
	packed->unused = PACKED_NONE;
	packed->from = from;
	packed->until = packed->n_lanes;
	for (size_t i = 0; i < packed->n_lanes; i++)
		lane_clear(&packed->lanes[i]);
}

/* Drop the last lanes until there is a chunk to be had, or only one is left. */
static void drop_lanes(struct packed *packed)
{
	while (packed->unused == PACKED_NONE &&
	       packed->until > packed->from + 1) {
		struct packed_lane *lane = &packed->lanes[--packed->until];

		if (lane->first == PACKED_NONE)
			continue;
		packed->unused = lane->first;
		lane_clear(lane);
	}
}

/* A chunk for a lane; PACKED_NONE without memory. */
static uint32_t new_chunk(struct packed *packed)
{
	uint32_t chunk = packed->unused;

	if (chunk != PACKED_NONE) {
		packed->unused = packed->chunks.at[chunk].next;
	} else {
		chunk = (uint32_t)packed->chunks.n;
		if (chunk == PACKED_NONE || !vec_reserve(&packed->chunks, 1))
			return PACKED_NONE;
		packed->chunks.n++;
	}
	packed->chunks.at[chunk].next = PACKED_NONE;
	packed->chunks.at[chunk].used = 0;
	return chunk;
}

/* Room for @len bytes at the end of a lane; NULL: see @ret. */
static uint8_t *lane_room(struct packed *packed, size_t number, size_t len,
			  int *ret)
{
	struct packed_lane *lane = &packed->lanes[number];
	struct packed_chunk *chunk;
	uint32_t fresh;

	*ret = 0;
	if (lane->last != PACKED_NONE) {
		chunk = &packed->chunks.at[lane->last];
		if (len <= sizeof(chunk->bytes) - chunk->used)
			return chunk->bytes + chunk->used;
	}
	if (packed->chunks.n >= packed->most)
		drop_lanes(packed);
	if (number >= packed->until)
		return NULL;
	fresh = new_chunk(packed);
	if (fresh == PACKED_NONE) {
		*ret = -ENOMEM;
		return NULL;
	}
	if (lane->last == PACKED_NONE)
		lane->first = fresh;
	else
		packed->chunks.at[lane->last].next = fresh;
	lane->last = fresh;
	return packed->chunks.at[fresh].bytes;
}

static bool same_state(const struct seen *a, const struct seen *b)
{
	return a->run == b->run && a->gil == b->gil && a->wait == b->wait;
}

static struct packed_last expect(const struct slice *slice)
{
	return (struct packed_last){
		.end_ns = slice->start_ns + slice->weight.wall_ns,
		.wall_ns = slice->weight.wall_ns,
		.seen = slice->seen,
	};
}

/* Returns how many of the SLICE_MAX bytes in @to it took. */
static size_t pack(uint8_t *to, const struct slice *slice,
		   const struct packed_last *expected)
{
	const struct seen *seen = &slice->seen;
	const struct weight *weight = &slice->weight;
	uint8_t *at = to + 1;
	unsigned flags = 0;

	if (slice->start_ns != expected->end_ns) {
		flags |= HAS_START;
		at += varint_put(at, varint_fold((int64_t)(slice->start_ns -
							   expected->end_ns)));
	}
	if (seen->stack != expected->seen.stack) {
		flags |= HAS_STACK;
		at += varint_put(at, varint_fold((int64_t)seen->stack -
						 expected->seen.stack));
	}
	if (!same_state(seen, &expected->seen)) {
		flags |= HAS_STATE;
		*at++ = seen->run;
		*at++ = seen->gil;
		*at++ = seen->wait;
	}
	if (weight->wall_ns != expected->wall_ns) {
		flags |= HAS_WALL;
		at += varint_put(at, weight->wall_ns);
	}
	if (weight->samples != 1) {
		flags |= HAS_SAMPLES;
		at += varint_put(at, weight->samples);
	}
	if (weight->cpu_ns == weight->wall_ns) {
		flags |= CPU_IS_WALL;
	} else if (weight->cpu_ns) {
		flags |= HAS_CPU;
		at += varint_put(at, weight->cpu_ns);
	}
	*to = (uint8_t)flags;
	return (size_t)(at - to);
}

int packed_add(struct packed *packed, size_t lane, const struct slice *slice)
{
	struct packed_lane *to = &packed->lanes[lane];
	uint8_t bytes[SLICE_MAX], *room;
	size_t len;
	int r;

	if (lane < packed->from || lane >= packed->until)
		return 0;
	len = pack(bytes, slice, &to->expected);
	room = lane_room(packed, lane, len, &r);
	if (!room)
		return r;
	memcpy(room, bytes, len);
	packed->chunks.at[to->last].used += (uint32_t)len;
	to->expected = expect(slice);
	to->n++;
	return 0;
}

/* These bytes are our own: they are whole. */
static uint64_t get(const uint8_t **at)
{
	uint64_t value = *(*at)++;

	if (value < 0x80)
		return value;
	value &= 0x7f;
	for (unsigned shift = 7; shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

/* Read one slice; @slice is the one before, with its end as its start. */
static const uint8_t *unpack(const uint8_t *at, struct slice *slice)
{
	struct weight *weight = &slice->weight;
	unsigned flags = *at++;

	if (flags & HAS_START)
		slice->start_ns += (uint64_t)varint_unfold(get(&at));
	if (flags & HAS_STACK)
		slice->seen.stack += (uint32_t)varint_unfold(get(&at));
	if (flags & HAS_STATE) {
		slice->seen.run = *at++;
		slice->seen.gil = *at++;
		slice->seen.wait = *at++;
	}
	if (flags & HAS_WALL)
		weight->wall_ns = get(&at);
	weight->samples = flags & HAS_SAMPLES ? get(&at) : 1;
	if (flags & HAS_CPU)
		weight->cpu_ns = get(&at);
	else
		weight->cpu_ns = flags & CPU_IS_WALL ? weight->wall_ns : 0;
	return at;
}

void packed_read(struct packed_reader *ret, const struct packed *packed,
		 size_t lane, uint32_t thread)
{
	*ret = (struct packed_reader){ .packed = packed,
				       .first = packed->lanes[lane].first,
				       .thread = thread };
	packed_rewind(ret);
}

void packed_rewind(struct packed_reader *reader)
{
	reader->next = reader->first;
	reader->at = reader->end = NULL;
	reader->expected = (struct slice){ .thread = reader->thread };
}

bool packed_next(struct packed_reader *reader, struct slice *ret)
{
	const struct packed_chunk *chunk;

	if (reader->at == reader->end) {
		if (reader->next == PACKED_NONE)
			return false;
		chunk = &reader->packed->chunks.at[reader->next];
		reader->next = chunk->next;
		reader->at = chunk->bytes;
		reader->end = chunk->bytes + chunk->used;
	}
	reader->at = unpack(reader->at, &reader->expected);
	*ret = reader->expected;
	reader->expected.start_ns += reader->expected.weight.wall_ns;
	return true;
}
