/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash map from a 64-bit key to a 64-bit value (an index, a pointer's bits).
 * Open addressing, linear probing, removal without tombstones. A zeroed map is
 * empty. Any key is allowed; keys of a target are mixed, so that it cannot
 * choose them to collide on purpose without knowing @seed.
 */
struct map {
	struct map_slot *slots;
	size_t n;
	size_t room; /* a power of two, or 0 */
	uint64_t seed;
};

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

/* The value of @key into @ret (which may be NULL); false when there is none. */
bool map_get(const struct map *map, uint64_t key, uint64_t *ret);

/* Set @key to @value, new or not; false, nothing changed, without memory. */
bool map_put(struct map *map, uint64_t key, uint64_t value);

/* Forget @key; false when it was not there. */
bool map_remove(struct map *map, uint64_t key);

/* Forget all, keep the room. */
void map_clear(struct map *map);
void map_free(struct map *map);

/* Two numbers mixed into one key; not reversible, collisions are improbable. */
uint64_t map_mix(uint64_t a, uint64_t b);

/* A 64-bit hash of bytes. */
uint64_t map_hash(const void *bytes, size_t len, uint64_t seed);

#endif
