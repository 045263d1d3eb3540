/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_KFRAMES_OBJECT_H
#define LINUX_KFRAMES_OBJECT_H

#include <stddef.h>

/* The compiled kframes.bpf.c, an ELF file; made by kframes_object.sh. */
extern const unsigned char kframes_object[];
extern const size_t kframes_object_len;

#endif
