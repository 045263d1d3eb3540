/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A source file larger than this is not worth showing. */
#define SOURCE_MAX (4 << 20)

static bool ends_like_python(const char *path)
{
	static const char *const ends[] = { ".py", ".pyw", ".pyx", ".pxd",
					    ".pxi" };
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end = strlen(ends[i]);

		if (len > end && !strcmp(path + len - end, ends[i]))
			return true;
	}
	return false;
}

/* A script: its first line names a Python. */
static bool begins_like_python(const char *bytes, size_t len)
{
	const char *end = memchr(bytes, '\n', len);
	size_t line = end ? (size_t)(end - bytes) : len;

	return line > 2 && !memcmp(bytes, "#!", 2) &&
	       memmem(bytes, line, "python", 6);
}

/* By the name that the file has, whatever link led to it. */
static bool is_python(int fd, const char *bytes, size_t len)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return ends_like_python(path) || begins_like_python(bytes, len);
}

static int read_all(int fd, char **ret, size_t *ret_len)
{
	struct stat st;
	size_t len = 0;
	ssize_t got;
	char *bytes;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size >= SOURCE_MAX)
		return -EINVAL;
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		got = read(fd, bytes + len, (size_t)st.st_size - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	*ret = bytes;
	*ret_len = len;
	return 0;
}

int source_read(void *ctx, const char *path, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *bytes = NULL;
	size_t len = 0;
	int r;

	(void)ctx;
	if (fd < 0)
		return -errno;
	r = read_all(fd, &bytes, &len);
	if (r == 0 && geteuid() == 0 && !is_python(fd, bytes, len))
		r = -EACCES;
	(void)close(fd);
	if (r < 0) {
		free(bytes);
		return r;
	}
	*ret = bytes;
	*ret_len = len;
	return 0;
}
