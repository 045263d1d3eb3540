/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_CODE_INTERNAL_H
#define PYTHON_CODE_INTERNAL_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "python/code.h"
#include "python/codefields.h"
#include "python/name.h"
#include "python/prefetch.h"

/* What code.c and code_recall.c share. */

#define LINES_KEPT 16 /* a power of two */

struct known_line {
	int32_t instr;
	int32_t line;
};

struct code {
	uint64_t addr;
	uint64_t round; /* of the last capture that asked for it */
	uint64_t read;  /* in which it was read */
	uint64_t check; /* base/codecheck.h, as of the round of ... */
	uint64_t check_round;
	bool valid; /* all below is of the object, as it was then */
	bool stale; /* to be read again in this round */
	bool hidden;
	uint8_t bytes[CODEFIELDS_MAX];
	struct codefields fields;
	uint32_t names[NAMES]; /* their indices; UINT32_MAX: has none */
	enum lines_kind lines_kind;
	uint8_t *table;
	size_t table_len;
	struct known_line lines[LINES_KEPT];
};

struct codecache {
	struct strtab *strings;
	uint32_t no_name; /* what a function with an empty name is called */
	uint32_t freed;   /* and one that is not known any more */
	uint64_t round;
	uint64_t forgotten; /* how often all was */
	uint64_t type;      /* address of PyCode_Type, once seen */
	size_t table_bytes;

	struct VEC(struct code) codes;
	struct map code_at;
	struct names names;

	/* Of one capture. */
	bool learnt; /* something was read anew */
	struct VEC(uint32_t) todo_codes;
	struct VEC(uint32_t) todo_names;
	struct VEC(struct mem_range) ranges;
	struct VEC(uint8_t) buffer;
	struct prefetch *prefetch;
};

/* Has one of its names been read anew, as another, since it was read itself? */
bool code_names_changed(const struct codecache *cache, const struct code *code);

#endif
