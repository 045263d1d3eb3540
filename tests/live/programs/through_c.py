# SPDX-License-Identifier: Apache-2.0
"""through_c.py SECONDS: sixty levels of Python that call C that calls Python. For
Python 2.7 as for 3."""
import sys

from burner import burn, mono, note


def f(n):
    if n == 0:
        begin = mono()
        burn(float(sys.argv[1]))
        return note(span="burn", begin=begin, end=mono())
    return list(map(f, [n - 1]))[0]


f(60)
