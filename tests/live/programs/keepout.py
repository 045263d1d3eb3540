# SPDX-License-Identifier: Apache-2.0
"""keepout.py LIBRARY DEPTH SECONDS: busy at the end of a recursion, with the page of a
frame half-way down out of the page table."""
import ctypes
import sys

from burner import note

keep_out = ctypes.CDLL(sys.argv[1]).keep_out
keep_out.argtypes = [ctypes.c_void_p, ctypes.c_double]
DEPTH = int(sys.argv[2])


def leaf_here():
    frame = sys._getframe(DEPTH // 2)
    at = id(frame)
    # From 3.11 on that is an object beside the frame, which it points to.
    if sys.version_info >= (3, 11):
        at = ctypes.c_void_p.from_address(at + 24).value
    times = keep_out(at, float(sys.argv[3]))
    note(role="kept", times=times)


def down(n):
    if n == 0:
        return leaf_here()
    return down(n - 1)


sys.setrecursionlimit(DEPTH + 200)
down(DEPTH)
