/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKEPROC_H
#define TESTS_FAKEPROC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/procfs.h"

/* A directory that plays /proc. */
struct fakeproc {
	char dir[32];
	struct procfs fs;
};

static inline int fakeproc_set_up(void **state)
{
	struct fakeproc *fake = calloc(1, sizeof(*fake));

	if (!fake)
		return -1;
	strcpy(fake->dir, "/tmp/procfs.XXXXXX");
	if (!mkdtemp(fake->dir))
		return -1;
	fake->fs.root = open(fake->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = fake;
	return fake->fs.root < 0 ? -1 : 0;
}

static inline int fakeproc_remove(const char *path, const struct stat *st,
				  int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline int fakeproc_tear_down(void **state)
{
	struct fakeproc *fake = *state;

	close(fake->fs.root);
	(void)nftw(fake->dir, fakeproc_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(fake);
	return 0;
}

/* Write @path, "42/task/42/children", making the directories on the way. */
static inline void fakeproc_put(const struct fakeproc *fake, const char *path,
				const void *bytes, size_t len)
{
	char part[256];
	int fd;

	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path),
			       path);
		if (mkdirat(fake->fs.root, part, 0755))
			assert_int_equal(errno, EEXIST);
	}
	fd = openat(fake->fs.root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static inline void fakeproc_text(const struct fakeproc *fake, const char *path,
				 const char *text)
{
	fakeproc_put(fake, path, text, strlen(text));
}

/* The stat line of a process, from its name on as Linux 6.18 writes it. */
#define FAKEPROC_STAT(pid, name, letter, parent, start)                     \
	pid " (" name ") " letter " " parent                                \
	    " 7 7 0 -1 4194304 104 0 0 0 3 4 0 0 20 0 1 0 " start           \
	    " 2990080 443 18446744073709551615 94 95 140 0 0 0 0 0 0 0 0 0" \
	    " 17 1 0 0 0 0 0 96 97 98 141 142 143 144 0\n"

/* A test that gets a struct fakeproc as its state. */
#define WITH_FAKE(test)                                        \
	cmocka_unit_test_setup_teardown(test, fakeproc_set_up, \
					fakeproc_tear_down)

#endif
