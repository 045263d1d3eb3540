/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"

struct entry {
	size_t at; /* into bytes */
	size_t len;
	uint32_t next; /* another string of the same hash */
};

struct strtab {
	struct VEC(char) bytes;
	struct VEC(struct entry) entries;
	struct map by_hash; /* the newest string of a hash */
	uint64_t seed;
};

struct strtab *strtab_new(void)
{
	struct strtab *tab = calloc(1, sizeof(*tab));

	if (!tab)
		return NULL;
	/* Where it lies is chance: a target cannot choose strings to collide. */
	tab->seed = map_mix((uintptr_t)tab, 0);
	tab->by_hash.seed = tab->seed;
	if (strtab_id(tab, "", 0) != 0) {
		strtab_free(tab);
		return NULL;
	}
	return tab;
}

void strtab_free(struct strtab *tab)
{
	if (!tab)
		return;
	vec_free(&tab->bytes);
	vec_free(&tab->entries);
	map_free(&tab->by_hash);
	free(tab);
}

static uint32_t lookup(const struct strtab *tab, uint64_t hash,
		       const char *bytes, size_t len)
{
	uint64_t id;

	if (!map_get(&tab->by_hash, hash, &id))
		return STRTAB_NONE;
	while (id != STRTAB_NONE) {
		const struct entry *e = &tab->entries.at[id];

		if (e->len == len &&
		    (!len || !memcmp(tab->bytes.at + e->at, bytes, len)))
			return (uint32_t)id;
		id = e->next;
	}
	return STRTAB_NONE;
}

uint32_t strtab_id(struct strtab *tab, const char *bytes, size_t len)
{
	uint64_t older = STRTAB_NONE;
	struct entry entry;
	uint64_t hash;
	uint32_t id;

	if (len == SIZE_MAX)
		return STRTAB_NONE;
	hash = map_hash(bytes, len, tab->seed);
	id = lookup(tab, hash, bytes, len);
	if (id != STRTAB_NONE)
		return id;
	if (tab->entries.n >= STRTAB_NONE)
		return STRTAB_NONE;
	(void)map_get(&tab->by_hash, hash, &older);
	entry = (struct entry){ .at = tab->bytes.n,
				.len = len,
				.next = (uint32_t)older };
	id = (uint32_t)tab->entries.n;
	if (!vec_reserve(&tab->bytes, len + 1) ||
	    !vec_reserve(&tab->entries, 1) || !map_put(&tab->by_hash, hash, id))
		return STRTAB_NONE;
	if (len)
		memcpy(tab->bytes.at + tab->bytes.n, bytes, len);
	tab->bytes.at[tab->bytes.n + len] = '\0';
	tab->bytes.n += len + 1;
	tab->entries.at[tab->entries.n++] = entry;
	return id;
}

const char *strtab_get(const struct strtab *tab, uint32_t id, size_t *ret_len)
{
	const struct entry *e;

	if (id >= tab->entries.n)
		id = 0;
	e = &tab->entries.at[id];
	if (ret_len)
		*ret_len = e->len;
	return tab->bytes.at + e->at;
}

uint32_t strtab_count(const struct strtab *tab)
{
	return (uint32_t)tab->entries.n;
}
