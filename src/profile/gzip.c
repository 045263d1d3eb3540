/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define ROOM (64 * 1024)
#define WINDOW_GZIP (15 + 16) /* the largest window, in gzip's wrapping */
#define MEMORY_LEVEL 8        /* zlib's default */

struct gzip {
	z_stream z;
	bool open;
	out_write write; /* borrowed, with its ctx */
	void *ctx;
	unsigned char room[ROOM];
};

struct gzip *gzip_new(out_write write, void *ctx)
{
	struct gzip *gz = calloc(1, sizeof(*gz));

	if (!gz)
		return NULL;
	gz->write = write;
	gz->ctx = ctx;
	/* Without deflateSetHeader the time is 0 and there is no name. */
	if (deflateInit2(&gz->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gz);
		return NULL;
	}
	gz->open = true;
	return gz;
}

void gzip_free(struct gzip *gz)
{
	if (!gz)
		return;
	if (gz->open)
		(void)deflateEnd(&gz->z);
	free(gz);
}

/* Let zlib work until it wants more input, or at the end until it is done. */
static int pump(struct gzip *gz, int flush)
{
	int r, z;

	do {
		gz->z.next_out = gz->room;
		gz->z.avail_out = ROOM;
		z = deflate(&gz->z, flush);
		if (z == Z_STREAM_ERROR)
			return -EINVAL;
		if (gz->z.avail_out == ROOM)
			continue;
		r = gz->write(gz->ctx, (const char *)gz->room,
			      ROOM - gz->z.avail_out);
		if (r)
			return r;
	} while (!gz->z.avail_out || (flush == Z_FINISH && z == Z_OK));
	return 0;
}

int gzip_add(struct gzip *gz, const char *bytes, size_t len)
{
	while (len) {
		uInt part = len > UINT_MAX ? UINT_MAX : (uInt)len;
		int r;

		/* zlib does not write there; its old type does not say so. */
		gz->z.next_in = (z_const Bytef *)(uintptr_t)bytes;
		gz->z.avail_in = part;
		r = pump(gz, Z_NO_FLUSH);
		if (r)
			return r;
		bytes += part;
		len -= part;
	}
	return 0;
}

int gzip_end(struct gzip *gz)
{
	gz->z.next_in = NULL;
	gz->z.avail_in = 0;
	return pump(gz, Z_FINISH);
}
