/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_PYDICT_H
#define PYTHON_PYDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/layout.h"

/*
 * Looking into Python's dictionaries, and at attributes of its objects, from
 * outside. The target may run meanwhile: what comes out was there at some moment,
 * or never was, and who wants to believe it looks twice.
 *
 * All return 0 with *@ret_value, never 0, the address of the value; OUT_UNKNOWN
 * when there is none, or the version's dictionaries are not known here; OUT_TORN
 * when it is no dictionary, or not as it should be; else what reading came to.
 */

/* Places of a dictionary that has more are not looked at: OUT_UNKNOWN. */
#define PYDICT_MAX (1u << 18)

/* The longest key that can be looked for. */
#define PYDICT_KEY_MAX 24

/* By a key of ASCII characters, at most PYDICT_KEY_MAX. The first match counts. */
int pydict_find_text(const struct mem *mem, const struct layout *layout,
		     uint64_t dict, const char *key, uint64_t *ret_value);

/*
 * By a number below 2^61 - 1, which is its own hash: only the hashes are looked
 * at. *@ret_key is the address of the key.
 */
int pydict_find_number(const struct mem *mem, const struct layout *layout,
		       uint64_t dict, uint64_t number, uint64_t *ret_key,
		       uint64_t *ret_value);

/* An attribute of the object itself, not of its class. */
int pydict_attr(const struct mem *mem, const struct layout *layout,
		uint64_t object, const char *name, uint64_t *ret_value);

/* Is the name of its type just @name? 0; OUT_TORN: no; else as above. */
int pydict_is_a(const struct mem *mem, const struct layout *layout,
		uint64_t object, const char *name);

#endif
