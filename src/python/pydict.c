/* SPDX-License-Identifier: Apache-2.0 */
#include "python/pydict.h"

#include <string.h>

#include "base/outcome.h"

/* Entries that are looked at together. */
#define SLICE 64

/* Bytes of an entry, and of a string's head with a key behind it, at most. */
#define ENTRY_MAX 24
#define HEAD_MAX 96

/* Bytes of the keys' own head, at most. */
#define KEYS_MAX 64

/* What an object may have of bytes, and of other things before its attributes. */
#define OBJECT_MAX 65536

/* Of tp_flags. */
#define HAS_INLINE_VALUES (1u << 2)
#define HAS_MANAGED_DICT (1u << 4)

/* The entries of a dictionary: @n of @width bytes each. */
struct table {
	uint64_t at;
	uint64_t n;
	uint64_t values; /* an array of them; 0: they are in the entries */
	unsigned width;  /* 24: hash, key, value; 16: key, value */
	unsigned key;    /* where the key is in an entry; behind it the value */
};

/* What is looked for. */
struct wanted {
	const char *text; /* NULL: a number, by its hash */
	size_t len;
	uint64_t number;
	uint64_t key, value; /* what was found */
};

static uint64_t get_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

int pydict_is_a(const struct mem *mem, const struct layout *layout,
		uint64_t object, const char *name)
{
	char text[32];
	size_t len = strlen(name) + 1;
	uint64_t type, at;
	int r;

	if (!object || object % 8 || len > sizeof(text))
		return OUT_TORN;
	r = mem_read_u64(mem, object + layout->object.type, &type);
	if (r == 0)
		r = mem_read_u64(mem, type + layout->object.type_name, &at);
	if (r == 0)
		r = mem_read(mem, at, text, len);
	return r == 0 && memcmp(text, name, len) != 0 ? OUT_TORN : r;
}

/* 2.7: places that are in use, and others. */
static int open_table(const struct mem *mem, const struct layout *layout,
		      uint64_t dict, struct table *t)
{
	uint64_t mask;
	int r = mem_read_u64(mem, dict + layout->dict.mask, &mask);

	if (r == 0)
		r = mem_read_u64(mem, dict + layout->dict.keys, &t->at);
	if (r)
		return r;
	if (mask >= PYDICT_MAX)
		return OUT_UNKNOWN;
	t->n = mask + 1;
	t->width = 24;
	t->key = 8;
	return 0;
}

/* How many bytes of indices are between the head of the keys and the entries. */
static int index_bytes(const struct layout *layout, const uint8_t *head,
		       uint64_t *ret)
{
	uint64_t size;

	if (layout->dict.kind == DICT_LOG2) {
		uint8_t log2 = head[layout->dict.index_bytes];

		if (log2 > 40)
			return OUT_TORN;
		*ret = (uint64_t)1 << log2;
		return 0;
	}
	size = get_u64(head + layout->dict.size);
	if (!size || (size & (size - 1)) || size > UINT32_MAX)
		return OUT_TORN;
	*ret = size <= 0xff ? size : size <= 0xffff ? 2 * size : 4 * size;
	return 0;
}

static int open_keys(const struct mem *mem, const struct layout *layout,
		     uint64_t keys, struct table *t)
{
	uint8_t head[KEYS_MAX];
	uint64_t indices;
	int r;

	if (layout->dict.indices > sizeof(head) || !keys || keys % 8)
		return OUT_TORN;
	r = mem_read(mem, keys, head, layout->dict.indices);
	if (r == 0)
		r = index_bytes(layout, head, &indices);
	if (r)
		return r;
	t->n = get_u64(head + layout->dict.n);
	t->at = keys + layout->dict.indices + indices;
	t->width = 24;
	t->key = 8;
	if (layout->dict.kind == DICT_LOG2 && head[layout->dict.entry_kind]) {
		t->width = 16;
		t->key = 0;
	}
	return t->n > PYDICT_MAX ? OUT_UNKNOWN : 0;
}

static int open_dict(const struct mem *mem, const struct layout *layout,
		     uint64_t dict, struct table *t)
{
	uint64_t keys, values;
	int r;

	if (layout->dict.kind == DICT_UNKNOWN)
		return OUT_UNKNOWN;
	r = pydict_is_a(mem, layout, dict, "dict");
	if (r)
		return r;
	if (layout->dict.kind == DICT_TABLE)
		return open_table(mem, layout, dict, t);
	r = mem_read_u64(mem, dict + layout->dict.keys, &keys);
	if (r == 0)
		r = mem_read_u64(mem, dict + layout->dict.values, &values);
	if (r == 0)
		r = open_keys(mem, layout, keys, t);
	if (r == 0 && values)
		t->values = values + layout->dict.values_data;
	return r;
}

/* Is this the head of a string that is the text? */
static bool is_text(const struct layout *layout, const uint8_t *head,
		    const struct wanted *w)
{
	uint32_t state, compact_ascii = 1u << layout->str.compact_shift |
					1u << layout->str.ascii_shift;

	if (get_u64(head + layout->str.length) != w->len)
		return false;
	if (!layout->str.is_bytes) {
		memcpy(&state, head + layout->str.state, sizeof(state));
		if ((state & compact_ascii) != compact_ascii)
			return false;
	}
	return !memcmp(head + layout->str.ascii_data, w->text, w->len);
}

/* Which of @n entries has the text for its key? *@ret is @n when none has. */
static int match_text(const struct mem *mem, const struct layout *layout,
		      const struct table *t, const uint8_t *entries, size_t n,
		      const struct wanted *w, size_t *ret)
{
	uint8_t heads[SLICE][HEAD_MAX];
	struct mem_range ranges[SLICE];
	size_t len = layout->str.ascii_data + w->len, i;
	int r;

	if (len > HEAD_MAX || layout->str.length + 8u > len ||
	    (!layout->str.is_bytes && layout->str.state + 4u > len))
		return OUT_UNKNOWN;
	for (i = 0; i < n; i++)
		ranges[i] = (struct mem_range){
			.addr = get_u64(entries + i * t->width + t->key),
			.buf = heads[i],
			.len = len,
		};
	r = mem->readv(mem->ctx, ranges, n);
	/* Where there is no key, nothing comes. */
	if (r != 0 && r != OUT_TORN)
		return r;
	for (i = 0; i < n; i++)
		if (ranges[i].got == len && is_text(layout, heads[i], w))
			break;
	*ret = i;
	return 0;
}

static int match_number(const struct table *t, const uint8_t *entries, size_t n,
			const struct wanted *w, size_t *ret)
{
	size_t i;

	/* All keys of such a dictionary are texts. */
	if (t->width != ENTRY_MAX)
		return OUT_UNKNOWN;
	for (i = 0; i < n; i++)
		if (get_u64(entries + i * t->width) == w->number &&
		    (t->values || get_u64(entries + i * t->width + 16)))
			break;
	*ret = i;
	return 0;
}

/* Returns 0 with the key and the value in @w, of which the value is not 0. */
static int find(const struct mem *mem, const struct layout *layout,
		const struct table *t, struct wanted *w)
{
	uint8_t entries[SLICE * ENTRY_MAX];
	size_t n, i;
	int r;

	for (uint64_t done = 0; done < t->n; done += n) {
		n = t->n - done < SLICE ? (size_t)(t->n - done) : SLICE;
		r = mem_read(mem, t->at + done * t->width, entries,
			     n * t->width);
		if (r == 0)
			r = w->text ? match_text(mem, layout, t, entries, n, w,
						 &i)
				    : match_number(t, entries, n, w, &i);
		if (r)
			return r;
		if (i == n)
			continue;
		w->key = get_u64(entries + i * t->width + t->key);
		w->value = get_u64(entries + i * t->width + t->key + 8);
		if (t->values)
			r = mem_read_u64(mem, t->values + 8 * (done + i),
					 &w->value);
		return r == 0 && !w->value ? OUT_UNKNOWN : r;
	}
	return OUT_UNKNOWN;
}

static int find_text(const struct mem *mem, const struct layout *layout,
		     const struct table *t, const char *key,
		     uint64_t *ret_value)
{
	struct wanted w = { .text = key, .len = strlen(key) };
	int r = w.len > PYDICT_KEY_MAX ? OUT_UNKNOWN : find(mem, layout, t, &w);

	if (r == 0)
		*ret_value = w.value;
	return r;
}

int pydict_find_text(const struct mem *mem, const struct layout *layout,
		     uint64_t dict, const char *key, uint64_t *ret_value)
{
	struct table t = { 0 };
	int r = open_dict(mem, layout, dict, &t);

	return r ? r : find_text(mem, layout, &t, key, ret_value);
}

int pydict_find_number(const struct mem *mem, const struct layout *layout,
		       uint64_t dict, uint64_t number, uint64_t *ret_key,
		       uint64_t *ret_value)
{
	struct wanted w = { .number = number };
	struct table t = { 0 };
	int r = open_dict(mem, layout, dict, &t);

	if (r == 0)
		r = find(mem, layout, &t, &w);
	if (r)
		return r;
	*ret_key = w.key;
	*ret_value = w.value;
	return 0;
}

/*
 * Where an object has its attributes: a dictionary, or values in the order of its
 * type's keys. Both 0: it has none.
 */
struct attrs {
	uint64_t dict, values;
};

/* Wherever the type says: up to 3.10, and where a type of C says so. */
static int attrs_at_offset(const struct mem *mem, const struct layout *layout,
			   uint64_t object, uint64_t type, struct attrs *ret)
{
	uint64_t offset;
	int r = mem_read_u64(mem, type + layout->attrs.dictoffset, &offset);

	if (r)
		return r;
	/* Negative in types of objects that vary in size: none of ours. */
	if (!offset || offset > OBJECT_MAX || offset % 8)
		return OUT_UNKNOWN;
	return mem_read_u64(mem, object + offset, &ret->dict);
}

/*
 * From 3.11 the interpreter keeps them before the object, with the words of the
 * garbage collector, of which a free-threaded build has none; from 3.13 the values
 * are behind it.
 */
static int attrs_managed(const struct mem *mem, const struct layout *layout,
			 uint64_t object, uint64_t type, uint64_t flags,
			 struct attrs *ret)
{
	uint64_t before = layout->free_threaded ? 8 : 24, size;
	int r = mem_read_u64(mem, object - before, &ret->dict);

	if (r)
		return r;
	if (layout->attrs.kind == ATTRS_POINTERS)
		return mem_read_u64(mem, object - 32, &ret->values);
	if (layout->attrs.kind == ATTRS_TAGGED) {
		if (ret->dict % 2)
			ret->values = ret->dict + 1;
		return 0;
	}
	if (ret->dict || !(flags & HAS_INLINE_VALUES))
		return 0;
	r = mem_read_u64(mem, type + layout->attrs.basicsize, &size);
	if (r == 0 && (!size || size > OBJECT_MAX || size % 8))
		r = OUT_TORN;
	if (r == 0)
		ret->values = object + size;
	return r;
}

int pydict_attr(const struct mem *mem, const struct layout *layout,
		uint64_t object, const char *name, uint64_t *ret_value)
{
	struct attrs attrs = { 0 };
	struct table t = { 0 };
	uint64_t type, flags, keys;
	int r;

	if (layout->dict.kind == DICT_UNKNOWN)
		return OUT_UNKNOWN;
	if (object < 64 || object % 8)
		return OUT_TORN;
	r = mem_read_u64(mem, object + layout->object.type, &type);
	if (r == 0)
		r = mem_read_u64(mem, type + layout->attrs.flags, &flags);
	if (r)
		return r;
	if (layout->attrs.kind == ATTRS_DICT || !(flags & HAS_MANAGED_DICT))
		r = attrs_at_offset(mem, layout, object, type, &attrs);
	else
		r = attrs_managed(mem, layout, object, type, flags, &attrs);
	if (r)
		return r;
	if (!attrs.values)
		return pydict_find_text(mem, layout, attrs.dict, name,
					ret_value);
	r = mem_read_u64(mem, type + layout->attrs.keys, &keys);
	if (r == 0)
		r = open_keys(mem, layout, keys, &t);
	t.values = attrs.values + layout->dict.values_data;
	return r ? r : find_text(mem, layout, &t, name, ret_value);
}
