/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_CNPROC_WIRE_H
#define LINUX_CNPROC_WIRE_H

/*
 * A message of the proc connector, as it lies in the socket: a netlink header
 * (16 bytes), a connector header (20), a proc_event (40). One to a datagram.
 * All in the byte order of the machine.
 *
 * Offsets stand here instead of the kernel's structures, for two reasons. The
 * event begins at offset 36, so that its 64-bit time is misaligned in any
 * buffer: it must be copied out anyway. And <linux/cn_proc.h> names its enum
 * inside the structure before Linux 6.6 and outside of it since; the numbers
 * have never changed.
 */
#define WIRE_NL_LEN 0  /* u32: of the whole message */
#define WIRE_NL_TYPE 4 /* u16 */
#define WIRE_CN_IDX 16 /* u32 */
#define WIRE_CN_VAL 20 /* u32 */
#define WIRE_CN_ACK 28 /* u32: what we sent, plus one, in an acknowledgement */
#define WIRE_CN_LEN 32 /* u16: of what follows the connector's header */
#define WIRE_EVENT 36
#define WIRE_WHAT 36 /* u32 */
#define WIRE_TIME 44 /* u64: CLOCK_MONOTONIC, ns */
#define WIRE_UNION 52

/* Within the union, each u32, by kind of event. */
#define WIRE_ACK_ERR 52
#define WIRE_FORK_PARENT_PID 52
#define WIRE_FORK_PARENT_TGID 56
#define WIRE_FORK_CHILD_PID 60
#define WIRE_FORK_CHILD_TGID 64
#define WIRE_FORK_END 68
#define WIRE_EXEC_TGID 56
#define WIRE_EXEC_END 60
#define WIRE_EXIT_PID 52
#define WIRE_EXIT_TGID 56
#define WIRE_EXIT_CODE 60
#define WIRE_EXIT_END 68 /* the parent, since Linux 4.18, is not used */

#define WIRE_WHAT_ACK 0u
#define WIRE_WHAT_FORK 1u
#define WIRE_WHAT_EXEC 2u
#define WIRE_WHAT_EXIT 0x80000000u

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Is it the answer to a request that was sent with @ack in its header? Pure.
 * *@ret_err is the answer then: 0, or an errno (positive).
 */
bool cnproc_is_ack(const void *bytes, size_t len, uint32_t ack,
		   uint32_t *ret_err);

#endif
