# SPDX-License-Identifier: Apache-2.0
"""mapped_twice.py SECONDS FILE...: busy, with the files mapped once more, to be
read: below and above where they are mapped to run."""
import ctypes
import os
import sys

from burner import burn, note

PROT_READ, MAP_PRIVATE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + \
    [ctypes.c_long]

for path in sys.argv[2:]:
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    for hint in (0x10000000, None):
        for offset in (0, 8192):
            address = libc.mmap(hint, size - offset, PROT_READ, MAP_PRIVATE, fd,
                                offset)
            if address == ctypes.c_void_p(-1).value:
                raise OSError(ctypes.get_errno(), path)


def placed():
    burn(float(sys.argv[1]))


note(role="mapped")
placed()
