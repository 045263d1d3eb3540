# SPDX-License-Identifier: Apache-2.0
"""refuse.py NAME[,NAME...] COMMAND...: run a command to which the kernel says no.

NAME: connector (the socket), perf (perf_event_open), ptrace, readv
(process_vm_readv). Each fails with EPERM, as in a sandbox, by a seccomp filter
that all descendants inherit. Exits with 77 where there is no seccomp.
"""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"socket": 41, "perf": 298, "ptrace": 101, "readv": 310},
    "aarch64": {"socket": 198, "perf": 241, "ptrace": 117, "readv": 270},
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | errno.EPERM
# In struct seccomp_data: the call's number, its first and its third argument.
AT_NUMBER, AT_FAMILY, AT_PROTOCOL = 0, 16, 32
AF_NETLINK, NETLINK_CONNECTOR = 16, 11


def filter_of(names):
    numbers = NUMBERS[platform.machine()]
    code = [(LOAD, 0, 0, AT_NUMBER)]
    for name in names:
        if name == "connector":
            code += [(EQUAL, 0, 5, numbers["socket"]),
                     (LOAD, 0, 0, AT_FAMILY), (EQUAL, 0, 3, AF_NETLINK),
                     (LOAD, 0, 0, AT_PROTOCOL),
                     (EQUAL, 0, 1, NETLINK_CONNECTOR),
                     (RETURN, 0, 0, REFUSE), (LOAD, 0, 0, AT_NUMBER)]
        else:
            code += [(EQUAL, 0, 1, numbers[name]), (RETURN, 0, 0, REFUSE)]
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *one) for one in code), len(code)


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        code, n = filter_of(sys.argv[1].split(","))
    except KeyError:
        sys.exit(77)
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", n, ctypes.addressof(held)))
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                       ctypes.byref(program), 0, 0)):
        sys.exit(77)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
