/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdbool.h>

#include "cli/options.h"

/* Values of options, from their texts. */

/* A number, with k for thousands where @kilo; false when it is none. */
bool words_number(const char *text, bool kilo, double *ret);

/* A number of bytes: "4096", "100k", "20M", "1G"; false when it is none. */
bool words_bytes(const char *text, uint64_t *ret);

/* A time in seconds, also "90s", "5m", "2h"; false when it is none. */
bool words_seconds(const char *text, uint64_t *ret_ns);

/* "PID" or "PID,PID": false when one is none, or there are too many. */
bool words_pids(const char *text, int32_t *pids, size_t *n);

/* The value of one of some words, or -1. */
struct word {
	const char *text;
	int value;
};
int words_value(const struct word *words, const char *text);

/*
 * The format that a file's name asks for, by its ending.
 *
 * @ret_recording  set to whether it is the recording itself (.ff)
 *
 * Returns an enum forkflame_format, or -1: its ending says nothing.
 */
int words_format_of(const char *name, bool *ret_recording);

/* The format of a name for -f, likewise; -1: there is none of this name. */
int words_format(const char *text, bool *ret_recording);

/* The ending of a file of a format, without the dot. */
const char *words_ending(enum forkflame_format format);

#endif
