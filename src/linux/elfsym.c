/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/elfsym.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

/* Everything that one reading needs. */
struct reader {
	Elf *elf;
	struct elf_symbol *symbols;
	uint32_t heads[ELF_MAX_SYMBOLS]; /* of their names */
	size_t n, missing;
	const char *section;
	uint64_t *ret_section;
	struct elf_summary *ret;
	elf_needed needed;
	void *ctx;
};

static void read_segment(struct elf_summary *ret, const GElf_Phdr *segment,
			 bool first)
{
	if (first) {
		ret->load_vaddr = segment->p_vaddr;
		if (segment->p_align > 1)
			ret->load_vaddr &= ~(segment->p_align - 1);
	}
	if (segment->p_flags & PF_W) {
		ret->data_vaddr = segment->p_vaddr;
		ret->data_size = segment->p_memsz;
	}
}

static void read_header(struct reader *rd)
{
	bool first = true;
	GElf_Ehdr header;
	size_t n;

	if (!gelf_getehdr(rd->elf, &header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != OUR_MACHINE) {
		rd->ret->foreign = true;
		return;
	}
	if (elf_getphdrnum(rd->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(rd->elf, (int)i, &segment) ||
		    segment.p_type != PT_LOAD)
			continue;
		read_segment(rd->ret, &segment, first);
		first = false;
	}
}

/* A table of strings; not to be trusted to end in a NUL. */
struct texts {
	const char *at;
	size_t size;
};

/* The first bytes of a name, to pass over most symbols without a comparison. */
static uint32_t head_of(const char *name)
{
	uint32_t head;

	memcpy(&head, name, sizeof(head));
	return head;
}

static bool is_name(const struct texts *texts, size_t at, const char *name)
{
	size_t len = strlen(name) + 1;

	return len <= texts->size - at && !memcmp(texts->at + at, name, len);
}

static void match_symbol(struct reader *rd, const struct texts *texts,
			 const Elf64_Sym *sym)
{
	uint32_t head;

	if (sym->st_shndx == SHN_UNDEF || !sym->st_value ||
	    texts->size < sizeof(head) ||
	    sym->st_name > texts->size - sizeof(head))
		return;
	head = head_of(texts->at + sym->st_name);
	for (size_t i = 0; i < rd->n; i++) {
		struct elf_symbol *wanted = &rd->symbols[i];

		if (rd->heads[i] != head || wanted->value ||
		    !is_name(texts, sym->st_name, wanted->name))
			continue;
		wanted->value = sym->st_value;
		rd->missing--;
	}
}

/*
 * All of a table, and its strings, at once: a large program has tens of thousands of
 * symbols, and libelf's way to one of them takes its time.
 */
static void read_symbols(struct reader *rd, Elf_Scn *scn,
			 const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Scn *strings = elf_getscn(rd->elf, header->sh_link);
	Elf_Data *text = strings ? elf_getdata(strings, NULL) : NULL;
	struct texts texts;
	Elf64_Sym sym;

	if (!data || !data->d_buf || data->d_type != ELF_T_SYM || !text ||
	    !text->d_buf)
		return;
	texts = (struct texts){ .at = text->d_buf, .size = text->d_size };
	for (size_t at = 0; at + sizeof(sym) <= data->d_size && rd->missing;
	     at += sizeof(sym)) {
		memcpy(&sym, (const char *)data->d_buf + at, sizeof(sym));
		match_symbol(rd, &texts, &sym);
	}
}

static void read_dynamic(struct reader *rd, Elf_Scn *scn,
			 const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize
				      : 0;

	for (size_t i = 0; data && i < n; i++) {
		GElf_Dyn dyn;
		const char *name;

		if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag != DT_SONAME && dyn.d_tag != DT_NEEDED)
			continue;
		name = elf_strptr(rd->elf, header->sh_link, dyn.d_un.d_val);
		if (name && dyn.d_tag == DT_SONAME)
			(void)snprintf(rd->ret->soname, sizeof(rd->ret->soname),
				       "%s", name);
		else if (name && rd->needed)
			rd->needed(rd->ctx, name);
	}
}

/*
 * One pass over the sections for those of @type. The small table of exported
 * symbols comes first, the large one of all symbols only for what it lacked.
 */
static void read_sections(struct reader *rd, uint32_t type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(rd->elf, scn)) != NULL) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != type)
			continue;
		if (type == SHT_DYNAMIC)
			read_dynamic(rd, scn, &header);
		else
			read_symbols(rd, scn, &header);
	}
}

static void find_section(struct reader *rd)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	size_t names;

	if (!rd->section || elf_getshdrstrndx(rd->elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(rd->elf, scn)) != NULL) {
		const char *name;

		if (!gelf_getshdr(scn, &header))
			continue;
		name = elf_strptr(rd->elf, names, header.sh_name);
		if (name && !strcmp(name, rd->section)) {
			*rd->ret_section = header.sh_addr;
			return;
		}
	}
}

int elfsym_read(int fd, struct elf_symbol *symbols, size_t n,
		const char *section, uint64_t *ret_section,
		struct elf_summary *ret, elf_needed needed, void *ctx)
{
	struct reader rd = { .symbols = symbols,
			     .n = n,
			     .missing = n,
			     .section = section,
			     .ret_section = ret_section,
			     .ret = ret,
			     .needed = needed,
			     .ctx = ctx };

	*ret = (struct elf_summary){ 0 };
	*ret_section = 0;
	if (n > ELF_MAX_SYMBOLS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		symbols[i].value = 0;
		rd.heads[i] = head_of(symbols[i].name);
	}
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	rd.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!rd.elf)
		return 0;
	if (elf_kind(rd.elf) == ELF_K_ELF) {
		ret->is_elf = true;
		read_header(&rd);
		if (!ret->foreign) {
			read_sections(&rd, SHT_DYNAMIC);
			read_sections(&rd, SHT_DYNSYM);
			if (rd.missing)
				read_sections(&rd, SHT_SYMTAB);
			find_section(&rd);
		}
	}
	(void)elf_end(rd.elf);
	return 0;
}

/*
 * Of a large program most of what is neither code nor these is of its compiler:
 * tables of unwinding, of types, of lines.
 */
static bool holds_texts(Elf *elf, size_t names, const GElf_Shdr *header)
{
	const char *name = elf_strptr(elf, names, header->sh_name);

	return header->sh_type == SHT_PROGBITS &&
	       (header->sh_flags & SHF_ALLOC) &&
	       !(header->sh_flags & SHF_EXECINSTR) && name &&
	       (!strncmp(name, ".rodata", 7) || !strncmp(name, ".data", 5));
}

/* Returns whether there were sections at all. */
static bool each_section(Elf *elf, elf_bytes one, void *ctx)
{
	size_t left = ELF_MAX_BYTES, names;
	Elf_Scn *scn = NULL;
	bool any = false;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &header))
			continue;
		any = true;
		if (!holds_texts(elf, names, &header))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf || data->d_size > left)
			continue;
		left -= data->d_size;
		one(ctx, data->d_buf, data->d_size);
	}
	return any;
}

static void each_segment(Elf *elf, elf_bytes one, void *ctx)
{
	size_t left = ELF_MAX_BYTES, size, n;
	const char *file = elf_rawfile(elf, &size);

	if (!file || elf_getphdrnum(elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) ||
		    segment.p_type != PT_LOAD || (segment.p_flags & PF_X) ||
		    segment.p_offset > size ||
		    segment.p_filesz > size - segment.p_offset ||
		    segment.p_filesz > left)
			continue;
		left -= segment.p_filesz;
		one(ctx, file + segment.p_offset, segment.p_filesz);
	}
}

int elfsym_data(int fd, elf_bytes one, void *ctx)
{
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return 0;
	if (elf_kind(elf) == ELF_K_ELF && !each_section(elf, one, ctx))
		each_segment(elf, one, ctx);
	(void)elf_end(elf);
	return 0;
}
