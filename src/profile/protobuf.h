/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_PROTOBUF_H
#define PROFILE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Protocol buffers' wire format, as much of it as a writer needs: fields of
 * numbers and of bytes, added to @to. A message within a message is made first
 * and then added as bytes. Field numbers are 1 and up.
 *
 * A field whose value is 0 is left out, as proto3 has it, but for protobuf_bytes:
 * in a repeated field an empty element counts. Negative numbers are given as
 * their two's complement, cast to uint64_t. Memory: as struct str, see `failed`.
 */
void protobuf_number(struct str *to, unsigned field, uint64_t value);
void protobuf_bytes(struct str *to, unsigned field, const char *bytes,
		    size_t len);

/* Several numbers in one field, packed; nothing when there are none. */
void protobuf_numbers(struct str *to, unsigned field, const uint64_t *values,
		      size_t n);

#endif
