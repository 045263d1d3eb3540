/* SPDX-License-Identifier: Apache-2.0 */
#include "python/threadname.h"

#include <string.h>

#include "base/outcome.h"
#include "python/pydict.h"
#include "python/pystr.h"

/* A number above this is not its own hash. */
#define NUMBER_MAX (((uint64_t)1 << 61) - 2)

/* What leads to a name. */
struct path {
	uint64_t thread, name;
};

int threadname_active(const struct mem *mem, const struct layout *layout,
		      uint64_t interp, uint64_t *ret_active)
{
	uint64_t modules, module, dict, active;
	int r = mem_read_u64(mem, interp + layout->interp.modules, &modules);

	if (r == 0)
		r = pydict_find_text(mem, layout, modules, "threading",
				     &module);
	if (r == 0)
		r = pydict_is_a(mem, layout, module, "module");
	if (r == 0)
		r = mem_read_u64(mem, module + layout->attrs.module_dict,
				 &dict);
	if (r == 0)
		r = pydict_find_text(mem, layout, dict, "_active", &active);
	if (r == 0)
		r = pydict_is_a(mem, layout, active, "dict");
	if (r == 0)
		*ret_active = active;
	return r;
}

/*
 * Is the Python number at @addr this one? Digits of 30 bits; in 2.7 an int is one
 * word. Before the digits there is their count, which from 3.12 on is three bits
 * higher up.
 */
static int check_number(const struct mem *mem, const struct layout *layout,
			uint64_t addr, uint64_t number)
{
	struct {
		uint64_t n;
		uint32_t digits[2];
	} value;
	unsigned shift = layout->minor >= 12 ? 3 : 0;
	uint64_t have;
	int r = pydict_is_a(mem, layout, addr, "int");

	if (r)
		return r;
	if (layout->major < 3) {
		r = mem_read_u64(mem, addr + layout->object.bytes_size, &have);
		return r == 0 && have != number ? OUT_TORN : r;
	}
	r = mem_read(mem, addr + layout->object.bytes_size, &value,
		     sizeof(value));
	if (r)
		return r;
	/* A pthread_t is the address of a structure, above 2^30. */
	have = (uint64_t)value.digits[1] << 30 | value.digits[0];
	return value.n >> shift == 2 && have == number ? 0 : OUT_TORN;
}

static int find_path(const struct mem *mem, const struct layout *layout,
		     uint64_t active, uint64_t pthread, struct path *ret)
{
	bool old = layout->major < 3;
	uint64_t key, ident;
	int r = pydict_find_number(mem, layout, active, pthread, &key,
				   &ret->thread);

	if (r == 0)
		r = check_number(mem, layout, key, pthread);
	if (r == 0)
		r = pydict_attr(mem, layout, ret->thread,
				old ? "_Thread__ident" : "_ident", &ident);
	if (r == 0)
		r = check_number(mem, layout, ident, pthread);
	if (r == 0)
		r = pydict_attr(mem, layout, ret->thread,
				old ? "_Thread__name" : "_name", &ret->name);
	if (r == 0 && pydict_is_a(mem, layout, ret->name, "str") != 0)
		r = OUT_UNKNOWN;
	return r;
}

/* A name that nobody gave: of a thread that threading only came across. */
static bool is_dummy(const struct mem *mem, const struct layout *layout,
		     const struct path *path, const char *name, size_t len)
{
	static const char dummy[] = "Dummy-";

	return len >= sizeof(dummy) - 1 &&
	       !memcmp(name, dummy, sizeof(dummy) - 1) &&
	       pydict_is_a(mem, layout, path->thread, "_DummyThread") == 0;
}

int threadname_read(const struct mem *mem, const struct layout *layout,
		    uint64_t active, uint64_t pthread, struct str *to)
{
	struct path path, again;
	size_t before = to->len;
	int r;

	if (!pthread || pthread > NUMBER_MAX)
		return OUT_UNKNOWN;
	r = find_path(mem, layout, active, pthread, &path);
	if (r == 0)
		r = pystr_read(mem, layout, path.name, to);
	if (r)
		return r;
	/* What was freed meanwhile is not where it was any more. */
	r = find_path(mem, layout, active, pthread, &again);
	if (r == 0 && (again.thread != path.thread || again.name != path.name))
		r = OUT_TORN;
	if (r == 0 &&
	    (to->len == before ||
	     is_dummy(mem, layout, &path, to->at + before, to->len - before)))
		r = OUT_UNKNOWN;
	if (r && to->at) {
		to->len = before;
		to->at[before] = '\0';
	}
	return r;
}
