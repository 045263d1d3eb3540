/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* The finaliser of a 64-bit counter-based generator: each bit reaches each. */
static uint64_t scramble(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x;
}

uint64_t map_mix(uint64_t a, uint64_t b)
{
	return scramble(scramble(a + 0x9e3779b97f4a7c15ull) ^ b);
}

uint64_t map_hash(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = scramble(seed ^ len);
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = map_mix(hash, word);
	}
	word = 0;
	if (len)
		memcpy(&word, at, len);
	return map_mix(hash, word);
}

static size_t home(const struct map *map, uint64_t key)
{
	return map_mix(key, map->seed) & (map->room - 1);
}

/* The slot of @key, or the free one where it would go. Needs a free slot. */
static struct map_slot *find(const struct map *map, uint64_t key)
{
	size_t i = home(map, key);

	while (map->slots[i].used && map->slots[i].key != key)
		i = (i + 1) & (map->room - 1);
	return &map->slots[i];
}

bool map_get(const struct map *map, uint64_t key, uint64_t *ret)
{
	const struct map_slot *slot;

	if (!map->n)
		return false;
	slot = find(map, key);
	if (slot->used && ret)
		*ret = slot->value;
	return slot->used;
}

static bool grow(struct map *map)
{
	struct map to = *map;

	to.room = map->room ? map->room * 2 : 16;
	if (to.room > SIZE_MAX / sizeof(*to.slots))
		return false;
	to.slots = calloc(to.room, sizeof(*to.slots));
	if (!to.slots)
		return false;
	for (size_t i = 0; i < map->room; i++)
		if (map->slots[i].used)
			*find(&to, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = to;
	return true;
}

bool map_put(struct map *map, uint64_t key, uint64_t value)
{
	struct map_slot *slot;

	if (map->n >= map->room / 4 * 3 && !grow(map))
		return false;
	slot = find(map, key);
	if (!slot->used)
		map->n++;
	*slot = (struct map_slot){ .key = key, .value = value, .used = true };
	return true;
}

bool map_remove(struct map *map, uint64_t key)
{
	size_t mask = map->room - 1;
	struct map_slot *slot;
	size_t hole, i;

	if (!map->n)
		return false;
	slot = find(map, key);
	if (!slot->used)
		return false;
	hole = (size_t)(slot - map->slots);
	/* Move back each one that the hole keeps from its home. */
	for (i = (hole + 1) & mask; map->slots[i].used; i = (i + 1) & mask) {
		size_t want = home(map, map->slots[i].key);

		if (((i - want) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].used = false;
	map->n--;
	return true;
}

void map_clear(struct map *map)
{
	if (map->slots)
		memset(map->slots, 0, map->room * sizeof(*map->slots));
	map->n = 0;
}

void map_free(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}
