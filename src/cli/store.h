/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STORE_H
#define CLI_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Where a recording goes while it happens: a file of the user's, which grows; or,
 * where only a view is wanted, a file without a name, which is gone with us.
 *
 * A thread of its own does the writing: a disk may take its time, and the sampling
 * must not. What it could not write is told by the next call.
 */
struct store_part; /* bytes, or the beginning of the next file */

struct store {
	int fd;        /* -1: none */
	char *path;    /* the user's; NULL: a file without a name */
	unsigned file; /* after a rotation: 1, 2, ... */

	pthread_t writer;
	bool writing; /* there is such a thread */
	pthread_mutex_t lock;
	pthread_cond_t changed;          /* of what follows */
	struct store_part *first, *last; /* to be written */
	bool busy;                       /* a part is being written */
	bool ended;                      /* nothing more comes */
	int failed;                      /* 0 or -errno */
};

#define STORE_NONE                                          \
	((struct store){ .fd = -1,                          \
			 .lock = PTHREAD_MUTEX_INITIALIZER, \
			 .changed = PTHREAD_COND_INITIALIZER })

/* @path  NULL: a file without a name. "-": standard output. 0 or -errno. */
int store_open(struct store *store, const char *path);

/* A forkflame_write_fn and the rotation; @ctx is the struct store. */
int store_write(void *ctx, const char *bytes, size_t len);
int store_rotate(void *ctx);

/* Wait until all is written. 0 or -errno. */
int store_wait(struct store *store);

/* Wait, and close it. 0 or -errno. */
int store_close(struct store *store);

/* A file's bytes, mapped. */
struct mapped {
	const char *bytes;
	size_t len;
};

/* What is in the store by now, once that is written. 0 or -errno. */
int store_map(struct store *store, struct mapped *ret);

/* A file by its name. 0 or -errno. */
int mapped_open(struct mapped *ret, const char *path);
void mapped_close(struct mapped *mapped);

/*
 * The name of the @file-th file of a recording that is rotated: "run.ff",
 * "run.1.ff", "run.2.ff". To be freed; NULL when memory is gone.
 */
char *store_name(const char *path, unsigned file);

#endif
