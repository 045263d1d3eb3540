/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table says where fields are, not what they mean, and not all that we need:
 * a row of layout_table.h is the start, and each entry that both have replaces
 * the row's. The table grows between minor versions, so where the entries are is
 * itself a table (debugoffsets_table.h, one shape a minor version).
 *
 * Its words are the target's, so each is checked before it is believed: the field
 * lies in its structure, whose size the table gives too, and in what the readers
 * have room for. Sizes are limits here and never tested for equality: structures
 * grow at their ends within a minor version (`_ts` between 3.13.0 and 3.13.18).
 */
#include "python/debugoffsets.h"

#include <string.h>

#include "base/outcome.h"

#define TABLE_MAX 1024
#define INTERP_MAX (1u << 28) /* an interpreter or a runtime; 0.4 MB in 3.15t */
#define HEX_RELEASE 0xf0u     /* level of PY_VERSION_HEX: final */

/* Where the entries are in the table, by the names that CPython gives them. */
struct shape {
	uint8_t minor;
	uint16_t bytes; /* of the whole table */
	struct {
		uint16_t size, interpreters_head;
	} runtime_state;
	struct {
		uint16_t size, id, next, threads_head, ceval_gil;
		uint16_t imports_modules;
		uint16_t gil_runtime_state;
		uint16_t gil_runtime_state_locked, gil_runtime_state_holder;
	} interpreter_state;
	struct {
		uint16_t size, next, interp, current_frame, base_frame;
		uint16_t thread_id, native_thread_id, datastack_chunk;
	} thread_state;
	struct {
		uint16_t size, previous, executable, instr_ptr, owner;
		uint16_t tlbc_index;
	} interpreter_frame;
	struct {
		uint16_t size, filename, name, qualname, linetable, firstlineno;
		uint16_t co_code_adaptive, co_tlbc;
	} code_object;
	struct {
		uint16_t size, ob_type;
	} pyobject;
	struct {
		uint16_t size, tp_name;
	} type_object;
	struct {
		uint16_t size, ob_size, ob_sval;
	} bytes_object;
	struct {
		uint16_t size, state, length;
		uint16_t asciiobject_size, compactunicodeobject_size;
	} unicode_object;
};

#include "python/debugoffsets_table.h"

/* One entry of the table, and the member of a layout that it replaces. */
struct entry {
	size_t value; /* in struct shape */
	size_t size;  /* in struct shape: the size of the structure it is in */
	uint32_t width; /* bytes of the field that the entry is about */
	uint32_t limit; /* the field must end here */
	size_t member;  /* in struct layout */
	size_t bytes;   /* of that member */
};

#define ENTRY(group, name, w, most, to)                                   \
	{                                                                 \
		.value = offsetof(struct shape, group.name),              \
		.size = offsetof(struct shape, group.size), .width = (w), \
		.limit = (most), .member = offsetof(struct layout, to),   \
		.bytes = sizeof(((struct layout *)NULL)->to),             \
	}

/* clang-format off */
static const struct entry entries[] = {
	ENTRY(runtime_state, interpreters_head, 8, INTERP_MAX, runtime.interp_head),
	ENTRY(interpreter_state, id, 8, INTERP_MAX, interp.id),
	ENTRY(interpreter_state, next, 8, INTERP_MAX, interp.next),
	ENTRY(interpreter_state, threads_head, 8, INTERP_MAX, interp.thread_head),
	ENTRY(interpreter_state, ceval_gil, 8, INTERP_MAX, interp.gil),
	ENTRY(interpreter_state, imports_modules, 8, INTERP_MAX, interp.modules),
	ENTRY(thread_state, next, 8, LAYOUT_MAX_THREAD, thread.next),
	ENTRY(thread_state, interp, 8, LAYOUT_MAX_THREAD, thread.interp),
	ENTRY(thread_state, current_frame, 8, LAYOUT_MAX_THREAD, thread.frame),
	ENTRY(thread_state, base_frame, 8, LAYOUT_MAX_THREAD, thread.base_frame),
	ENTRY(thread_state, thread_id, 8, LAYOUT_MAX_THREAD, thread.thread_id),
	ENTRY(thread_state, native_thread_id, 8, LAYOUT_MAX_THREAD, thread.native_id),
	ENTRY(thread_state, datastack_chunk, 8, LAYOUT_MAX_THREAD, thread.datastack_chunk),
	ENTRY(interpreter_frame, previous, 8, LAYOUT_MAX_FRAME, frame.previous),
	ENTRY(interpreter_frame, executable, 8, LAYOUT_MAX_FRAME, frame.code),
	ENTRY(interpreter_frame, instr_ptr, 8, LAYOUT_MAX_FRAME, frame.instr),
	ENTRY(interpreter_frame, owner, 1, LAYOUT_MAX_FRAME, frame.owner),
	ENTRY(interpreter_frame, tlbc_index, 4, LAYOUT_MAX_FRAME, frame.tlbc_index),
	ENTRY(code_object, filename, 8, LAYOUT_MAX_CODE, code.filename),
	ENTRY(code_object, name, 8, LAYOUT_MAX_CODE, code.name),
	ENTRY(code_object, qualname, 8, LAYOUT_MAX_CODE, code.qualname),
	ENTRY(code_object, linetable, 8, LAYOUT_MAX_CODE, code.linetable),
	ENTRY(code_object, firstlineno, 4, LAYOUT_MAX_CODE, code.firstlineno),
	ENTRY(code_object, co_code_adaptive, 1, LAYOUT_MAX_CODE, code.bytecode),
	ENTRY(code_object, co_tlbc, 8, LAYOUT_MAX_CODE, code.tlbc),
	ENTRY(pyobject, ob_type, 8, LAYOUT_MAX_OBJECT, object.type),
	ENTRY(type_object, tp_name, 8, LAYOUT_MAX_OBJECT, object.type_name),
	ENTRY(bytes_object, ob_size, 8, LAYOUT_MAX_OBJECT, object.bytes_size),
	ENTRY(bytes_object, ob_sval, 1, LAYOUT_MAX_OBJECT, object.bytes_data),
	ENTRY(unicode_object, state, 4, LAYOUT_MAX_OBJECT, str.state),
	ENTRY(unicode_object, length, 8, LAYOUT_MAX_OBJECT, str.length),
	ENTRY(unicode_object, asciiobject_size, 0, LAYOUT_MAX_OBJECT, str.ascii_data),
	ENTRY(unicode_object, compactunicodeobject_size, 0, LAYOUT_MAX_OBJECT, str.compact_data),
};
/* clang-format on */

static const struct shape *shape_find(unsigned minor)
{
	const size_t n = sizeof(shapes) / sizeof(*shapes);

	for (size_t i = 0; i < n; i++) {
		if (shapes[i].minor == minor)
			return &shapes[i];
	}
	return NULL;
}

/* Where @shape has the entry that is at @field of a struct shape; 0: nowhere. */
static uint16_t shape_at(const struct shape *shape, size_t field)
{
	uint16_t at;

	memcpy(&at, (const uint8_t *)shape + field, sizeof(at));
	return at;
}

static uint64_t table_u64(const uint8_t *table, uint16_t at)
{
	uint64_t value;

	memcpy(&value, table + at, sizeof(value));
	return value;
}

/* Members are of 16 or 32 bits; LAYOUT_NONE is the same number in both. */
static uint32_t member_get(const struct layout *layout, const struct entry *e)
{
	uint16_t narrow;
	uint32_t wide;

	if (e->bytes == sizeof(wide)) {
		memcpy(&wide, (const uint8_t *)layout + e->member,
		       sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (const uint8_t *)layout + e->member, sizeof(narrow));
	return narrow;
}

static void member_set(struct layout *layout, const struct entry *e,
		       uint32_t value)
{
	uint16_t narrow = (uint16_t)value;

	if (e->bytes == sizeof(value))
		memcpy((uint8_t *)layout + e->member, &value, sizeof(value));
	else
		memcpy((uint8_t *)layout + e->member, &narrow, sizeof(narrow));
}

/* Does a field of @width bytes at @at end within @size and @limit? */
static bool field_fits(uint64_t at, uint64_t width, uint64_t size,
		       uint64_t limit)
{
	uint64_t most = size < limit ? size : limit;

	return width <= most && at <= most - width;
}

static int entry_take(struct layout *layout, const struct entry *e,
		      const struct shape *shape, const uint8_t *table)
{
	uint16_t at = shape_at(shape, e->value);
	uint64_t value, size;

	/* The GIL builds' tables have 0 for what free-threaded ones have. */
	if (!at || member_get(layout, e) == LAYOUT_NONE)
		return OUT_OK;
	value = table_u64(table, at);
	size = table_u64(table, shape_at(shape, e->size));
	if (!field_fits(value, e->width, size, e->limit))
		return OUT_UNKNOWN;
	/* An offset that is the number for "none" would read as none. */
	if (value == LAYOUT_NONE)
		return OUT_UNKNOWN;
	member_set(layout, e, (uint32_t)value);
	return OUT_OK;
}

/* The GIL's fields, which the table counts from the interpreter's start. */
static int gil_take(struct layout *layout, const struct shape *shape,
		    const uint8_t *table)
{
	uint64_t size = table_u64(table, shape->interpreter_state.size);
	uint64_t gil =
		table_u64(table, shape->interpreter_state.gil_runtime_state);
	uint64_t holder = table_u64(
		table, shape->interpreter_state.gil_runtime_state_holder);
	uint64_t locked = table_u64(
		table, shape->interpreter_state.gil_runtime_state_locked);

	/* A field in front of the GIL is a distance that wraps: too far. */
	if (!field_fits(holder, 8, size, INTERP_MAX) ||
	    !field_fits(locked, 4, size, INTERP_MAX) ||
	    !field_fits(holder - gil, 8, LAYOUT_MAX_OBJECT,
			LAYOUT_MAX_OBJECT) ||
	    !field_fits(locked - gil, 4, LAYOUT_MAX_OBJECT, LAYOUT_MAX_OBJECT))
		return OUT_UNKNOWN;
	layout->gil.last_holder = (uint16_t)(holder - gil);
	layout->gil.locked = (uint16_t)(locked - gil);
	return OUT_OK;
}

static uint16_t end_of(uint16_t size, uint16_t at, uint16_t width)
{
	if (at == LAYOUT_NONE || at + width <= size)
		return size;
	return (uint16_t)(at + width);
}

/* What follows from the entries, and from how far they moved off the row. */
static int derive(struct layout *to, const struct layout *row,
		  const struct shape *shape)
{
	uint32_t count = row->interp.next_thread_id - row->interp.thread_head +
			 to->interp.thread_head;
	int compact = to->str.compact_data;
	int legacy;

	/* Before 3.15 the table has the ASCII header only; the others begin so. */
	if (!shape->unicode_object.compactunicodeobject_size)
		compact += to->str.ascii_data - row->str.ascii_data;
	legacy = row->str.legacy_data + compact - row->str.compact_data;
	if (count > INTERP_MAX || compact < 0 || legacy < 0 ||
	    compact > (int)LAYOUT_MAX_OBJECT ||
	    legacy > (int)LAYOUT_MAX_OBJECT - 8)
		return OUT_UNKNOWN;
	to->interp.next_thread_id = count;
	to->str.compact_data = (uint16_t)compact;
	to->str.legacy_data = (uint16_t)legacy;

	to->frame.size = end_of(0, to->frame.previous, 8);
	to->frame.size = end_of(to->frame.size, to->frame.code, 8);
	to->frame.size = end_of(to->frame.size, to->frame.instr, 8);
	to->frame.size = end_of(to->frame.size, to->frame.owner, 1);
	to->frame.size = end_of(to->frame.size, to->frame.tlbc_index, 4);

	to->code.size = end_of(0, to->code.filename, 8);
	to->code.size = end_of(to->code.size, to->code.name, 8);
	to->code.size = end_of(to->code.size, to->code.qualname, 8);
	to->code.size = end_of(to->code.size, to->code.linetable, 8);
	to->code.size = end_of(to->code.size, to->code.firstlineno, 4);
	to->code.size = end_of(to->code.size, to->code.tlbc, 8);
	return OUT_OK;
}

static int table_take(struct layout *to, const struct layout *row,
		      const struct shape *shape, const uint8_t *table)
{
	int r = OUT_OK;

	*to = *row;
	for (size_t i = 0; !r && i < sizeof(entries) / sizeof(*entries); i++)
		r = entry_take(to, &entries[i], shape, table);
	if (!r)
		r = gil_take(to, shape, table);
	if (!r)
		r = derive(to, row, shape);
	return r;
}

int debugoffsets_read(const struct mem *mem, uint64_t runtime,
		      struct layout *ret, uint32_t *ret_version)
{
	struct {
		char cookie[8];
		uint64_t version, free_threaded;
	} head;
	uint8_t table[TABLE_MAX];
	const struct layout *row = NULL;
	const struct shape *shape;
	struct layout layout;
	uint32_t hex;
	int r;

	r = mem_read(mem, runtime, &head, sizeof(head));
	if (r)
		return r;
	if (memcmp(head.cookie, DEBUGOFFSETS_COOKIE, sizeof(head.cookie)) != 0)
		return OUT_NOT_YET;
	hex = head.version > UINT32_MAX ? 0 : (uint32_t)head.version;
	shape = shape_find(hex >> 16 & 0xff);
	if (shape)
		row = layout_find(hex >> 24, shape->minor,
				  head.free_threaded != 0);
	if (!row || (hex & 0xf0) != HEX_RELEASE || shape->bytes > TABLE_MAX) {
		*ret_version = hex;
		return OUT_UNKNOWN;
	}
	r = mem_read(mem, runtime, table, shape->bytes);
	if (r)
		return r;
	r = table_take(&layout, row, shape, table);
	*ret_version = hex;
	if (r)
		return r;
	*ret = layout;
	return OUT_OK;
}
