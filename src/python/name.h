/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_NAME_H
#define PYTHON_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codecheck.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "python/layout.h"
#include "python/pystr.h"

/*
 * Python strings that were read once, by address, for the code cache: many code
 * objects have one file name. Part of python/code; `round` is its count of
 * captures, and the caller's to keep.
 */
struct name {
	uint64_t addr;
	uint64_t checked; /* round in which it was last seen to be as it is here */
	uint64_t changed; /* round in which it was read, if it was another before */
	uint64_t asked; /* round in which it was last planned to be checked ... */
	uint64_t planned; /* ... or read */
	bool valid;       /* can be checked: else it is read each time */
	struct pystr head;
	uint64_t prefix; /* hash of its first bytes, where it has no hash itself */
	uint64_t lead[CODECHECK_LEAD]; /* fewer of them, as they stand, likewise */
	uint32_t id;                   /* in the string table */
};

/* A zeroed one is empty. */
struct names {
	struct VEC(struct name) all;
	struct map at;
	struct str text;
};

/* Bytes of an object: from one offset up to another. */
struct span {
	size_t from, end;
};

/* The index of the string at @addr, known or new; UINT32_MAX: no memory. */
uint32_t names_index(struct names *names, uint64_t addr);

/* What must be read of a valid one to see whether it is as it was. */
struct span name_span(const struct layout *layout, const struct name *name);

/*
 * Is it as it was? @bytes is what name_span asked for. Sets `valid`, and
 * `checked` when it is.
 */
void name_check(struct name *name, const struct layout *layout,
		const uint8_t *bytes, uint64_t round);

/* Read it, unless it was checked in this round. As pystr_read. */
int names_read(struct names *names, struct strtab *strings, uint32_t i,
	       const struct mem *mem, const struct layout *layout,
	       uint64_t round);

void names_clear(struct names *names);
void names_free(struct names *names);

#endif
