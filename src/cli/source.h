/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <stddef.h>

/*
 * Read a source file of what was profiled: struct forkflame_view's source. @path is the
 * program's word, so a stranger's. Nothing but regular files of at most 4 MiB; and as
 * root, who may read everything, nothing but Python: by the ending of the file's real
 * name, or by a first line that names one.
 *
 * Returns 0 with *@ret (for free) and *@ret_len; or a negative errno.
 */
int source_read(void *ctx, const char *path, char **ret, size_t *ret_len);

#endif
