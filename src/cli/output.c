/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* That are tried: another run may have left one. */
#define NAMES 100

/* Where the kernel shows what a descriptor stands for. */
static void own_link(char link[32], int fd)
{
	(void)snprintf(link, 32, "/proc/self/fd/%d", fd);
}

/* The folder that a file is in. To be freed; NULL when memory is gone. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/*
 * A file in the same folder that has no name yet: whatever ends us, it is gone.
 * Not every file system has them, and without /proc it would stay nameless.
 */
static int open_nameless(struct output *out)
{
	char *folder = folder_of(out->path);
	char link[32];

	if (!folder)
		return -ENOMEM;
	out->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(folder);
	if (out->fd < 0)
		return -errno;
	own_link(link, out->fd);
	if (access(link, F_OK) == 0)
		return 0;
	(void)close(out->fd);
	out->fd = -1;
	return -ENOTSUP;
}

static int open_beside(struct output *out)
{
	mode_t mask;

	if (asprintf(&out->beside, "%s.XXXXXX", out->path) < 0) {
		out->beside = NULL;
		return -ENOMEM;
	}
	out->fd = mkostemp(out->beside, O_CLOEXEC);
	if (out->fd < 0) {
		free(out->beside);
		out->beside = NULL;
		return -errno;
	}
	/* mkostemp makes it private; a profile is as public as other files. */
	mask = umask(0);
	(void)umask(mask);
	(void)fchmod(out->fd, 0666 & ~mask);
	return 0;
}

/* What was written beside becomes the file. */
static int rename_beside(struct output *out)
{
	if (rename(out->beside, out->path) < 0)
		return -errno;
	free(out->beside);
	out->beside = NULL;
	return 0;
}

/*
 * Give a file without a name its own. Where that is another file's, it gets one
 * beside it, and is renamed: what ends us between the two leaves both, whole.
 */
static int give_name(struct output *out)
{
	int error = EEXIST;
	char link[32];

	own_link(link, out->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	for (unsigned i = 0; i < NAMES && error == EEXIST; i++) {
		if (asprintf(&out->beside, "%s.%d-%u", out->path, getpid(), i) <
		    0) {
			out->beside = NULL;
			return -ENOMEM;
		}
		if (linkat(AT_FDCWD, link, AT_FDCWD, out->beside,
			   AT_SYMLINK_FOLLOW) == 0)
			return rename_beside(out);
		error = errno;
		free(out->beside); /* it is somebody else's */
		out->beside = NULL;
	}
	return -error;
}

int output_open(struct output *out, const char *path)
{
	struct stat st;
	bool exists;
	int r;

	*out = OUTPUT_NONE;
	if (!strcmp(path, "-")) {
		out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return out->fd < 0 ? -errno : 0;
	}
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		return out->fd < 0 ? -errno : 0;
	}
	out->path = strdup(path);
	if (!out->path)
		return -ENOMEM;
	r = open_nameless(out);
	if (r < 0 && r != -ENOMEM)
		r = open_beside(out);
	if (r == 0 && exists)
		(void)fchmod(out->fd, st.st_mode & 07777);
	return r;
}

int output_write(void *ctx, const char *bytes, size_t len)
{
	struct output *out = ctx;

	while (len) {
		ssize_t put = write(out->fd, bytes, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		bytes += put;
		len -= (size_t)put;
	}
	return 0;
}

int output_commit(struct output *out)
{
	int r = out->path && !out->beside ? give_name(out) : 0;

	/* A full disk may be told as late as this (NFS, quotas). */
	if (close(out->fd) < 0 && errno != EINTR && r == 0)
		r = -errno;
	out->fd = -1;
	if (r == 0 && out->beside)
		r = rename_beside(out);
	output_abandon(out);
	return r;
}

void output_abandon(struct output *out)
{
	if (out->fd >= 0)
		(void)close(out->fd);
	if (out->beside)
		(void)unlink(out->beside);
	free(out->beside);
	free(out->path);
	*out = OUTPUT_NONE;
}

static void utc(char *text, size_t len)
{
	time_t now = time(NULL);
	struct tm tm;

	text[0] = '\0';
	if (gmtime_r(&now, &tm))
		(void)strftime(text, len, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

char *output_name(const char *pattern, int split, pid_t pid, unsigned again)
{
	char number[32], when[32], *name = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&name, &len);

	if (!to)
		return NULL;
	utc(when, sizeof(when));
	if (again)
		(void)snprintf(number, sizeof(number), "%d-%u", pid, again + 1);
	else
		(void)snprintf(number, sizeof(number), "%d", pid);
	for (const char *at = pattern; *at; at++) {
		if (at[0] == '%' && at[1] == 'p' && split) {
			(void)fputs(number, to);
			split = 0;
			at++;
		} else if (at[0] == '%' && at[1] == 't') {
			(void)fputs(when, to);
			at++;
		} else if (at[0] == '%' && at[1] == '%') {
			(void)fputc('%', to);
			at++;
		} else {
			(void)fputc(*at, to);
		}
	}
	if (split)
		(void)fprintf(to, ".%s", number);
	if (fclose(to) != 0) {
		free(name);
		return NULL;
	}
	return name;
}

char *output_made_up(const char *word, const char *ending)
{
	const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	char when[32], *name;

	utc(when, sizeof(when));
	if (asprintf(&name, "%s-%s.%s", *base ? base : "forkflame", when,
		     ending) < 0)
		return NULL;
	return name;
}
