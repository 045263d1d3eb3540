/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_GZIP_H
#define PROFILE_GZIP_H

#include <stddef.h>

#include "profile/out.h"

/*
 * A gzip stream (RFC 1952) in memory, handed on to a write function as it comes.
 * No time and no name are in it: the same bytes in give the same bytes out.
 */
struct gzip;

/* Returns NULL when memory is gone. @write and @ctx are borrowed for life. */
struct gzip *gzip_new(out_write write, void *ctx);
void gzip_free(struct gzip *gz);

/* Returns 0, -ENOMEM, or what the write function returned. */
int gzip_add(struct gzip *gz, const char *bytes, size_t len);

/* Write what is left; nothing is added after it. Returns as gzip_add. */
int gzip_end(struct gzip *gz);

#endif
