/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_PYSTR_H
#define PYTHON_PYSTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "python/layout.h"

/* Longer strings are cut to this many characters, with a mark; see pystr_read. */
#define PYSTR_MAX 8192

/*
 * Bytes from the object's start within which most names end. Who reads many
 * strings fetches as much of each beforehand.
 */
#define PYSTR_HEAD 320

/*
 * Read a Python `str` (every kind: compact ASCII, compact, legacy; 1, 2 and 4
 * bytes a character; bytes in 2.7) and append it to @to as UTF-8, bytes as they
 * are, which may be no UTF-8. Surrogates that stand for
 * undecodable bytes (U+DC80..DCFF) become those bytes again; other lone
 * surrogates become U+FFFD. A string longer than PYSTR_MAX characters is cut,
 * and "...+N~HHHH" is put behind it (N characters left out, HHHH 16 bits of the
 * hash of all of it as the target keeps it, or of the length) so that different
 * strings stay different.
 *
 * Returns 0; OUT_TORN when it is no string; -ENOMEM; or what reading came to.
 * @to is as it was on all but 0.
 */
int pystr_read(const struct mem *mem, const struct layout *layout,
	       uint64_t addr, struct str *to);

/* What stands before a string's characters. */
struct pystr {
	uint64_t data;   /* address of the characters */
	uint64_t length; /* in characters */
	int64_t hash;    /* -1 while the target has not computed it */
	uint8_t kind;    /* bytes a character: 1, 2 or 4 */
	bool is_bytes;   /* 2.7: not characters, but bytes of any encoding */
};

/*
 * Read the head of the string at @addr. Returns as pystr_read; @ret is set on 0
 * only, and then its characters do not wrap around the end of memory.
 */
int pystr_head(const struct mem *mem, const struct layout *layout,
	       uint64_t addr, struct pystr *ret);

#endif
