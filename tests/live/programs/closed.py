# SPDX-License-Identifier: Apache-2.0
"""A child that nobody of its own user may read, beside one that all may.

	closed.py SECONDS
"""
import ctypes
import os
import sys

from truth import burn, note, timed

PR_SET_DUMPABLE = 4
SECONDS = float(sys.argv[1])


def open_work():
    burn(SECONDS)


def closed_work():
    burn(SECONDS)


child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    note(role="closed")
    closed_work()
    os._exit(0)
timed(open_work)
os.waitpid(child, 0)
