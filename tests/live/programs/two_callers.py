# SPDX-License-Identifier: Apache-2.0
"""two_callers.py SECONDS: two pairs of functions that never meet, in turn. For
Python 2.7 as for 3."""
import sys

from burner import mono


def leaf_a():
    return sum(range(60))


def leaf_b():
    return sum(range(60))


def hot_a():
    return leaf_a()


def hot_b():
    return leaf_b()


def main(seconds):
    end = mono() + seconds
    while mono() < end:
        for _ in range(50):
            hot_a()
            hot_b()


main(float(sys.argv[1]))
