# SPDX-License-Identifier: Apache-2.0
"""deep.py DEPTH SECONDS: busy at the end of a recursion."""
import sys
import threading

from burner import burn, note, mono

DEPTH = int(sys.argv[1])


def leaf_here():
    begin = mono()
    burn(float(sys.argv[2]))
    note(span="leaf_here", begin=begin, end=mono())


def down(n):
    if n == 0:
        return leaf_here()
    return down(n - 1)


def root_here():
    down(DEPTH)


sys.setrecursionlimit(DEPTH + 200)
threading.stack_size(512 << 20)
thread = threading.Thread(target=root_here)
thread.start()
thread.join()
