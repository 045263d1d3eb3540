/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_THREADNAME_H
#define PYTHON_THREADNAME_H

#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "python/layout.h"

/*
 * The names that a program gave its threads: threading._active has the Thread of
 * each pthread_t, and that has its _name. The target runs meanwhile. Each step is
 * checked (of which types they are, that the Thread has this very number), and all of
 * them are made twice: a name counts when both came to the same objects.
 */

/*
 * The address of threading._active in @interp, which is there for as long as the
 * interpreter is.
 *
 * Returns 0; OUT_UNKNOWN when that interpreter has not imported threading, or the
 * version's dictionaries are not known; OUT_TORN; else what reading came to.
 */
int threadname_active(const struct mem *mem, const struct layout *layout,
		      uint64_t interp, uint64_t *ret_active);

/*
 * Append the name of the thread @pthread to @to, as pystr_read does.
 *
 * Returns 0; OUT_UNKNOWN when threading knows no such thread, or only as one that
 * it has not made (a _DummyThread that was not renamed), or its name is empty or no
 * text; OUT_TORN when it
 * changed meanwhile; -ENOMEM; else what reading came to. @to is as it was on all
 * but 0.
 */
int threadname_read(const struct mem *mem, const struct layout *layout,
		    uint64_t active, uint64_t pthread, struct str *to);

#endif
