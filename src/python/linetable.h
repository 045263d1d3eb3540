/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_LINETABLE_H
#define PYTHON_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"

/*
 * The line of an instruction, exactly as the interpreter itself would say.
 *
 * @kind       which of the four tables @table is
 * @table      its bytes, @len of them; hostile
 * @firstline  co_firstlineno
 * @instr      byte offset of the instruction; < 0: not started
 *
 * Returns the line; @firstline for an instruction before the start; 0 where the
 * table gives the instruction no line or does not reach it (for both LNOTABs the
 * last line reaches to the end). Lines wrap nowhere: what would overflow is 0.
 */
int32_t linetable_line(enum lines_kind kind, const uint8_t *table, size_t len,
		       int32_t firstline, int64_t instr);

#endif
