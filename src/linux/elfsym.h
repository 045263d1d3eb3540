/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_ELFSYM_H
#define LINUX_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a 64-bit ELF file says of itself, read with libelf from an fd. The file
 * is a stranger's: libelf checks its structure, we check what it hands out.
 */
struct elf_symbol {
	const char *name; /* to look for */
	uint64_t value;   /* set when found in .dynsym or .symtab; else 0 */
};

struct elf_summary {
	bool is_elf;
	bool foreign;        /* not 64 bits, not this byte order or processor */
	uint64_t load_vaddr; /* of the first PT_LOAD, rounded down to its alignment */
	uint64_t data_vaddr,
		data_size; /* of the last writable PT_LOAD, in memory */
	char soname[64];   /* "" without one, cut if longer */
};

/* No more symbols can be looked for at once; each name has four characters or more. */
#define ELF_MAX_SYMBOLS 16

/* Called for each DT_NEEDED name. */
typedef void (*elf_needed)(void *ctx, const char *name);

/*
 * Read the file behind @fd, which stays open.
 *
 * @symbols   @n of them to look for; the first definition found wins
 * @section   name of a section whose address is wanted; NULL: none
 * @ret_section  its address; 0 when there is none
 *
 * Returns 0, also for a file that is no ELF (is_elf tells); -EIO when libelf
 * cannot be used; -EINVAL for more than ELF_MAX_SYMBOLS.
 */
int elfsym_read(int fd, struct elf_symbol *symbols, size_t n,
		const char *section, uint64_t *ret_section,
		struct elf_summary *ret, elf_needed needed, void *ctx);

/* Called for each piece of data. */
typedef void (*elf_bytes)(void *ctx, const void *bytes, size_t len);

/* No more than this of a file is handed out. */
#define ELF_MAX_BYTES (64u << 20)

/*
 * Hand out the data of the file, constant and not: its sections .rodata* and .data*,
 * or, where it has no sections, its segments without code. Returns as elfsym_read.
 */
int elfsym_data(int fd, elf_bytes one, void *ctx);

#endif
