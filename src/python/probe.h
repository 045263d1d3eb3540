/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_PROBE_H
#define PYTHON_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "python/layout.h"

/*
 * Is there a CPython in this process, which one, and where?
 *
 * Two questions, so that no file is read without need:
 *  1. probe_rank: from the mappings alone, which files may hold the interpreter;
 *  2. probe_locate: with what an ELF reader found in one of these files, is it
 *     an interpreter, and is it up?
 */

/* One file mapped into the process: all of its mappings together. */
struct mapped_file {
	uint64_t start;   /* of its first mapping */
	uint64_t end;     /* of that first mapping */
	uint64_t offset;  /* in the file, of that first mapping */
	bool is_exe;      /* the process's own executable */
	const char *path; /* as maps gives it, without " (deleted)"; unescaped */
};

/*
 * How likely the interpreter is in this file: higher is likelier, 0 not at all.
 * The executable always ranks, whatever its name; then libpython*.so*, then
 * other files with "python" in the last part of their names that are not
 * extension modules, and libpypy*, so that it can be refused by its name. The
 * executable comes first because a libpython that is loaded beside a static
 * interpreter has a _PyRuntime that nobody uses.
 */
unsigned probe_rank(const struct mapped_file *file);

/* What an ELF reader found in a file. Values are as in the file; 0: absent. */
struct elf_facts {
	bool is_elf64;
	bool other_machine; /* 32 bits, or another processor */
	uint64_t load_vaddr; /* p_vaddr of the first PT_LOAD, rounded down to its p_align */
	uint64_t runtime;         /* symbol _PyRuntime */
	uint64_t runtime_section; /* address of section .PyRuntime */
	uint64_t version;         /* symbol Py_Version */
	uint64_t interp_head;     /* symbol interp_head, local; up to 3.6 */
	uint64_t interp_head_function; /* symbol PyInterpreterState_Head */
	uint64_t tstate_current; /* symbol _PyThreadState_Current; up to 3.6 */
	uint64_t data_vaddr,
		data_size; /* its writable segment, .bss included */
	uint8_t tag_major,
		tag_minor;    /* by its texts, see search.h; 0: they do not
					* tell, or were not asked */
	bool needs_libpython; /* DT_NEEDED names a libpython */
	bool is_pypy;         /* exports PyPy_* or pypy_* symbols */
	char soname[64];      /* "" without one */
};

/*
 * A located interpreter. Plain data: a forked child's is the same.
 *
 * Up to 3.6 there is no _PyRuntime. The list of interpreters begins at a static
 * variable of the name interp_head, which then is what @address tells
 * (layout.runtime.interp_head is 0). A stripped file has lost that name, but a
 * function that it exports, PyInterpreterState_Head, does nothing but load it:
 * on x86-64 the address is read from its code. Where that is not as it should
 * be, there is still _PyThreadState_Current, the thread that has the GIL:
 * @address is 0, and the list is that thread's interpreter, @interp_only, and
 * those made before it.
 */
struct runtime {
	struct layout layout;
	uint64_t address; /* of _PyRuntime; of interp_head up to 3.6; or 0 */
	uint64_t interp_only;    /* an interpreter; 0 unless address is */
	uint64_t tstate_current; /* of _PyThreadState_Current, up to 3.6; else 0 */
	uint64_t interp_hint; /* interpreter that was first in the list: spares
				* runtime_mark a call while it is; never trusted */
	uint16_t tid_offset; /* of the kernel's tid in a pthread structure; 0: as
				* glibc has it. See runtime_find_tid */
	uint32_t version_hex; /* PY_VERSION_HEX where the target tells it, else 0 */
	char version[24];     /* "3.11.7", "3.9", "3.13.5t" for a person; with
				* OUT_UNKNOWN also "PyPy", "32-bit", "unknown" */
};

/*
 * Look at one file of a process.
 *
 * @facts  what is in the file
 * @mem    reads the process; it may run meanwhile
 * @ret    set on 0; its version text also on OUT_UNKNOWN
 *
 * Returns 0; OUT_NOT_PYTHON when the file holds no interpreter; OUT_UNKNOWN for
 * an interpreter without a layout (PyPy too); OUT_NOT_YET when it is not
 * initialised, or its first thread is not, or when it is to be found by the thread
 * that has the GIL and none has; else what reading came to.
 * The version comes from the debug offsets, `Py_Version`, the soname, the file's
 * texts or the file's name, in this order; never from a guess. Where the file has
 * no symbols, and its texts are those of an interpreter, its data is searched. A layout is believed only when
 * the first interpreter and its first thread point to each other as they should;
 * OUT_TORN when they do not (it changed just now, or is no such interpreter).
 */
int probe_locate(const struct elf_facts *facts, const struct mapped_file *file,
		 const struct mem *mem, struct runtime *ret);

#endif
