/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where things are in the memory of one version of CPython. A row of a table
 * (layout_table.h, written by a script from the interpreters' own debugging
 * information, none typed by hand), or, from 3.13, what `_Py_DebugOffsets` in
 * the target says, completed by the row of that minor version.
 *
 * An offset that the version does not have is LAYOUT_NONE.
 */
#define LAYOUT_NONE UINT16_MAX

/*
 * No row and no target's table goes beyond these, so that a reader may have
 * arrays of them on its stack: layout.frame.size, layout.code.size, the end of
 * each field of a thread state, and the headers of strings, bytes and types.
 */
#define LAYOUT_MAX_FRAME 256u
#define LAYOUT_MAX_CODE 512u
#define LAYOUT_MAX_THREAD 1024u
#define LAYOUT_MAX_OBJECT 256u

/* How the version links its frames. */
enum frame_kind {
	FRAME_OBJECT, /* up to 3.10: PyFrameObject on the heap, f_back, f_lasti */
	FRAME_CFRAME,  /* 3.11, 3.12: the thread's cframe points to the leaf */
	FRAME_CURRENT, /* from 3.13: the thread points to the leaf */
};

/* How a line is found from an instruction. */
enum lines_kind {
	LINES_LNOTAB,          /* pairs, signed line: 3.6 to 3.9 */
	LINES_LINETABLE,       /* 3.10 */
	LINES_LOCATIONS,       /* from 3.11 */
	LINES_LNOTAB_UNSIGNED, /* pairs, lines go on only: 2.7 */
};

/* What is behind a dictionary. */
enum dict_kind {
	DICT_UNKNOWN, /* not known: no dictionary can be read */
	DICT_TABLE,   /* 2.7: a table of entries with hash, key, value */
	DICT_SIZE,    /* 3.6 to 3.10: keys, their number of places as it is */
	DICT_LOG2,    /* from 3.11: as a power of two; entries of two kinds */
};

/* Where the attributes of an object are that has a dictionary. */
enum attrs_kind {
	ATTRS_DICT,     /* up to 3.10: in the dictionary at tp_dictoffset */
	ATTRS_POINTERS, /* 3.11: values or dictionary, before the object */
	ATTRS_TAGGED,   /* 3.12: one pointer; to values, if it is odd */
	ATTRS_INLINE, /* from 3.13: dictionary, else values behind the object */
};

struct layout {
	uint8_t major, minor;
	bool free_threaded;
	enum frame_kind frame_kind;
	enum lines_kind lines_kind;

	struct {
		bool exists; /* _PyRuntime: from 3.7; see struct runtime */
		uint32_t interp_head; /* PyInterpreterState * */
		uint32_t tstate_current; /* 3.8 to 3.11: gilstate; else LAYOUT_NONE */
	} runtime;
	struct {
		uint32_t next, thread_head;
		uint32_t id;      /* 3.7+ */
		uint32_t gil;     /* 3.12+: pointer to the interpreter's GIL */
		uint32_t modules; /* PyObject *: sys.modules */
		uint32_t next_thread_id; /* u64 that counts threads ever made: 3.7+ */
	} interp;
	struct {
		uint16_t last_holder, locked; /* in the GIL (3.12+) */
	} gil;
	struct {
		uint16_t next, interp;
		uint16_t frame;   /* leaf, or cframe for FRAME_CFRAME */
		uint16_t c_stack; /* points to where it evaluates: 3.10 to 3.12 */
		uint16_t base_frame; /* 3.15: the sentinel below every stack */
		uint16_t thread_id;  /* pthread_t */
		uint16_t native_id;  /* kernel tid, 3.11+ */
		uint16_t datastack_chunk; /* 3.11+ */
	} thread;
	struct {
		uint16_t current;  /* cframe.current_frame */
		uint16_t previous; /* the one of the evaluation below */
	} cframe;
	/* A chunk of the thread's data stack, where frames lie one by one: 3.11+ */
	struct {
		uint16_t previous; /* pointer to the older chunk */
		uint16_t size; /* u64: bytes of this chunk, header included */
		uint16_t top;  /* u64: slots used, not kept for the newest */
		uint16_t data; /* the first frame's place */
	} chunk;
	struct {
		uint16_t previous; /* f_back in FRAME_OBJECT */
		uint16_t code;     /* f_code, or f_executable */
		uint16_t instr; /* f_lasti (int), prev_instr or instr_ptr (pointer) */
		uint16_t owner;      /* char, 3.11+ */
		uint16_t is_entry;   /* bool, 3.11: entered from C */
		uint16_t tlbc_index; /* int32, free-threaded 3.14+ */
		uint16_t size;       /* bytes that hold all of the above */
	} frame;
	/* Owners whose frames are no Python code (0 in bit n: owner n is Python). */
	uint8_t owner_skip;  /* bit set: a shim, has no code worth showing */
	uint8_t owner_limit; /* owners are below it; anything else is torn */
	uint64_t tag_mask;   /* cleared in a code reference: 0, 1 or 3 */
	uint8_t instr_scale; /* f_lasti unit in bytes: 2 in 3.10, 1 before */
	struct {
		uint16_t filename, name;
		uint16_t qualname; /* 3.11+ */
		uint16_t firstlineno, linetable;
		uint16_t code; /* co_code, the bytes object of the bytecode: up to 3.10 */
		uint16_t bytecode; /* co_code_adaptive, inline, 3.11+ */
		uint16_t tlbc;     /* co_tlbc, free-threaded 3.14+ */
		uint16_t size; /* bytes that hold all of the above but bytecode */
	} code;
	/* What co_tlbc points to: a thread's own bytecode is entries[tlbc_index]. */
	struct {
		uint16_t n;       /* i64: how many entries */
		uint16_t entries; /* the array itself, of pointers */
	} tlbc;
	struct {
		uint16_t type; /* ob_type */
		uint16_t bytes_size, bytes_data;
		uint16_t type_name; /* tp_name: char * */
	} object;
	struct {
		bool is_bytes; /* 2.7: bytes, at ascii_data, and nothing else */
		uint16_t length, hash, state;
		uint16_t ascii_data;   /* of a compact ASCII string */
		uint16_t compact_data; /* of a compact string that is not ASCII */
		uint16_t legacy_data; /* pointer, where not compact */
		/* Bits of the u32 state. */
		uint8_t kind_shift, compact_shift, ascii_shift;
	} str;
	struct {
		enum dict_kind kind;
		uint16_t keys;   /* ma_keys; ma_table in 2.7 */
		uint16_t values; /* ma_values: 3.6+ */
		uint16_t mask;   /* ma_mask, places - 1: 2.7 */
		/* In the keys. */
		uint16_t size;        /* dk_size, u64; or dk_log2_size, u8 */
		uint16_t index_bytes; /* dk_log2_index_bytes, u8: 3.11+ */
		uint16_t entry_kind;  /* dk_kind, u8: 3.11+ */
		uint16_t n;           /* dk_nentries, u64 */
		uint16_t indices;     /* after these come the entries */
		uint16_t values_data; /* in what ma_values points to */
	} dict;
	struct {
		enum attrs_kind kind;
		uint16_t flags, basicsize, dictoffset, keys; /* of a type */
		uint16_t module_dict;
	} attrs;
};

/* The row of a version, or NULL: unknown. Never a neighbour's. */
const struct layout *layout_find(unsigned major, unsigned minor,
				 bool free_threaded);

/* For the message on an unknown version: "2.7 and 3.6 to 3.15". */
const char *layout_known(void);

#endif
