/* SPDX-License-Identifier: Apache-2.0 */
#include "python/name.h"

#include <errno.h>
#include <string.h>

#define PREFIX_MAX 192 /* bytes compared of a string without a hash */

uint32_t names_index(struct names *names, uint64_t addr)
{
	struct name name = { .addr = addr };
	uint64_t i;

	if (map_get(&names->at, addr, &i))
		return (uint32_t)i;
	i = names->all.n;
	if (i >= UINT32_MAX || !vec_push(&names->all, name))
		return UINT32_MAX;
	if (!map_put(&names->at, addr, i)) {
		names->all.n--;
		return UINT32_MAX;
	}
	return (uint32_t)i;
}

static size_t prefix_len(const struct pystr *head)
{
	uint64_t len = head->length * head->kind;

	return len < PREFIX_MAX ? (size_t)len : PREFIX_MAX;
}

struct span name_span(const struct layout *layout, const struct name *name)
{
	size_t length = layout->str.length, hash = layout->str.hash;
	struct span span = {
		.from = length < hash ? length : hash,
		.end = (length > hash ? length : hash) + sizeof(uint64_t),
	};

	if (name->head.hash == -1)
		span.end = (size_t)(name->head.data - name->addr) +
			   prefix_len(&name->head);
	return span;
}

static bool is_same(struct name *name, const struct layout *layout,
		    const uint8_t *bytes)
{
	struct span span = name_span(layout, name);
	size_t data = (size_t)(name->head.data - name->addr) - span.from;
	uint64_t length;
	int64_t hash;

	memcpy(&length, bytes + layout->str.length - span.from, sizeof(length));
	memcpy(&hash, bytes + layout->str.hash - span.from, sizeof(hash));
	if (length != name->head.length)
		return false;
	if (name->head.hash != -1)
		return hash == name->head.hash;
	if (map_hash(bytes + data, prefix_len(&name->head), 0) != name->prefix)
		return false;
	/* When it has one now, that is enough from now on. */
	name->head.hash = hash;
	return true;
}

void name_check(struct name *name, const struct layout *layout,
		const uint8_t *bytes, uint64_t round)
{
	name->valid = is_same(name, layout, bytes);
	if (name->valid)
		name->checked = round;
}

/* As the kernel's program takes them: where an ASCII string has its characters. */
static int read_lead(struct name *name, const struct mem *mem,
		     const struct layout *layout)
{
	size_t len = name->head.length < sizeof(name->lead)
			     ? (size_t)name->head.length
			     : sizeof(name->lead);

	memset(name->lead, 0, sizeof(name->lead));
	return mem_read(mem, name->addr + layout->str.ascii_data, name->lead,
			len);
}

/*
 * Make it checkable without a hash. Characters that do not follow the head (of
 * strings made before PEP 393) cannot be read along with it.
 */
static int read_prefix(struct name *name, const struct mem *mem,
		       const struct layout *layout)
{
	uint8_t prefix[PREFIX_MAX];
	size_t len = prefix_len(&name->head);
	int r;

	if (name->head.data < name->addr + layout->str.ascii_data ||
	    name->head.data - name->addr > PYSTR_HEAD - PREFIX_MAX) {
		name->valid = false;
		return 0;
	}
	r = mem_read(mem, name->head.data, prefix, len);
	name->prefix = r ? 0 : map_hash(prefix, len, 0);
	return r ? r : read_lead(name, mem, layout);
}

int names_read(struct names *names, struct strtab *strings, uint32_t i,
	       const struct mem *mem, const struct layout *layout,
	       uint64_t round)
{
	struct name *name = &names->all.at[i];
	struct pystr head;
	uint32_t id;
	int r;

	if (name->checked == round)
		return 0;
	str_clear(&names->text);
	r = pystr_read(mem, layout, name->addr, &names->text);
	if (!r)
		r = pystr_head(mem, layout, name->addr, &head);
	if (r)
		return r;
	id = strtab_id(strings, names->text.len ? names->text.at : "",
		       names->text.len);
	if (id == STRTAB_NONE)
		return -ENOMEM;
	if (!name->valid || id != name->id || head.length != name->head.length)
		name->changed = round;
	name->head = head;
	name->id = id;
	name->checked = round;
	name->valid = true;
	return head.hash == -1 ? read_prefix(name, mem, layout) : 0;
}

void names_clear(struct names *names)
{
	names->all.n = 0;
	map_clear(&names->at);
}

void names_free(struct names *names)
{
	vec_free(&names->all);
	map_free(&names->at);
	str_free(&names->text);
}
