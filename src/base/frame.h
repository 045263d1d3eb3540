/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <stdint.h>

/*
 * A frame as it stands in the target's memory. Where it came from (a stopped
 * thread, a proven sleep, the kernel) is not told and does not matter.
 */
struct rawframe {
	uint64_t addr; /* of the frame itself */
	uint64_t code; /* of its code object, without tag bits; never 0 */
	int64_t instr; /* byte offset into the bytecode; < 0: not started */
};

/* A frame that can be shown. Ids are of the run's string table. */
struct frame {
	uint32_t function; /* qualified where the version has qualified names */
	uint32_t file;
	int32_t line; /* 0 when the instruction has none */
};

#endif
