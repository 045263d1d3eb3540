/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "linux/elfmem.h"

#define START 0x7f0000000000u /* where the image lies */
#define DYNAMIC 0x2000u       /* in the file, as all below */
#define SYMBOLS 0x1000u
#define STRINGS 0x1400u
#define HASH 0x1800u
#define TEXTS 0x1c00u

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct target {
	struct fakemem fm;
	struct mem mem;
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[8];
	struct elf_symbol symbols[3];
	struct elf_summary summary;
	unsigned needed; /* names handed out */
	bool libc;       /* and one of them was this */
};

/* The names, in the order of the symbols; the first is that of none. */
static const char strings[] = "\0alpha\0beta\0gamma\0libtest.so.1\0libc.so.6";
enum {
	ALPHA = 1,
	BETA = 7,
	GAMMA = 12,
	SONAME = 18,
	LIBC = 31
};

static void put_file(struct target *t)
{
	fakemem_put(&t->fm, START, &t->header, sizeof(t->header));
	fakemem_put(&t->fm, START + 64, t->segments, sizeof(t->segments));
	fakemem_put(&t->fm, START + DYNAMIC, t->dynamic, sizeof(t->dynamic));
}

static void put_tables(struct target *t)
{
	static const Elf64_Sym symbols[] = {
		{ 0 },
		{ .st_name = ALPHA, .st_value = 0x10, .st_shndx = 1 },
		{ .st_name = BETA, .st_value = 0x20, .st_shndx = SHN_UNDEF },
		{ .st_name = GAMMA, .st_value = 0x30, .st_shndx = 1 },
	};
	/* One bucket with all of them: 1, 2, 3. */
	static const uint32_t hash[] = { 1, 4, 1, 0, 2, 3, 0 };

	fakemem_put(&t->fm, START + SYMBOLS, symbols, sizeof(symbols));
	fakemem_put(&t->fm, START + STRINGS, strings, sizeof(strings));
	fakemem_put(&t->fm, START + HASH, hash, sizeof(hash));
}

static int set_up(void **state)
{
	static struct target target;

	target = (struct target){
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
					 ELFDATA2LSB },
			    .e_machine = MACHINE,
			    .e_phoff = 64,
			    .e_phnum = 3 },
		.segments = { { .p_type = PT_LOAD,
				.p_flags = PF_R,
				.p_filesz = 0x2000,
				.p_memsz = 0x2000,
				.p_align = 0x1000 },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_vaddr = 0x2000,
				.p_memsz = 0x1800 },
			      { .p_type = PT_DYNAMIC,
				.p_vaddr = DYNAMIC,
				.p_memsz = sizeof(target.dynamic) } },
		/* The loader has turned one of them into an address. */
		.dynamic = { { DT_NEEDED, { LIBC } },
			     { DT_SONAME, { SONAME } },
			     { DT_SYMTAB, { START + SYMBOLS } },
			     { DT_STRTAB, { STRINGS } },
			     { DT_HASH, { HASH } },
			     { DT_NULL, { 0 } } },
		.symbols = { { .name = "gamma" },
			     { .name = "beta" },
			     { .name = "delta" } },
	};
	target.mem = fakemem_mem(&target.fm);
	fakemem_zero(&target.fm, START, 0x3800);
	put_file(&target);
	put_tables(&target);
	*state = &target;
	return 0;
}

static int tear_down(void **state)
{
	struct target *t = *state;

	fakemem_free(&t->fm);
	return 0;
}

static void on_needed(void *ctx, const char *name)
{
	struct target *t = ctx;

	t->needed++;
	t->libc |= !strcmp(name, "libc.so.6");
}

static int read_it(struct target *t)
{
	t->needed = 0;
	return elfmem_read(&t->mem, START, t->symbols, 3, &t->summary,
			   on_needed, t);
}

static void tells_what_the_file_would(void **state)
{
	struct target *t = *state;

	assert_int_equal(read_it(t), 0);
	assert_true(t->summary.is_elf && !t->summary.foreign);
	assert_int_equal(t->summary.load_vaddr, 0);
	assert_int_equal(t->summary.data_vaddr, 0x2000);
	assert_int_equal(t->summary.data_size, 0x1800);
	assert_string_equal(t->summary.soname, "libtest.so.1");
	assert_true(t->needed == 1 && t->libc);
}

static void finds_what_is_defined_here(void **state)
{
	struct target *t = *state;

	assert_int_equal(read_it(t), 0);
	assert_int_equal(t->symbols[0].value, 0x30);
	assert_int_equal(t->symbols[1].value, 0); /* needed, not defined */
	assert_int_equal(t->symbols[2].value, 0);
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

static void finds_it_by_the_newer_table_as_well(void **state)
{
	struct target *t = *state;
	/* One bucket, from symbol 1; one filter word; the last has bit 0 set. */
	const uint32_t hash[] = { 1,
				  1,
				  1,
				  6,
				  0,
				  0,
				  1,
				  hash_of("alpha") & ~1u,
				  hash_of("beta") & ~1u,
				  hash_of("gamma") | 1 };

	t->dynamic[4] = (Elf64_Dyn){ DT_GNU_HASH, { HASH } };
	put_file(t);
	fakemem_put(&t->fm, START + HASH, hash, sizeof(hash));
	assert_int_equal(read_it(t), 0);
	assert_int_equal(t->symbols[0].value, 0x30);
	assert_int_equal(t->symbols[1].value, 0);
	assert_int_equal(t->symbols[2].value, 0);
}

static void is_not_trapped_by_a_table_that_goes_round(void **state)
{
	struct target *t = *state;
	static const uint32_t hash[] = { 1, 4, 1, 0, 2, 1, 0 };

	t->symbols[0].name = "nowhere";
	fakemem_put(&t->fm, START + HASH, hash, sizeof(hash));
	assert_int_equal(read_it(t), 0);
	assert_int_equal(t->symbols[0].value, 0);
}

static void takes_what_is_missing_for_nothing(void **state)
{
	struct target *t = *state;

	fakemem_unmap(&t->fm, START + SYMBOLS, 0x1000);
	assert_int_equal(read_it(t), 0);
	assert_int_equal(t->symbols[0].value, 0);
	assert_string_equal(t->summary.soname, "");

	fakemem_unmap(&t->fm, START, 0x1000);
	assert_int_equal(read_it(t), 0);
	assert_false(t->summary.is_elf);
}

static void names_what_is_not_for_this_machine(void **state)
{
	struct target *t = *state;

	t->header.e_ident[EI_CLASS] = ELFCLASS32;
	put_file(t);
	assert_int_equal(read_it(t), 0);
	assert_true(t->summary.is_elf && t->summary.foreign);
}

static void on_bytes(void *ctx, const void *bytes, size_t len)
{
	struct target *t = ctx;

	if (memmem(bytes, len, "cpython-38", 10))
		t->libc = true;
}

static void hands_out_its_data(void **state)
{
	struct target *t = *state;

	t->libc = false;
	fakemem_put(&t->fm, START + TEXTS, "cpython-38", 10);
	assert_int_equal(elfmem_data(&t->mem, START, 32, on_bytes, t), 0);
	assert_true(t->libc);

	t->libc = false;
	t->segments[0].p_flags = PF_R | PF_X; /* code */
	put_file(t);
	assert_int_equal(elfmem_data(&t->mem, START, 32, on_bytes, t), 0);
	assert_false(t->libc);
}

static void passes_on_that_the_process_is_gone(void **state)
{
	struct target *t = *state;

	t->fm.fail = OUT_GONE;
	assert_int_equal(read_it(t), OUT_GONE);
	assert_int_equal(elfmem_data(&t->mem, START, 32, on_bytes, t),
			 OUT_GONE);
}

#define WITH_TARGET(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TARGET(tells_what_the_file_would),
		WITH_TARGET(finds_what_is_defined_here),
		WITH_TARGET(finds_it_by_the_newer_table_as_well),
		WITH_TARGET(is_not_trapped_by_a_table_that_goes_round),
		WITH_TARGET(takes_what_is_missing_for_nothing),
		WITH_TARGET(names_what_is_not_for_this_machine),
		WITH_TARGET(hands_out_its_data),
		WITH_TARGET(passes_on_that_the_process_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
