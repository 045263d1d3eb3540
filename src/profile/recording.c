/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recording.h"

#include <errno.h>
#include <stdlib.h>

#include "base/outcome.h"
#include "profile/recording_block.h"
#include "profile/recording_decode.h"

struct recording_reader {
	const uint8_t *bytes; /* borrowed */
	size_t len;
	enum wire_codec codec;
	struct decode decode;
	struct block_room room;
};

int recording_open(struct recording_reader **ret, const char *bytes, size_t len)
{
	const uint8_t *at = (const uint8_t *)bytes;
	struct recording_reader *reader;
	enum wire_codec codec;
	int r = block_get_header(at, len, &codec);

	if (r != 0)
		return r;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->bytes = at;
	reader->len = len;
	reader->codec = codec;
	*ret = reader;
	return 0;
}

void recording_close(struct recording_reader *reader)
{
	if (!reader)
		return;
	decode_free(&reader->decode);
	block_room_free(&reader->room);
	free(reader);
}

/* What an outcome of a block, or the end of the file, says about the file. */
static enum recording_end end_of(const struct recording_reader *reader, int r)
{
	if (r == OUT_TORN)
		return RECORDING_CUT;
	if (r == OUT_UNKNOWN)
		return RECORDING_DAMAGED;
	return reader->decode.summary ? RECORDING_WHOLE : RECORDING_RUNNING;
}

int recording_read(struct recording_reader *reader, uint32_t kinds,
		   record_fn fn, void *ctx, enum recording_end *ret_end,
		   size_t *ret_good)
{
	size_t at = WIRE_FILE_SIZE;
	int told = 0;
	int r = 0;

	decode_begin(&reader->decode);
	while (r == 0 && at < reader->len) {
		struct block block;

		r = block_unpack(&reader->room, reader->bytes + at,
				 reader->len - at, reader->codec, &block);
		if (r != 0)
			break;
		r = decode_block(&reader->decode, block.plain, block.n, kinds,
				 fn, ctx, &told);
		if (told != 0)
			break;
		if (r == 0)
			at += block.size;
	}
	if (ret_end)
		*ret_end = end_of(reader, r);
	if (ret_good)
		*ret_good = at;
	if (told != 0)
		return told;
	return r < 0 ? r : 0;
}
