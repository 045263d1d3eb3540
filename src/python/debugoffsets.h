/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_DEBUGOFFSETS_H
#define PYTHON_DEBUGOFFSETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/layout.h"

/*
 * `_Py_DebugOffsets`, at the start of `_PyRuntime` since 3.13: the interpreter's
 * own word on its layout. Its own shape differs per minor version.
 */
#define DEBUGOFFSETS_COOKIE "xdebugpy"

/*
 * Read the table at @runtime and complete the row of its version with it.
 *
 * @ret          set on 0 only
 * @ret_version  PY_VERSION_HEX as the table says; set on 0 and OUT_UNKNOWN
 *
 * Returns 0; OUT_UNKNOWN for a version without a row, a pre-release (its layout
 * is not final), or offsets that cannot be (beyond the structure they are in, as
 * the table gives its size, or beyond what we would read); OUT_NOT_YET without a
 * cookie (an older version, or not yet initialised); else what reading came to.
 */
int debugoffsets_read(const struct mem *mem, uint64_t runtime,
		      struct layout *ret, uint32_t *ret_version);

#endif
