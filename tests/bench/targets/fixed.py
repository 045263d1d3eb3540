# SPDX-License-Identifier: Apache-2.0
"""fixed.py DEPTH WORKERS NATIVES: units of the same work at the bottom of a stack of DEPTH
frames, by so many processes at once: this one, and what it has forked. In this one there
are so many threads besides that know nothing of Python, and sleep.

Order: SECONDS. For each unit of work: its wall time, its CPU time, and the time for
which it waited for a CPU. What is left of the wall time, it was held.
"""
import ctypes
import json
import os
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


def all_work(seconds):
    for orders, _ in workers:
        os.write(orders, b"%-16g" % seconds)
    units = work(seconds)["units"]
    for _, answers in workers:
        units += json.loads(answers.readline())
    return {"units": units}


def worker(orders, answers):
    while True:
        order = os.read(orders, 16)
        if not order:
            os._exit(0)
        text = json.dumps(work(float(order))["units"]) + "\n"
        with os.fdopen(os.dup(answers), "w") as file:
            file.write(text)


def forked():
    (orders, order), (answers, answer) = os.pipe(), os.pipe()
    if os.fork() == 0:
        for fd in [0, order, answers] + [one for one, _ in workers]:
            os.close(fd)
        worker(orders, answer)
    os.close(orders)
    os.close(answer)
    return order, os.fdopen(answers)


sys.setrecursionlimit(5000)
workers = []
for _ in range(int(sys.argv[2]) - 1):
    workers.append(forked())
libc = ctypes.CDLL(None)
for _ in range(int(sys.argv[3])):
    if libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.pause, None):
        sys.exit("fixed.py: no more threads")
serve(all_work)
