/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int open_beside(struct output *out, const char *path)
{
	struct stat st;
	mode_t mask;

	if (asprintf(&out->beside, "%s.XXXXXX", path) < 0) {
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
	if (stat(path, &st) == 0)
		(void)fchmod(out->fd, st.st_mode & 07777);
	else
		(void)fchmod(out->fd, 0666 & ~mask);
	return 0;
}

int output_open(struct output *out, const char *path)
{
	struct stat st;

	*out = OUTPUT_NONE;
	if (!strcmp(path, "-")) {
		out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return out->fd < 0 ? -errno : 0;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		return out->fd < 0 ? -errno : 0;
	}
	out->path = strdup(path);
	return out->path ? open_beside(out, path) : -ENOMEM;
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
	int r = 0;

	/* A full disk may be told as late as this (NFS, quotas). */
	if (close(out->fd) < 0 && errno != EINTR)
		r = -errno;
	out->fd = -1;
	if (r == 0 && out->beside && rename(out->beside, out->path) < 0)
		r = -errno;
	if (r == 0) {
		free(out->beside);
		out->beside = NULL;
	}
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
