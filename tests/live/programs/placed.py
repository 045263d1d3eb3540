# SPDX-License-Identifier: Apache-2.0
"""placed.py SECONDS: busy in a function of this name. For Python 2.7 as for 3."""
import sys

from burner import burn, note, mono


def placed():
    begin = mono()
    burn(float(sys.argv[1]))
    note(span="placed", begin=begin, end=mono())


note(role="placed")
placed()
