# SPDX-License-Identifier: Apache-2.0
"""pool.py N: N forked workers that wait in a pipe; two of them work when told.

Order: SECONDS. The two burn that long in the function `busy_work`; the answer has
their pids, and how much work they did. The others end when the target does.
"""
import os
import sys

from common import burn, clock, serve


def busy_work(seconds):
    done, end = 0, clock() + seconds
    while clock() < end:
        burn(2000)
        done += 1
    return done


def worker(orders, answers):
    while True:
        order = os.read(orders, 16)
        if not order:
            os._exit(0)
        os.write(answers, b"%d\n" % busy_work(float(order)))


def forked(orders, writers, answers):
    pid = os.fork()
    if pid == 0:
        os.close(0)
        for fd in writers:
            os.close(fd)
        worker(orders, answers)
    return pid


def work(seconds):
    begin = clock()
    for _, fd in chosen:
        os.write(fd, b"%-16g" % seconds)
    said = b""
    while said.count(b"\n") < len(chosen):
        said += os.read(answered, 64)
    return {"wall": clock() - begin, "busy": [pid for pid, _ in chosen],
            "done": sum(int(word) for word in said.split())}


answered, answers = os.pipe()
gate, opener = os.pipe()
pipes = [os.pipe() for _ in range(2)]
writers = [opener] + [fd for _, fd in pipes]
chosen = [(forked(orders, writers, answers), fd) for orders, fd in pipes]
for _ in range(int(sys.argv[1]) - len(chosen)):
    forked(gate, writers, answers)
serve(work)
