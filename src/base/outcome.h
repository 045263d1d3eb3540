/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

/*
 * What a call on a target can come to. A function that returns `int` returns 0
 * when it did what it says, a negative errno when something failed that its
 * caller passes up unchanged, or one of these, which its direct caller handles.
 * A target that dies or changes is an outcome, not an error.
 */
enum outcome {
	OUT_OK = 0,
	OUT_GONE, /* the process or thread no longer exists */
	OUT_TORN, /* the target changed, or memory is not what it should be */
	OUT_UNKNOWN, /* a Python, but not a version that we have a layout for */
	OUT_FULL,    /* the caller's array is full; what is in it is valid */
	OUT_NOT_YET, /* nothing to be had now; ask again later */
	OUT_NOT_PYTHON, /* certainly no CPython in this image */
	OUT_DENIED,     /* the kernel refuses access to this target */
	OUT_BUSY,       /* could not be stopped before the deadline */
};

#endif
