/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * A file that is either written whole or left as it was: it is written without a
 * name, and gets its own when it is done; where the file system has no such files
 * it is written beside, and then renamed. What is no regular file (a terminal, a pipe, /dev/null) is
 * written to directly; "-" is standard output.
 */
struct output {
	int fd;       /* -1: closed */
	char *path;   /* NULL: written to directly */
	char *beside; /* its name so far; NULL: none */
};

#define OUTPUT_NONE ((struct output){ .fd = -1 })

/* Returns 0 or a negative errno. */
int output_open(struct output *out, const char *path);

/* A forkflame_write_fn; @ctx is the struct output. */
int output_write(void *ctx, const char *bytes, size_t len);

/* Make it the file. Returns 0 or a negative errno; the output is closed. */
int output_commit(struct output *out);

/* Leave the file as it was. Harmless after a commit. */
void output_abandon(struct output *out);

/*
 * The name of a file: @pattern with %p replaced by @pid, %t by the time in UTC,
 * %% by %. Without %p in it, ".PID" is put behind where @split. @again > 0: the
 * pid came up before, "-N" keeps the names apart.
 *
 * Returns a string to be freed, NULL when memory is gone.
 */
char *output_name(const char *pattern, int split, pid_t pid, unsigned again);

/* A name for want of one: "WORD-2026-11-30T05:09:02Z.html". To be freed. */
char *output_made_up(const char *word, const char *ending);

#endif
