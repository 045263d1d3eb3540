/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/outcome.h"
#include "fakemem.h"
#include "python/pydict.h"
#include "python/threadname.h"

/*
 * An interpreter that has imported threading, put together by hand for a version:
 * sys.modules, the module, its _active with one Thread, and that one's attributes
 * where the version has them.
 */
#define INTERP 0x100000u
#define MODULES 0x200000u
#define MODULE 0x201000u
#define GLOBALS 0x202000u
#define ACTIVE 0x203000u
#define THREAD 0x204100u
#define ATTRS 0x205000u
#define NAME 0x206000u
#define IDENT 0x207000u
#define KEYS 0x210000u /* each 0x1000 long, in the order of the calls */
#define TEXTS 0x220000u
#define TYPES 0x230000u
#define PTHREAD 0x7f12345678c0u

struct bench {
	struct fakemem fm;
	struct mem mem;
	const struct layout *l;
	uint64_t keys, texts, types;
	struct str name;
};

/* A type of this name; each is a new one. */
static uint64_t put_type(struct bench *b, const char *name)
{
	uint64_t at = b->types;

	b->types += 0x1000;
	fakemem_zero(&b->fm, at, 0x800);
	fakemem_put(&b->fm, at + 0x900, name, strlen(name) + 1);
	fakemem_put_u64(&b->fm, at + b->l->object.type_name, at + 0x900);
	return at;
}

static void put_object(struct bench *b, uint64_t at, const char *type)
{
	fakemem_zero(&b->fm, at, 256);
	fakemem_put_u64(&b->fm, at + b->l->object.type, put_type(b, type));
}

static void put_text(struct bench *b, uint64_t at, const char *text)
{
	const struct layout *l = b->l;

	put_object(b, at, "str");
	fakemem_put_u64(&b->fm, at + l->str.length, strlen(text));
	if (!l->str.is_bytes)
		fakemem_put_u32(&b->fm, at + l->str.state,
				1u << l->str.kind_shift |
					1u << l->str.compact_shift |
					1u << l->str.ascii_shift);
	fakemem_put(&b->fm, at + l->str.ascii_data, text, strlen(text) + 1);
}

static void put_number(struct bench *b, uint64_t at, uint64_t number)
{
	uint64_t head = at + b->l->object.bytes_size;

	put_object(b, at, "int");
	if (b->l->major < 3) {
		fakemem_put_u64(&b->fm, head, number);
		return;
	}
	fakemem_put_u64(&b->fm, head, b->l->minor >= 12 ? 2u << 3 : 2u);
	fakemem_put_u32(&b->fm, head + 8, number & 0x3fffffff);
	fakemem_put_u32(&b->fm, head + 12, (uint32_t)(number >> 30));
}

struct entry {
	const char *text;       /* NULL: the key is @number */
	uint64_t number, value; /* value 0 with split values */
};

/* Keys with 8 places, at the returned address; in 2.7 the table itself. */
static uint64_t put_keys(struct bench *b, const struct entry *list, size_t n)
{
	const struct layout *l = b->l;
	bool texts = l->dict.kind == DICT_LOG2 && list[0].text;
	uint64_t keys = b->keys, at = keys, width = texts ? 16 : 24;

	b->keys += 0x1000;
	fakemem_zero(&b->fm, keys, 512);
	if (l->dict.kind == DICT_SIZE)
		fakemem_put_u64(&b->fm, keys + l->dict.size, 8);
	if (l->dict.kind == DICT_LOG2) {
		fakemem_put_u8(&b->fm, keys + l->dict.index_bytes, 3);
		fakemem_put_u8(&b->fm, keys + l->dict.entry_kind, texts);
	}
	if (l->dict.kind != DICT_TABLE) {
		fakemem_put_u64(&b->fm, keys + l->dict.n, n);
		at += l->dict.indices + 8u;
	}
	for (size_t i = 0; i < n; i++, at += width) {
		uint64_t key = b->texts;

		b->texts += 0x100;
		if (list[i].text)
			put_text(b, key, list[i].text);
		else
			put_number(b, key, list[i].number);
		fakemem_put_u64(&b->fm, at, list[i].number);
		fakemem_put_u64(&b->fm, at + width - 16, key);
		fakemem_put_u64(&b->fm, at + width - 8, list[i].value);
	}
	return keys;
}

static void put_dict(struct bench *b, uint64_t at, const struct entry *list,
		     size_t n)
{
	put_object(b, at, "dict");
	fakemem_put_u64(&b->fm, at + b->l->dict.keys, put_keys(b, list, n));
	if (b->l->dict.kind == DICT_TABLE)
		fakemem_put_u64(&b->fm, at + b->l->dict.mask, 7);
}

/* Attributes in an array, in the order of the type's keys. */
static void put_values(struct bench *b, uint64_t type, const struct entry *list,
		       size_t n)
{
	const struct layout *l = b->l;
	uint64_t values = ATTRS;

	fakemem_put_u64(&b->fm, type + l->attrs.keys, put_keys(b, list, n));
	fakemem_put_u64(&b->fm, type + l->attrs.basicsize, 0x40);
	if (l->attrs.kind == ATTRS_INLINE)
		values = THREAD + 0x40;
	fakemem_zero(&b->fm, values, 256);
	for (size_t i = 0; i < n; i++)
		fakemem_put_u64(&b->fm, values + l->dict.values_data + 8 * i,
				list[i].value);
	if (l->attrs.kind == ATTRS_POINTERS)
		fakemem_put_u64(&b->fm, THREAD - 32, values);
	if (l->attrs.kind == ATTRS_TAGGED)
		fakemem_put_u64(&b->fm, THREAD - 24, values - 1);
}

static void put_thread(struct bench *b, bool in_dict)
{
	const struct layout *l = b->l;
	bool old = l->major < 3;
	struct entry list[] = {
		{ .text = "_target", .value = MODULE },
		{ .text = old ? "_Thread__name" : "_name", .value = NAME },
		{ .text = old ? "_Thread__ident" : "_ident", .value = IDENT },
	};
	uint64_t type, dict_at = THREAD - (l->free_threaded ? 8 : 24);

	fakemem_zero(&b->fm, THREAD - 64, 64);
	put_object(b, THREAD, "Worker");
	type = b->types - 0x1000;
	fakemem_put_u64(&b->fm, type + l->attrs.flags, 1u << 4 | 1u << 2);
	if (l->attrs.kind == ATTRS_DICT) {
		fakemem_put_u64(&b->fm, type + l->attrs.dictoffset, 16);
		dict_at = THREAD + 16;
		in_dict = true;
	}
	if (!in_dict) {
		put_values(b, type, list, 3);
		return;
	}
	put_dict(b, ATTRS, list, 3);
	fakemem_put_u64(&b->fm, dict_at, ATTRS);
}

static struct bench setup(const struct layout *layout, bool in_dict)
{
	struct bench b = {
		.l = layout, .keys = KEYS, .texts = TEXTS, .types = TYPES
	};
	const struct entry modules[] = {
		{ .text = "builtins", .value = GLOBALS },
		{ .text = "threading_", .value = GLOBALS },
		{ .text = "threading", .value = MODULE },
	};
	const struct entry globals[] = {
		{ .text = "_actives", .value = MODULE },
		{ .text = "_active", .value = ACTIVE },
	};
	const struct entry active[] = {
		{ .number = PTHREAD + 64, .value = GLOBALS },
		{ .number = PTHREAD, .value = THREAD },
	};

	fakemem_put_u64(&b.fm, INTERP + layout->interp.modules, MODULES);
	put_dict(&b, MODULES, modules, 3);
	put_object(&b, MODULE, "module");
	fakemem_put_u64(&b.fm, MODULE + layout->attrs.module_dict, GLOBALS);
	put_dict(&b, GLOBALS, globals, 2);
	put_dict(&b, ACTIVE, active, 2);
	put_text(&b, NAME, "worker 7");
	put_number(&b, IDENT, PTHREAD);
	put_thread(&b, in_dict);
	return b;
}

static int read_name(struct bench *b)
{
	uint64_t active = 0;
	int r;

	b->mem = fakemem_mem(&b->fm);
	str_clear(&b->name);
	r = threadname_active(&b->mem, b->l, INTERP, &active);
	if (r)
		return r;
	assert_int_equal(active, ACTIVE);
	return threadname_read(&b->mem, b->l, active, PTHREAD, &b->name);
}

static void teardown(struct bench *b)
{
	str_free(&b->name);
	fakemem_free(&b->fm);
}

static void reads_the_name_in_every_version(void **state)
{
	static const unsigned versions[] = { 27, 6,  7,  8,  9, 10,
					     11, 12, 13, 14, 15 };

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(versions) / sizeof(*versions); i++) {
		unsigned version = versions[i / 4];
		bool ft = i % 2;
		struct bench b;

		if (ft && version != 13)
			continue;
		b = setup(fakemem_row(version, ft), i % 4 / 2);
		assert_int_equal(read_name(&b), 0);
		assert_string_equal(b.name.at, "worker 7");
		teardown(&b);
	}
}

static void says_so_where_dictionaries_are_not_known(void **state)
{
	struct layout layout = *fakemem_row(12, false);
	struct bench b = setup(&layout, false);

	(void)state;
	layout.dict.kind = DICT_UNKNOWN;
	assert_int_equal(read_name(&b), OUT_UNKNOWN);
	teardown(&b);
}

static void does_not_believe_a_thread_of_another_number(void **state)
{
	struct bench b = setup(fakemem_row(11, false), false);

	(void)state;
	put_number(&b, IDENT, PTHREAD + 64);
	assert_int_equal(read_name(&b), OUT_TORN);
	assert_int_equal(b.name.len, 0);
	teardown(&b);
}

static void leaves_alone_names_that_are_no_text_or_empty(void **state)
{
	struct bench b = setup(fakemem_row(8, false), false);

	(void)state;
	put_number(&b, NAME, PTHREAD);
	assert_int_equal(read_name(&b), OUT_UNKNOWN);
	put_text(&b, NAME, "");
	assert_int_equal(read_name(&b), OUT_UNKNOWN);
	teardown(&b);
}

static void leaves_alone_threads_that_threading_has_not_made(void **state)
{
	struct bench b = setup(fakemem_row(13, false), false);
	uint64_t type;

	(void)state;
	b.mem = fakemem_mem(&b.fm);
	assert_int_equal(mem_read_u64(&b.mem, THREAD + b.l->object.type, &type),
			 0);
	fakemem_put(&b.fm, type + 0x900, "_DummyThread", 13);
	assert_int_equal(read_name(&b), 0);
	put_text(&b, NAME, "Dummy-7");
	assert_int_equal(read_name(&b), OUT_UNKNOWN);
	teardown(&b);
}

/* At some call the thread gets another name, and the old one's bytes change. */
struct change {
	struct bench *b;
	unsigned at;
};

static void rename_thread(struct fakemem *fm, void *arg)
{
	const struct change *change = arg;
	uint64_t keys;

	if (fm->calls != change->at)
		return;
	put_text(change->b, NAME, "garbage");
	put_text(change->b, NAME + 0x800, "another");
	assert_int_equal(mem_read_u64(&change->b->mem,
				      ATTRS + change->b->l->dict.keys, &keys),
			 0);
	/* The second entry of the keys: _name. */
	fakemem_put_u64(fm, keys + change->b->l->dict.indices + 8 + 24 + 16,
			NAME + 0x800);
}

static void gives_no_name_that_changed_meanwhile(void **state)
{
	unsigned before = 0, after = 0, torn = 0;

	(void)state;
	for (unsigned i = 1; i < 200; i++) {
		struct bench b = setup(fakemem_row(9, false), true);
		struct change change = { .b = &b, .at = i };
		int r;

		b.fm.hook = rename_thread;
		b.fm.hook_arg = &change;
		r = read_name(&b);
		if (r != 0)
			torn++;
		else if (!strcmp(b.name.at, "worker 7"))
			before++;
		else if (!strcmp(b.name.at, "another"))
			after++;
		else
			fail_msg("call %u: %s", i, b.name.at);
		teardown(&b);
	}
	assert_true(before && after && torn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_name_in_every_version),
		cmocka_unit_test(says_so_where_dictionaries_are_not_known),
		cmocka_unit_test(does_not_believe_a_thread_of_another_number),
		cmocka_unit_test(leaves_alone_names_that_are_no_text_or_empty),
		cmocka_unit_test(
			leaves_alone_threads_that_threading_has_not_made),
		cmocka_unit_test(gives_no_name_that_changed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
