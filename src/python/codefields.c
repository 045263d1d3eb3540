/* SPDX-License-Identifier: Apache-2.0 */
#include "python/codefields.h"

#include <string.h>

#include "python/bytes.h"

/* From the first to the last of the fields that we need, but the type. */
static struct span needed(const struct layout *layout)
{
	const uint16_t at[] = {
		layout->code.filename,  layout->code.name,
		layout->code.qualname,  layout->code.firstlineno,
		layout->code.linetable, layout->code.code
	};
	struct span span = { .from = SIZE_MAX };

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		if (at[i] == LAYOUT_NONE)
			continue;
		span.from = at[i] < span.from ? at[i] : span.from;
		/* All are pointers but the first line, which is never last. */
		span.end = at[i] + 8u > span.end ? at[i] + 8u : span.end;
	}
	return span;
}

struct span codefields_span(const struct layout *layout)
{
	struct span span = needed(layout);

	if (layout->object.type < span.from)
		span.from = layout->object.type;
	return span;
}

bool codefields_fit(const struct layout *layout)
{
	struct span span = codefields_span(layout);

	return span.end - span.from <= CODEFIELDS_MAX &&
	       layout->object.type + 8u <= span.end &&
	       layout->object.bytes_size >= span.from &&
	       layout->object.bytes_size + 16u <= span.end &&
	       layout->str.ascii_data >= layout->str.hash + 8u &&
	       layout->str.ascii_data >= layout->str.length + 8u &&
	       layout->str.ascii_data <= PYSTR_HEAD;
}

bool codefields_same(const struct layout *layout, const uint8_t *a,
		     const uint8_t *b)
{
	struct span span = needed(layout);
	size_t start = codefields_span(layout).from;
	size_t type = layout->object.type - start;
	size_t size = layout->object.bytes_size - start;

	return !memcmp(a + type, b + type, 8) &&
	       !memcmp(a + size, b + size, 16) &&
	       !memcmp(a + span.from - start, b + span.from - start,
		       span.end - span.from);
}

/*
 * co_version is the sixth int behind co_firstlineno, with a GIL or without (headers
 * of 3.12.1, 3.12.10, 3.13.0, 3.13.5, 3.13.15 and 3.14.3).
 */
#define VERSION_BEHIND 24

static bool has_version(const struct layout *layout)
{
	return layout->major == 3 && layout->minor >= 12 &&
	       layout->minor <= 14 && !layout->free_threaded &&
	       layout->code.firstlineno + VERSION_BEHIND + 4u <=
		       needed(layout).end;
}

bool codefields_plan(const struct layout *layout, struct codeplan *ret)
{
	const uint16_t names[NAMES] = { layout->code.filename,
					layout->code.name,
					layout->code.qualname };
	struct span span = codefields_span(layout);
	size_t len = span.end - span.from;

	/* The type and the two words behind it are the stretch's first three. */
	if (!codefields_fit(layout) || layout->free_threaded ||
	    layout->str.is_bytes || span.from % 8 ||
	    layout->object.type != span.from ||
	    layout->object.bytes_size != span.from + 8 || len % 8 ||
	    len > sizeof(uint64_t) * CODECHECK_WORDS ||
	    layout->str.hash != layout->str.length + 8u)
		return false;
	*ret = (struct codeplan){
		.from = (uint16_t)span.from,
		.words = (uint16_t)(len / 8),
		.body = (uint16_t)(needed(layout).from - span.from),
		.length = layout->str.length,
		.hash = layout->str.hash,
		.lead = layout->str.ascii_data,
	};
	if (has_version(layout))
		ret->version =
			(uint16_t)(layout->code.firstlineno + VERSION_BEHIND);
	for (size_t k = 0; k < NAMES; k++)
		if (names[k] != LAYOUT_NONE)
			ret->names[ret->n_names++] =
				(uint16_t)((names[k] - span.from) / 8);
	return true;
}

bool codefields_parse(const struct layout *layout, const uint8_t *bytes,
		      struct codefields *ret)
{
	const uint16_t at[NAMES] = {
		[NAME_FILE] = layout->code.filename,
		[NAME_PLAIN] = layout->code.name,
		[NAME_QUALIFIED] = layout->code.qualname,
	};
	size_t start = codefields_span(layout).from;

	*ret = (struct codefields){
		.type = bytes_u64(bytes, layout->object.type - start),
		.table = bytes_u64(bytes, layout->code.linetable - start),
	};
	memcpy(&ret->firstline, bytes + layout->code.firstlineno - start,
	       sizeof(ret->firstline));
	if (has_version(layout))
		memcpy(&ret->version,
		       bytes + layout->code.firstlineno + VERSION_BEHIND -
			       start,
		       sizeof(ret->version));
	for (size_t k = 0; k < NAMES; k++) {
		uint64_t addr;

		if (at[k] == LAYOUT_NONE)
			continue;
		addr = bytes_u64(bytes, at[k] - start);
		if (!addr || addr % 8 || addr > UINT64_MAX - PYSTR_HEAD)
			return false;
		ret->names[k] = addr;
	}
	return ret->table && ret->table % 8 == 0 && ret->type &&
	       ret->type % 8 == 0;
}
