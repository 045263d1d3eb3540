/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct store_part {
	struct store_part *next;
	bool rotate; /* begin the next file; no bytes */
	size_t len;
	char bytes[];
};

/* A file without a name, in the folder for such files. */
static int open_nameless(void)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Not every file system has them, and not every folder may be written. */
	if (fd < 0)
		fd = memfd_create("forkflame", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_named(const char *path)
{
	int fd;

	if (!strcmp(path, "-"))
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	/* A FIFO or a device may be for writing only. */
	if (fd < 0 && errno == EACCES)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

char *store_name(const char *path, unsigned file)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	size_t stem = dot ? (size_t)(dot - path) : strlen(path);
	char *name;

	if (!file)
		return strdup(path);
	if (asprintf(&name, "%.*s.%u%s", (int)stem, path, file,
		     dot ? dot : "") < 0)
		return NULL;
	return name;
}

static int write_out(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t put = write(fd, bytes, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		bytes += put;
		len -= (size_t)put;
	}
	return 0;
}

/* Go on in the next file. */
static int next_file(struct store *store)
{
	char *name = store_name(store->path, store->file + 1);
	int fd, r;

	if (!name)
		return -ENOMEM;
	fd = open_named(name);
	free(name);
	if (fd < 0)
		return fd;
	r = close(store->fd) < 0 && errno != EINTR ? -errno : 0;
	store->fd = fd;
	store->file++;
	return r;
}

/* Take the first part out. The lock is held. */
static struct store_part *take_part(struct store *store)
{
	struct store_part *part = store->first;

	store->first = part->next;
	if (!store->first)
		store->last = NULL;
	return part;
}

static void *write_all(void *ctx)
{
	struct store *store = ctx;
	struct store_part *part;
	int r;

	(void)pthread_mutex_lock(&store->lock);
	for (;;) {
		while (!store->first && !store->ended)
			(void)pthread_cond_wait(&store->changed, &store->lock);
		if (!store->first)
			break;
		part = take_part(store);
		store->busy = true;
		r = store->failed;
		(void)pthread_mutex_unlock(&store->lock);
		/* Behind a part that is missing nothing could be read. */
		if (r == 0)
			r = part->rotate ? next_file(store)
					 : write_out(store->fd, part->bytes,
						     part->len);
		free(part);
		(void)pthread_mutex_lock(&store->lock);
		store->failed = r;
		store->busy = false;
		(void)pthread_cond_broadcast(&store->changed);
	}
	(void)pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* The writer, with no signal of its own: those are others' to take. */
static int start_writer(struct store *store)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&store->writer, NULL, write_all, store);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	store->writing = r == 0;
	return r;
}

int store_open(struct store *store, const char *path)
{
	int r = 0;

	*store = STORE_NONE;
	if (path) {
		store->path = strdup(path);
		if (!store->path)
			return -ENOMEM;
	}
	store->fd = path ? open_named(path) : open_nameless();
	r = store->fd < 0 ? store->fd : start_writer(store);
	if (r < 0) {
		if (store->fd >= 0)
			(void)close(store->fd);
		free(store->path);
		*store = STORE_NONE;
	}
	return r;
}

/* Hand a part to the writer. It is the writer's from then on. */
static int put_part(struct store *store, struct store_part *part)
{
	int r;

	(void)pthread_mutex_lock(&store->lock);
	r = store->failed;
	if (r == 0 && store->last)
		store->last->next = part;
	else if (r == 0)
		store->first = part;
	if (r == 0)
		store->last = part;
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->lock);
	if (r < 0)
		free(part);
	return r;
}

int store_write(void *ctx, const char *bytes, size_t len)
{
	struct store_part *part = malloc(sizeof(*part) + len);

	if (!part)
		return -ENOMEM;
	*part = (struct store_part){ .len = len };
	memcpy(part->bytes, bytes, len);
	return put_part(ctx, part);
}

int store_rotate(void *ctx)
{
	struct store_part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	part->rotate = true;
	return put_part(ctx, part);
}

int store_wait(struct store *store)
{
	int r;

	(void)pthread_mutex_lock(&store->lock);
	while (store->writing && (store->first || store->busy))
		(void)pthread_cond_wait(&store->changed, &store->lock);
	r = store->failed;
	(void)pthread_mutex_unlock(&store->lock);
	return r;
}

int store_close(struct store *store)
{
	int r = store_wait(store);

	if (store->writing) {
		(void)pthread_mutex_lock(&store->lock);
		store->ended = true;
		(void)pthread_cond_broadcast(&store->changed);
		(void)pthread_mutex_unlock(&store->lock);
		(void)pthread_join(store->writer, NULL);
	}
	/* A full disk may be told as late as this (NFS, quotas). */
	if (store->fd >= 0 && close(store->fd) < 0 && errno != EINTR && r == 0)
		r = -errno;
	free(store->path);
	*store = STORE_NONE;
	return r;
}

static int map_fd(int fd, struct mapped *ret)
{
	struct stat st;
	void *at;

	*ret = (struct mapped){ .bytes = "" };
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		return 0;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*ret = (struct mapped){ .bytes = at, .len = (size_t)st.st_size };
	return 0;
}

int store_map(struct store *store, struct mapped *ret)
{
	/* What could not be written does not spoil what was. */
	(void)store_wait(store);
	return map_fd(store->fd, ret);
}

int mapped_open(struct mapped *ret, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	*ret = (struct mapped){ .bytes = "" };
	if (fd < 0)
		return -errno;
	r = map_fd(fd, ret);
	(void)close(fd);
	return r;
}

void mapped_close(struct mapped *mapped)
{
	union {
		const char *bytes;
		void *at;
	} u = { .bytes = mapped->bytes };

	if (mapped->len)
		(void)munmap(u.at, mapped->len);
	*mapped = (struct mapped){ .bytes = "" };
}
