/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A growing array of one type: `struct VEC(int) v = { 0 };`. The owner frees it
 * with vec_free; a zeroed one is empty and freeing it is harmless. Elements
 * move when it grows: keep indices, not pointers.
 */
#define VEC(type)            \
	{                    \
		type *at;    \
		size_t n;    \
		size_t room; \
	}

/*
 * Make room for @more elements of @size bytes beyond @n. @at is the address of
 * the array's pointer, whatever its type. Returns false, with nothing changed,
 * when memory is gone or the size would overflow.
 */
static inline bool vec_grow(void *at, size_t n, size_t *room, size_t size,
			    size_t more)
{
	size_t want = *room ? *room : 8;
	void *array;

	if (more > SIZE_MAX - n)
		return false;
	if (n + more <= *room)
		return true;
	while (want < n + more) {
		if (want > SIZE_MAX / 2)
			return false;
		want *= 2;
	}
	if (want > SIZE_MAX / size)
		return false;
	/* Copied as bytes: a `char *` must not be read as a `void *`. */
	memcpy(&array, at, sizeof(array));
	array = realloc(array, want * size);
	if (!array)
		return false;
	memcpy(at, &array, sizeof(array));
	*room = want;
	return true;
}

/* Room for @more elements in @v; false when memory is gone. */
#define vec_reserve(v, more) \
	vec_grow(&(v)->at, (v)->n, &(v)->room, sizeof(*(v)->at), (more))

/* Append @value; false when memory is gone. */
#define vec_push(v, value) \
	(vec_reserve((v), 1) ? ((v)->at[(v)->n++] = (value), true) : false)

/* Take out element @i; the last one takes its place. */
#define vec_take_out(v, i) ((v)->at[i] = (v)->at[(v)->n - 1], (void)(v)->n--)

#define vec_free(v)             \
	do {                    \
		free((v)->at);  \
		(v)->at = NULL; \
		(v)->n = 0;     \
		(v)->room = 0;  \
	} while (0)

#endif
