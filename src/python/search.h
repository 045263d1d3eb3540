/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_SEARCH_H
#define PYTHON_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/probe.h"

/*
 * An interpreter without names: linked into a program, whose symbols were
 * stripped or never there. What is left are its texts, which tell the version, and
 * its data, in which the list of interpreters begins somewhere.
 */

/* What the texts of a file tell so far; zeroed: nothing. */
struct search_tag {
	unsigned major, minor; /* 0, 0: none */
	bool torn;             /* of several versions: it tells nothing */
};

/*
 * Look through a part of the file's constant data. From 3.3 on an interpreter has
 * the tag by which it calls its compiled modules ("cpython-38"), before that the
 * name of its library ("lib/python2.7"). Parts may be given in any order.
 */
void search_text(struct search_tag *tag, const void *bytes, size_t len);

/* Bytes by which two parts have to overlap, for what lies across their border. */
#define SEARCH_OVERLAP 32

/* No more than this of a program's data is looked through. */
#define SEARCH_MAX_BYTES (8u << 20)

/*
 * Find the list of interpreters in the data of a program.
 *
 * @from, @len  the program's writable data, as it is mapped
 * @rt          its layout is set: the search is for that version; on 0 its address
 *              is set as well
 *
 * A place is believed when what it points to points back: an interpreter with a
 * thread that is of that interpreter, and whose thread structure of the C library
 * points to itself, as that of a thread that lives does.
 *
 * Returns 0; OUT_NOT_YET when there is no such place (now); OUT_GONE, OUT_DENIED.
 */
int search_interp(const struct mem *mem, uint64_t from, uint64_t len,
		  struct runtime *rt);

/*
 * From 3.13: find the runtime by the cookie that it begins with. Returns as
 * search_interp, with *@ret its address on 0.
 */
int search_cookie(const struct mem *mem, uint64_t from, uint64_t len,
		  uint64_t *ret);

#endif
