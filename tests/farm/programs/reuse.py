# SPDX-License-Identifier: Apache-2.0
"""reuse.py SECONDS: functions that are made, called once and thrown away, so that
the next ones have their addresses. For Python 2.7 as for 3.

What is right can be told of each stack alone: inner_N is called by outer_N, both
are of the file <made N>, and their lines follow from N.
"""
from __future__ import print_function

import sys
import time

LINES = 40


def make(n):
    text = ("\n" * (n % LINES) +
            "def outer_%05d(r):\n  return inner_%05d(r)\n"
            "def inner_%05d(r):\n  for i in r: i * i\n" % (n, n, n))
    space = {}
    exec(compile(text, "<made %05d>" % n, "exec"), space)
    return space


def main(seconds):
    work = list(range(2000))
    end = time.time() + seconds
    n = 0
    while time.time() < end:
        space = make(n)
        space["outer_%05d" % n](work)
        n = (n + 1) % 100000
    print(n)


main(float(sys.argv[1]))
