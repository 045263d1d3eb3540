# SPDX-License-Identifier: Apache-2.0
"""second_library.py SECONDS LIBRARY: busy, with another libpython loaded that is
not used."""
import ctypes
import sys

from burner import burn, note, mono

ctypes.CDLL(sys.argv[2])


def placed():
    begin = mono()
    burn(float(sys.argv[1]))
    note(span="placed", begin=begin, end=mono())


placed()
