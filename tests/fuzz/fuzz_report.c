/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "forkflame/forkflame.h"
#include "profile/recording_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* What was written, up to a size that a test has the time for. */
#define TEXT_MAX (1u << 20)

static int keep(void *ctx, const char *bytes, size_t len)
{
	struct str *text = ctx;

	if (text->len + len > TEXT_MAX)
		return -EFBIG;
	str_add(text, bytes, len);
	return 0;
}

/* Nothing of the recording reaches a terminal or a parser as it is. */
static void check_text(const struct str *text)
{
	size_t n;

	for (size_t at = 0; at < text->len; at += n) {
		unsigned char c = (unsigned char)text->at[at];

		n = str_utf8(text->at + at, text->len - at);
		CHECK(n > 0 && c != 0x7f);
		CHECK(c >= 0x20 || c == '\n' || c == '\t');
	}
}

static void write_view(struct forkflame_report *report, uint8_t how,
		       enum forkflame_format format)
{
	struct forkflame_view view = FORKFLAME_VIEW;
	struct str text = { 0 };
	int r;

	view.format = format;
	view.value = (enum forkflame_value)(how % 4);
	view.group = (enum forkflame_group)(how / 4 % 4);
	view.frames = (enum forkflame_frames)(how / 16 % 3);
	view.busy = how / 64 % 2;
	r = forkflame_report_write(report, &view, keep, &text);
	CHECK(r == 0 || r == -EFBIG);
	if (r == 0 && format != FORKFLAME_PPROF && format != FORKFLAME_PSTATS)
		check_text(&text);
	str_free(&text);
}

/*
 * Any bytes as the records of a recording, which is read and shown: 1 byte chooses
 * the format, 1 how it is shown. What a recording tells need not make sense, but
 * each view of it ends, and is text of its kind.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct forkflame_report *report = NULL;
	struct bytes file = { 0 };

	if (len < 3 || len - 2 > WIRE_PLAIN_MAX)
		return 0;
	CHECK(block_put_header(&file, WIRE_PLAIN));
	CHECK(block_pack(&file, bytes + 2, len - 2, WIRE_PLAIN));
	CHECK(forkflame_report_new(&report) == 0);
	CHECK(forkflame_report_add(report, (const char *)file.at, file.n,
				   false) == 0);
	write_view(report, bytes[1], (enum forkflame_format)(bytes[0] % 12));
	forkflame_report_free(report);
	vec_free(&file);
	return 0;
}
