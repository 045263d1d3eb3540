/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

/*
 * Each different string once, under a small number. Strings are bytes with a
 * length: they may hold NUL and need not be UTF-8; the writers escape. Id 0 is
 * the empty string. Nothing is ever taken out.
 */
struct strtab;

#define STRTAB_NONE UINT32_MAX

/* Returns NULL when memory is gone. */
struct strtab *strtab_new(void);
void strtab_free(struct strtab *tab);

/*
 * The id of @bytes, new or not; STRTAB_NONE when memory or numbers are gone.
 * @bytes are not of the table itself: it may move.
 */
uint32_t strtab_id(struct strtab *tab, const char *bytes, size_t len);

/* The bytes of @id, NUL-terminated, and their length; valid until @tab grows. */
const char *strtab_get(const struct strtab *tab, uint32_t id, size_t *ret_len);

/* How many ids there are; they are 0 to that less one. */
uint32_t strtab_count(const struct strtab *tab);

#endif
