/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/elfmem.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

#define SEGMENTS_MAX 64
#define DYNAMIC_MAX 512
#define NAME_MAX_BYTES 128
/* A bucket of a hash table that is made by a linker has some few entries. */
#define CHAIN_MAX 65536
#define PIECE (256u << 10)

struct image {
	const struct mem *mem;
	uint64_t bias; /* what is to be added to addresses of the file */
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t n;
	uint64_t symtab, strtab, gnu_hash, hash;
};

/* What is missing is no reason to stop: zeroes stand for it. */
static int get(const struct mem *mem, uint64_t at, void *to, size_t len)
{
	int r = mem_read(mem, at, to, len);

	if (r)
		memset(to, 0, len);
	return r == OUT_TORN ? OUT_OK : r;
}

static int read_header(struct image *image, uint64_t start,
		       struct elf_summary *ret)
{
	bool first = true;
	Elf64_Ehdr header;
	int r = get(image->mem, start, &header, sizeof(header));

	if (r || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return r;
	ret->is_elf = true;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != OUR_MACHINE) {
		ret->foreign = true;
		return OUT_OK;
	}
	image->n = header.e_phnum < SEGMENTS_MAX ? header.e_phnum
						 : SEGMENTS_MAX;
	r = get(image->mem, start + header.e_phoff, image->segments,
		image->n * sizeof(*image->segments));
	for (size_t i = 0; i < image->n; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (first) {
			ret->load_vaddr = segment->p_vaddr;
			if (segment->p_align > 1)
				ret->load_vaddr &= ~(segment->p_align - 1);
		}
		first = false;
		if (segment->p_flags & PF_W) {
			ret->data_vaddr = segment->p_vaddr;
			ret->data_size = segment->p_memsz;
		}
	}
	image->bias = start - ret->load_vaddr;
	return r;
}

/* The name at @offset of the table; false when it is not one, or too long. */
static bool get_name(const struct image *image, uint64_t offset,
		     char name[NAME_MAX_BYTES])
{
	struct mem_range range = { .addr = image->strtab + offset,
				   .buf = name,
				   .len = NAME_MAX_BYTES };

	(void)image->mem->readv(image->mem->ctx, &range, 1);
	return memchr(name, '\0', range.got) != NULL;
}

/* glibc's loader turns these into addresses where they stand, others do not. */
static uint64_t pointer(const struct image *image, uint64_t value)
{
	return value < image->bias ? value + image->bias : value;
}

static void cut_name(char *to, size_t room, const char *name)
{
	size_t len = strnlen(name, room - 1);

	memcpy(to, name, len);
	to[len] = '\0';
}

static int read_dynamic(struct image *image, struct elf_summary *ret,
			elf_needed needed, void *ctx)
{
	Elf64_Dyn dynamic[DYNAMIC_MAX] = { 0 };
	char name[NAME_MAX_BYTES];
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < image->n && !r; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type != PT_DYNAMIC)
			continue;
		n = segment->p_memsz / sizeof(*dynamic);
		if (n > DYNAMIC_MAX)
			n = DYNAMIC_MAX;
		r = get(image->mem, image->bias + segment->p_vaddr, dynamic,
			n * sizeof(*dynamic));
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t at = pointer(image, dynamic[i].d_un.d_ptr);

		if (dynamic[i].d_tag == DT_SYMTAB)
			image->symtab = at;
		else if (dynamic[i].d_tag == DT_STRTAB)
			image->strtab = at;
		else if (dynamic[i].d_tag == DT_GNU_HASH)
			image->gnu_hash = at;
		else if (dynamic[i].d_tag == DT_HASH)
			image->hash = at;
	}
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
		bool soname = dynamic[i].d_tag == DT_SONAME;

		if ((!soname && dynamic[i].d_tag != DT_NEEDED) ||
		    !get_name(image, dynamic[i].d_un.d_val, name))
			continue;
		if (soname)
			cut_name(ret->soname, sizeof(ret->soname), name);
		else if (needed)
			needed(ctx, name);
	}
	return r;
}

/* Is symbol @index the one of that name, and defined here? Then its value. */
static int match(const struct image *image, uint32_t index,
		 struct elf_symbol *symbol)
{
	char name[NAME_MAX_BYTES];
	Elf64_Sym sym;
	int r = get(image->mem, image->symtab + (uint64_t)index * sizeof(sym),
		    &sym, sizeof(sym));

	if (!r && sym.st_shndx != SHN_UNDEF &&
	    get_name(image, sym.st_name, name) && !strcmp(name, symbol->name))
		symbol->value = sym.st_value;
	return r;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The table with a filter in front: buckets, then one hash for each symbol. */
static int by_gnu_hash(const struct image *image, struct elf_symbol *symbol)
{
	uint32_t head[4] = {
		0
	}; /* buckets, first symbol, filter words, shift */
	uint32_t h = gnu_hash(symbol->name), index = 0, hash = 0;
	uint64_t buckets;
	int r = get(image->mem, image->gnu_hash, head, sizeof(head));

	if (r || !head[0])
		return r;
	buckets = image->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	r = get(image->mem, buckets + (uint64_t)(h % head[0]) * sizeof(index),
		&index, sizeof(index));
	if (index < head[1])
		return r;
	for (unsigned i = 0; !r && i < CHAIN_MAX && !(hash & 1); i++, index++) {
		r = get(image->mem,
			buckets + ((uint64_t)head[0] + index - head[1]) *
					  sizeof(hash),
			&hash, sizeof(hash));
		if (!r && (hash | 1) == (h | 1))
			r = match(image, index, symbol);
		if (symbol->value)
			break;
	}
	return r;
}

static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	return h;
}

/* The older table: buckets, then the next symbol of the same bucket. */
static int by_hash(const struct image *image, struct elf_symbol *symbol)
{
	uint32_t head[2] = { 0 }; /* buckets, symbols */
	uint64_t words = image->hash + sizeof(head);
	uint32_t index = 0;
	int r = get(image->mem, image->hash, head, sizeof(head));

	if (r || !head[0])
		return r;
	r = get(image->mem,
		words + (uint64_t)(sysv_hash(symbol->name) % head[0]) *
				sizeof(index),
		&index, sizeof(index));
	for (unsigned i = 0; !r && index && index < head[1] && i < CHAIN_MAX;
	     i++) {
		r = match(image, index, symbol);
		if (symbol->value)
			break;
		if (!r)
			r = get(image->mem,
				words + ((uint64_t)head[0] + index) *
						sizeof(index),
				&index, sizeof(index));
	}
	return r;
}

int elfmem_read(const struct mem *mem, uint64_t start,
		struct elf_symbol *symbols, size_t n, struct elf_summary *ret,
		elf_needed needed, void *ctx)
{
	struct image image = { .mem = mem };
	int r;

	*ret = (struct elf_summary){ 0 };
	for (size_t i = 0; i < n; i++)
		symbols[i].value = 0;
	r = read_header(&image, start, ret);
	if (!r && image.n)
		r = read_dynamic(&image, ret, needed, ctx);
	if (!image.symtab || !image.strtab)
		return r;
	for (size_t i = 0; i < n && !r; i++) {
		if (image.gnu_hash)
			r = by_gnu_hash(&image, &symbols[i]);
		else if (image.hash)
			r = by_hash(&image, &symbols[i]);
	}
	return r;
}

static int each_piece(const struct mem *mem, uint64_t at, uint64_t len,
		      size_t overlap, char *buf, elf_bytes one, void *ctx)
{
	uint64_t done = 0;
	int r = 0;

	if (len > ELF_MAX_BYTES)
		len = ELF_MAX_BYTES;
	while (!r && done < len) {
		struct mem_range range = { .addr = at + done, .buf = buf };

		range.len = len - done < PIECE ? (size_t)(len - done) : PIECE;
		r = mem->readv(mem->ctx, &range, 1);
		if (r == OUT_TORN)
			r = 0;
		one(ctx, buf, range.got);
		if (range.got < range.len || done + range.len == len)
			break;
		done += range.len - overlap;
	}
	return r;
}

int elfmem_data(const struct mem *mem, uint64_t start, size_t overlap,
		elf_bytes one, void *ctx)
{
	struct image image = { .mem = mem };
	struct elf_summary summary = { 0 };
	char *buf = malloc(PIECE);
	int r = buf ? 0 : -ENOMEM;

	if (!r)
		r = read_header(&image, start, &summary);
	for (size_t i = 0; !r && i < image.n; i++) {
		const Elf64_Phdr *segment = &image.segments[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_X))
			r = each_piece(mem, image.bias + segment->p_vaddr,
				       segment->p_filesz, overlap, buf, one,
				       ctx);
	}
	free(buf);
	return r;
}
