# SPDX-License-Identifier: Apache-2.0
"""fixed.py DEPTH: units of the same work at the bottom of a stack of DEPTH frames.

Order: SECONDS. For each unit of work: its wall time, its CPU time, and the time for
which it waited for a CPU. What is left of the wall time, it was held.
"""
import sys
import time

from common import burn, clock, serve, waited

UNIT = 300000


def bottom(end):
    units = []
    while clock() < end:
        before = clock(), time.thread_time(), waited()
        burn(UNIT)
        after = clock(), time.thread_time(), waited()
        units.append([b - a for a, b in zip(before, after)])
    return units


def descend(depth, end):
    return descend(depth - 1, end) if depth > 1 else bottom(end)


def work(seconds):
    # <module>, serve, work and burn are four of the frames, bottom the fifth.
    return {"units": descend(max(1, int(sys.argv[1]) - 5), clock() + seconds)}


sys.setrecursionlimit(5000)
serve(work)
