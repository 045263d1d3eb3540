/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_CODEFIELDS_H
#define PYTHON_CODEFIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codecheck.h"
#include "python/layout.h"
#include "python/name.h"

/*
 * The fields of a code object, as bytes read at once. Part of python/code.
 *
 * They are compared as they lie in memory, from the first to the last that we
 * need, and 16 bytes from ob_size on. None of these changes in the life of a
 * code object, and those in between tell more than ours: up to 3.10 the
 * bytecode's address; from 3.11 its length; from 3.12 co_version, which is
 * another for each object made.
 */
#define CODEFIELDS_MAX 256 /* bytes, at most */

enum {
	NAME_FILE,
	NAME_PLAIN,
	NAME_QUALIFIED,
	NAMES
};

struct codefields {
	uint64_t type;
	uint64_t names[NAMES]; /* addresses of strings; 0: has none */
	uint64_t table;
	int32_t firstline;
	uint32_t version; /* co_version; 0: it tells nothing, or there is none */
};

/* Do the fields and names of this layout fit what we have room for? */
bool codefields_fit(const struct layout *layout);

/* Which bytes of the object to read. */
struct span codefields_span(const struct layout *layout);

/*
 * How the same is put into one number (base/codecheck.h): where what it is made of lies. False for a layout
 * for which that cannot be said (free-threaded, 2.7).
 */
bool codefields_plan(const struct layout *layout, struct codeplan *ret);

/* Are these the bytes of the same object? */
bool codefields_same(const struct layout *layout, const uint8_t *a,
		     const uint8_t *b);

/*
 * False when an address cannot be one. The version is given where it tells one
 * object from all others that an interpreter ever makes: from 3.12, with a GIL (it
 * is counted without a lock else), and 0 once the counter has gone round.
 */
bool codefields_parse(const struct layout *layout, const uint8_t *bytes,
		      struct codefields *ret);

#endif
