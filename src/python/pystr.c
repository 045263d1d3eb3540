/* SPDX-License-Identifier: Apache-2.0 */
#include "python/pystr.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/outcome.h"
#include "python/bytes.h"

/* Characters that are decoded at a time. */
#define SLICE 512

/* No read goes beyond the string: it may be the last thing in its mapping. */
#define HEAD_MAX 128

/* The state's part of the head: of what kind the characters are, and where. */
static int find_data(const struct mem *mem, const struct layout *layout,
		     uint64_t addr, const uint8_t *bytes, struct pystr *head)
{
	bool compact, ascii;
	uint32_t state;

	head->is_bytes = layout->str.is_bytes;
	head->kind = 1;
	head->data = addr + layout->str.ascii_data;
	if (head->is_bytes)
		return 0;
	memcpy(&state, bytes + layout->str.state, sizeof(state));
	compact = (state >> layout->str.compact_shift) & 1;
	ascii = (state >> layout->str.ascii_shift) & 1;
	head->kind = (state >> layout->str.kind_shift) & 7;
	if (head->kind != 1 && (ascii || (head->kind != 2 && head->kind != 4)))
		return OUT_TORN;
	if (!compact)
		return mem_read_u64(mem, addr + layout->str.legacy_data,
				    &head->data);
	if (!ascii)
		head->data = addr + layout->str.compact_data;
	return 0;
}

int pystr_head(const struct mem *mem, const struct layout *layout,
	       uint64_t addr, struct pystr *ret)
{
	uint8_t bytes[HEAD_MAX];
	size_t len = layout->str.ascii_data;
	struct pystr head;
	int r;

	if (!addr || addr % 8 || addr > UINT64_MAX - PYSTR_HEAD ||
	    len > sizeof(bytes) || layout->str.length + 8u > len ||
	    layout->str.hash + 8u > len ||
	    (!layout->str.is_bytes && layout->str.state + 4u > len))
		return OUT_TORN;
	r = mem_read(mem, addr, bytes, len);
	if (r)
		return r;
	head.length = bytes_u64(bytes, layout->str.length);
	head.hash = (int64_t)bytes_u64(bytes, layout->str.hash);
	r = find_data(mem, layout, addr, bytes, &head);
	if (r)
		return r;
	if (head.length > (UINT64_MAX - head.data) / head.kind)
		return OUT_TORN;
	*ret = head;
	return 0;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		to[0] = (char)(c - 0xdc00);
		return 1;
	}
	if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Add @n <= SLICE characters of @kind bytes each. */
static void add_slice(struct str *to, const uint8_t *bytes, unsigned kind,
		      size_t n)
{
	char utf8[SLICE * 4];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *at = bytes + i * kind;
		uint32_t c = at[0];

		if (kind > 1)
			c |= (uint32_t)at[1] << 8;
		if (kind > 2)
			c |= (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
		len += put_utf8(utf8 + len, c);
	}
	str_add(to, utf8, len);
}

static int add_characters(const struct mem *mem, const struct pystr *head,
			  size_t n, struct str *to)
{
	uint8_t bytes[SLICE * 4];
	size_t now;
	int r;

	for (size_t done = 0; done < n; done += now) {
		now = n - done < SLICE ? n - done : SLICE;
		r = mem_read(mem, head->data + done * head->kind, bytes,
			     now * head->kind);
		if (r)
			return r;
		if (head->is_bytes)
			str_add(to, (const char *)bytes, now);
		else
			add_slice(to, bytes, head->kind, now);
	}
	return 0;
}

int pystr_read(const struct mem *mem, const struct layout *layout,
	       uint64_t addr, struct str *to)
{
	size_t n, before = to->len;
	struct pystr head;
	int r;

	r = pystr_head(mem, layout, addr, &head);
	if (r)
		return r;
	n = head.length < PYSTR_MAX ? (size_t)head.length : PYSTR_MAX;
	r = add_characters(mem, &head, n, to);
	if (!r && n < head.length)
		str_printf(to, "...+%" PRIu64 "~%04x", head.length - n,
			   (unsigned)((head.hash != -1 ? (uint64_t)head.hash
						       : head.length) &
				      0xffff));
	if (!r && to->failed)
		r = -ENOMEM;
	if (r && to->at) {
		to->len = before;
		to->at[before] = '\0';
	}
	return r;
}
