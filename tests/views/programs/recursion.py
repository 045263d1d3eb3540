# SPDX-License-Identifier: Apache-2.0
"""recursion.py SECONDS: half of the time below `deep`, half below `even` and
`odd`, which call each other."""
import sys
import time


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(400))


def deep(n, seconds):
    return burn(seconds) if n == 0 else deep(n - 1, seconds)


def even(n, seconds):
    return burn(seconds) if n == 0 else odd(n - 1, seconds)


def odd(n, seconds):
    return even(n - 1, seconds)


deep(50, float(sys.argv[1]))
even(50, float(sys.argv[1]))
