# SPDX-License-Identifier: Apache-2.0
"""empty_thread.py LIBRARY SECONDS: busy, beside a thread of C that the interpreter
knows and that runs no Python."""
import ctypes
import os
import sys

from burner import burn, timed

ctypes.CDLL(sys.argv[1]).empty_thread()


def main_work():
    burn(float(sys.argv[2]))


timed(main_work)()
os._exit(0)
