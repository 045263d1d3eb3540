/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_ELFMEM_H
#define LINUX_ELFMEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "linux/elfsym.h"

/*
 * What elfsym tells of a file, from its image in a process: for a file that was
 * deleted or replaced, and that the reader may not open by other ways. The image
 * has no sections and no local symbols; what a library exports, it has.
 *
 * @start  where the first byte of the file is mapped
 *
 * Both return 0, also for an image that is none of an ELF file (is_elf tells), or
 * of which something is missing; OUT_GONE, OUT_DENIED; -ENOMEM. All loops end.
 */
int elfmem_read(const struct mem *mem, uint64_t start,
		struct elf_symbol *symbols, size_t n, struct elf_summary *ret,
		elf_needed needed, void *ctx);

/* Its constant data, in pieces of which each begins with the last @overlap bytes of
 * the one before. */
int elfmem_data(const struct mem *mem, uint64_t start, size_t overlap,
		elf_bytes one, void *ctx);

#endif
