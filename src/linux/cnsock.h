/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_CNSOCK_H
#define LINUX_CNSOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct nl_sock;

/*
 * The proc connector's socket, filtered and bound, before anything is asked of
 * the kernel. Part of linux/cnproc; nobody else has a use for it.
 *
 * Returns 0, the caller frees *@ret with nl_socket_free; a negative errno, with
 * @err told. The socket does not block.
 */
int cnsock_open(struct nl_sock **ret, struct error *err);

/* Ask for so many bytes of receive buffer; 0: 8 MiB. The kernel doubles it. */
void cnsock_buffer(int fd, size_t buffer);

/*
 * Send PROC_CN_MCAST_LISTEN or _IGNORE. @cookie comes back, plus one, in the
 * answer. Returns 0 or a negative errno; -ECONNREFUSED in a network namespace
 * other than the initial one.
 */
int cnsock_request(struct nl_sock *sock, uint32_t op, uint32_t cookie);

#endif
