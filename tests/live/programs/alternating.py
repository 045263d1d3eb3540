# SPDX-License-Identifier: Apache-2.0
"""Two call chains in quick turns: hot_a calls leaf_a only, hot_b leaf_b only.

	alternating.py calls|generators SECONDS

A stack with leaf_a under hot_b never existed. Each function stands on one line,
so that a frame's line is known as well.
"""
import os
import sys
import time

from truth import timed


def leaf_a(): return sum(range(60))  # LINE: leaf_a
def leaf_b(): return sum(range(60))  # LINE: leaf_b


if sys.argv[1] == "generators":
    def hot_a():
        while True: yield leaf_a()  # LINE: generators hot_a

    def hot_b():
        while True: yield leaf_b()  # LINE: generators hot_b

    a, b = hot_a().__next__, hot_b().__next__
else:
    def hot_a(): return leaf_a()  # LINE: calls hot_a
    def hot_b(): return leaf_b()  # LINE: calls hot_b

    a, b = hot_a, hot_b


def main():
    end = time.monotonic() + float(sys.argv[2])  # LINE: main begins
    while time.monotonic() < end:
        for _ in range(50):
            a()
            b()  # LINE: main ends


timed(main)
# The interpreter's end would close the generators, each a stack of its own.
os._exit(0)
