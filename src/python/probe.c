/* SPDX-License-Identifier: Apache-2.0 */
#include "python/probe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "python/debugoffsets.h"
#include "python/search.h"

#define RANK_EXE 3
#define RANK_LIBPYTHON 2
#define RANK_BY_NAME 1

/* What a file or a soname calls itself: "libpython3.13t.so.1.0", "python3.9". */
struct named {
	unsigned major, minor; /* 0, 0 without */
	bool free_threaded;
	bool debug;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

unsigned probe_rank(const struct mapped_file *file)
{
	const char *name;

	if (file->is_exe)
		return RANK_EXE;
	/* "", "[heap]", "[vdso]" and their like are no files. */
	if (!file->path || file->path[0] != '/')
		return 0;
	name = base_name(file->path);
	if (starts_with(name, "libpython") && strstr(name, ".so"))
		return RANK_LIBPYTHON;
	if (starts_with(name, "libpypy"))
		return RANK_BY_NAME;
	if (!strstr(name, "python") || strstr(name, ".cpython-") ||
	    strstr(name, ".abi3.so"))
		return 0;
	return RANK_BY_NAME;
}

/* A number of at most three digits; returns what follows, or NULL. */
static const char *number(const char *text, unsigned *ret)
{
	unsigned n = 0;
	int digits = 0;

	while (digits < 3 && isdigit((unsigned char)*text)) {
		n = n * 10 + (unsigned)(*text++ - '0');
		digits++;
	}
	if (!digits || isdigit((unsigned char)*text))
		return NULL;
	*ret = n;
	return text;
}

/* Returns false, with *ret empty, when the name does not tell a version. */
static bool named_parse(const char *name, struct named *ret)
{
	struct named named = { 0 };
	const char *p = name;

	*ret = named;
	if (starts_with(p, "lib"))
		p += strlen("lib");
	if (!starts_with(p, "python"))
		return false;
	p = number(p + strlen("python"), &named.major);
	if (!p || *p != '.')
		return false;
	p = number(p + 1, &named.minor);
	if (!p)
		return false;
	/* d: with asserts; m, u: what allocator and strings, up to 3.7 */
	for (; *p && strchr("tdmu", *p); p++) {
		named.free_threaded |= *p == 't';
		named.debug |= *p == 'd';
	}
	named.debug |= starts_with(p, "-dbg");
	/* "python3.11-dbg", "libpython3.11.so.1.0"; not "python3.11x". */
	if (*p && *p != '.' && *p != '-')
		return false;
	*ret = named;
	return true;
}

/* "python", "python3", "libpython3.so": for what is not looked into. */
static bool looks_like_python(const struct elf_facts *facts,
			      const struct mapped_file *file)
{
	const char *name = base_name(file->path ? file->path : "");

	if (starts_with(facts->soname, "libpython") ||
	    starts_with(name, "libpython"))
		return true;
	if (!starts_with(name, "python"))
		return false;
	name += strlen("python");
	return !*name || isdigit((unsigned char)*name);
}

static bool hex_is_release(uint32_t hex)
{
	return (hex & 0xf0) == 0xf0;
}

/* PY_VERSION_HEX in words: 0x030d00c2 is "3.13.0rc2". */
static void version_of_hex(struct runtime *rt, uint32_t hex, bool threaded)
{
	const char *level = "?";
	char serial[8] = "";

	rt->version_hex = hex;
	if (!hex) {
		(void)snprintf(rt->version, sizeof(rt->version), "unknown");
		return;
	}
	switch (hex >> 4 & 0xf) {
	case 0xa:
		level = "a";
		break;
	case 0xb:
		level = "b";
		break;
	case 0xc:
		level = "rc";
		break;
	case 0xf:
		level = "";
		break;
	default:
		break;
	}
	if (!hex_is_release(hex))
		(void)snprintf(serial, sizeof(serial), "%u", hex & 0xf);
	(void)snprintf(rt->version, sizeof(rt->version), "%u.%u.%u%s%s%s",
		       hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff, level,
		       serial, threaded ? "t" : "");
}

/*
 * Up to 3.7 a build with asserts links all objects with each other, by two more
 * pointers in front of each (Py_TRACE_REFS). No row is of those.
 */
static bool has_longer_objects(const struct named *named)
{
	return named->debug && (named->major < 3 || named->minor < 8);
}

static void version_of_name(struct runtime *rt, const struct named *named)
{
	(void)snprintf(rt->version, sizeof(rt->version), "%u.%u%s%s",
		       named->major, named->minor,
		       named->free_threaded ? "t" : "",
		       has_longer_objects(named) ? "d" : "");
}

/* The row for a version that is known in numbers. */
static int row_take(struct runtime *rt, unsigned major, unsigned minor,
		    bool free_threaded)
{
	const struct layout *row = layout_find(major, minor, free_threaded);

	if (!row || !row->runtime.exists)
		return OUT_UNKNOWN;
	/*
	 * From 3.13 the table with the cookie is part of the file's data: where
	 * it cannot be seen, the runtime is not there yet.
	 */
	if (row->frame_kind == FRAME_CURRENT)
		return OUT_NOT_YET;
	rt->layout = *row;
	return OUT_OK;
}

/* By `Py_Version`; OUT_NOT_YET when it does not say (ask for the name then). */
static int layout_by_symbol(struct runtime *rt, const struct mem *mem,
			    uint64_t addr, bool threaded)
{
	uint64_t hex;
	int r = mem_read_u64(mem, addr, &hex);

	if (r == OUT_TORN)
		return OUT_NOT_YET;
	if (r)
		return r;
	if (hex > UINT32_MAX || hex >> 24 < 2 || hex >> 24 > 4)
		return OUT_NOT_YET;
	version_of_hex(rt, (uint32_t)hex, threaded);
	return OUT_OK;
}

static int layout_choose(const struct elf_facts *facts, uint64_t bias,
			 const struct named *named, const struct mem *mem,
			 struct runtime *rt)
{
	uint32_t hex = 0;
	int r;

	r = debugoffsets_read(mem, rt->address, &rt->layout, &hex);
	if (r == OUT_OK || r == OUT_UNKNOWN) {
		version_of_hex(rt, hex,
			       r ? named->free_threaded
				 : rt->layout.free_threaded);
		return r;
	}
	if (r != OUT_NOT_YET)
		return r;
	if (facts->version) {
		r = layout_by_symbol(rt, mem, bias + facts->version,
				     named->free_threaded);
		if (!r && !hex_is_release(rt->version_hex))
			return OUT_UNKNOWN;
		if (!r)
			return row_take(rt, rt->version_hex >> 24,
					rt->version_hex >> 16 & 0xff,
					named->free_threaded);
		if (r != OUT_NOT_YET)
			return r;
	}
	if (!named->major) {
		(void)snprintf(rt->version, sizeof(rt->version), "unknown");
		return OUT_UNKNOWN;
	}
	version_of_name(rt, named);
	if (has_longer_objects(named))
		return OUT_UNKNOWN;
	return row_take(rt, named->major, named->minor, named->free_threaded);
}

/* The first interpreter of the list, 0 when there is none as yet. */
static int first_interp(const struct runtime *rt, const struct mem *mem,
			uint64_t *ret)
{
	uint64_t thread;
	int r;

	if (rt->address)
		return mem_read_u64(
			mem, rt->address + rt->layout.runtime.interp_head, ret);
	*ret = 0;
	r = mem_read_u64(mem, rt->tstate_current, &thread);
	if (r || !thread)
		return r;
	return mem_read_u64(mem, thread + rt->layout.thread.interp, ret);
}

/*
 * A wrong layout, a structure half made, or memory that is something else: all
 * fail here. Only what points back to itself is believed.
 */
static int runtime_check(struct runtime *rt, const struct mem *mem)
{
	const struct layout *layout = &rt->layout;
	uint64_t interp, thread, owner;
	int r;

	r = first_interp(rt, mem, &interp);
	if (r)
		return r;
	if (!interp)
		return OUT_NOT_YET;
	r = mem_read_u64(mem, interp + layout->interp.thread_head, &thread);
	if (r)
		return r;
	if (!thread)
		return OUT_NOT_YET;
	r = mem_read_u64(mem, thread + layout->thread.interp, &owner);
	if (r)
		return r;
	if (owner != interp)
		return OUT_TORN;
	rt->interp_hint = interp;
	if (!rt->address)
		rt->interp_only = interp;
	return OUT_OK;
}

/*
 * What the code of PyInterpreterState_Head loads, by which it also tells where
 * a nameless interp_head is; 0 when it is not as expected. On x86-64:
 *
 *	[endbr64;] mov DISTANCE(%rip), %rax; ret
 */
static int head_by_code(const struct mem *mem, uint64_t at, uint64_t *ret)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t mov[] = { 0x48, 0x8b, 0x05 };
	uint8_t code[8];
	int32_t distance;
	int r = mem_read(mem, at, code, sizeof(endbr64));

	*ret = 0;
	if (!r && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (!r)
		r = mem_read(mem, at, code, sizeof(code));
	if (r == OUT_TORN)
		return OUT_OK;
	if (r || memcmp(code, mov, sizeof(mov)) != 0 || code[7] != 0xc3)
		return r;
	memcpy(&distance, code + sizeof(mov), sizeof(distance));
	/* From the end of the mov, which is 7 bytes long. */
	*ret = at + 7 + (uint64_t)(int64_t)distance;
	return OUT_OK;
}

/* An interpreter up to 3.6. Only names tell its version. */
static int before_runtime(const struct elf_facts *facts, uint64_t bias,
			  const struct named *named, const struct mem *mem,
			  struct runtime *rt)
{
	const struct layout *row;

	if (!named->major) {
		(void)snprintf(rt->version, sizeof(rt->version), "unknown");
		return OUT_UNKNOWN;
	}
	version_of_name(rt, named);
	row = layout_find(named->major, named->minor, named->free_threaded);
	if (!row || row->runtime.exists || has_longer_objects(named))
		return OUT_UNKNOWN;
	rt->layout = *row;
	rt->tstate_current = bias + facts->tstate_current;
	if (facts->interp_head)
		rt->address = bias + facts->interp_head;
	else if (facts->interp_head_function)
		return head_by_code(mem, bias + facts->interp_head_function,
				    &rt->address);
	return OUT_OK;
}

/* A file that has no interpreter which we can read: none at all, or hidden. */
static int without_runtime(const struct elf_facts *facts,
			   const struct named *named, bool by_soname,
			   struct runtime *rt)
{
	if (facts->needs_libpython || !named->major)
		return OUT_NOT_PYTHON;
	/*
	 * An executable may be called python3.11 and only start one; but a
	 * library that says so in its soname is one, whatever it hides.
	 */
	if (!by_soname && named->major >= 3 && named->minor >= 7)
		return OUT_NOT_PYTHON;
	version_of_name(rt, named);
	return OUT_UNKNOWN;
}

/*
 * Linked into a program, and without names: only the texts of the file say that it
 * is an interpreter. Others may have such texts, too: what is found must be one.
 */
static int without_names(const struct elf_facts *facts, uint64_t bias,
			 const struct named *named, const struct mem *mem,
			 struct runtime *rt)
{
	const struct layout *row =
		layout_find(named->major, named->minor, named->free_threaded);
	uint64_t data = bias + facts->data_vaddr;
	int r;

	if (!row || has_longer_objects(named))
		return OUT_NOT_PYTHON;
	if (row->frame_kind == FRAME_CURRENT) {
		r = search_cookie(mem, data, facts->data_size, &rt->address);
		if (!r)
			return layout_choose(facts, bias, named, mem, rt);
	} else {
		version_of_name(rt, named);
		rt->layout = *row;
		r = search_interp(mem, data, facts->data_size, rt);
	}
	return r == OUT_NOT_YET ? OUT_NOT_PYTHON : r;
}

/* Which version it says that it is; *@ret empty when nothing tells. */
static void name_it(const struct elf_facts *facts,
		    const struct mapped_file *file, bool by_soname,
		    struct named *ret)
{
	if (by_soname)
		return;
	(void)named_parse(base_name(file->path ? file->path : ""), ret);
	if (!facts->tag_major ||
	    (ret->major == facts->tag_major && ret->minor == facts->tag_minor))
		return;
	*ret = (struct named){ .major = facts->tag_major,
			       .minor = facts->tag_minor };
}

/* Other implementations, by the names of their programs; NULL: none of them. */
static const char *other_kind(const struct mapped_file *file)
{
	static const struct {
		const char *name, *kind;
	} others[] = { { "pypy", "PyPy" },
		       { "micropython", "MicroPython" },
		       { "graalpy", "GraalPy" } };
	const char *name = base_name(file->path ? file->path : "");

	for (size_t i = 0; file->is_exe && i < 3; i++)
		if (starts_with(name, others[i].name))
			return others[i].kind;
	return NULL;
}

static int refused(struct runtime *ret, const char *what)
{
	(void)snprintf(ret->version, sizeof(ret->version), "%s", what);
	return OUT_UNKNOWN;
}

int probe_locate(const struct elf_facts *facts, const struct mapped_file *file,
		 const struct mem *mem, struct runtime *ret)
{
	uint64_t bias = file->start - file->offset - facts->load_vaddr;
	uint64_t symbol = facts->runtime ? facts->runtime
					 : facts->runtime_section;
	struct runtime rt = { 0 };
	struct named named;
	bool by_soname;
	int r;

	if (facts->other_machine)
		return looks_like_python(facts, file) ? refused(ret, "32-bit")
						      : OUT_NOT_PYTHON;
	if (!facts->is_elf64)
		return OUT_NOT_PYTHON;
	if (facts->is_pypy)
		return refused(ret, "PyPy");
	if (!symbol && other_kind(file))
		return refused(ret, other_kind(file));
	by_soname = named_parse(facts->soname, &named);
	name_it(facts, file, by_soname, &named);
	if (symbol) {
		rt.address = bias + symbol;
		r = layout_choose(facts, bias, &named, mem, &rt);
	} else if (facts->tstate_current && !facts->needs_libpython) {
		r = before_runtime(facts, bias, &named, mem, &rt);
	} else if (facts->tag_major && !facts->needs_libpython) {
		r = without_names(facts, bias, &named, mem, &rt);
	} else {
		r = without_runtime(facts, &named, by_soname, &rt);
	}
	if (!r)
		r = runtime_check(&rt, mem);
	if (r == OUT_UNKNOWN)
		memcpy(ret->version, rt.version, sizeof(ret->version));
	if (!r)
		*ret = rt;
	return r;
}
