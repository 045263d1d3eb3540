/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * An error for a person to read. The caller owns it, so that it works when
 * memory is gone; start with ERROR_NONE. The first error recorded stays: what
 * fails afterwards is a consequence.
 */
struct error {
	int code;       /* -errno; 0 while nothing was recorded */
	char text[256]; /* what was attempted: "read /proc/42/stat" */
};

#define ERROR_NONE ((struct error){ 0 })

/*
 * Record that what @format says failed with @code (a negative errno).
 *
 * @err  may be NULL: nothing is recorded then
 *
 * Returns @code, so that a caller can say `return error_set(err, ...)`.
 */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
