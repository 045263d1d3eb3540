# SPDX-License-Identifier: Apache-2.0
"""slots.py MS COUNT: functions p_0, p_1, ... that run MS milliseconds each, so that
a stack tells when it was taken.

Order: 0. It runs them itself, once, and answers when the first one began.
Order: N. So do N forked children, one after the other; the answer has the pid of each
and the time from just before the fork to its first slot, which is its `newborn` time.
"""
import os
import sys

from common import clock, read_all, serve

SLOT, COUNT = float(sys.argv[1]) / 1000, int(sys.argv[2])


def slots(begin):
    for k, function in enumerate(functions):
        function(begin + (k + 1) * SLOT)


def farewell(fd, text):
    os.write(fd, text)
    os._exit(0)


def birth(fd):
    begin = clock()
    pid = os.fork()
    if pid == 0:
        first = clock()
        slots(first)
        farewell(fd, b"%d %.6f\n" % (os.getpid(), first - begin))
    os.waitpid(pid, 0)


def work(count):
    begin = clock()
    if not count:
        slots(begin)
        return {"begin": begin}
    out, fd = os.pipe()
    for _ in range(int(count)):
        birth(fd)
    os.close(fd)
    return {"kids": [[int(pid), float(late)] for pid, late in
                     (line.split() for line in read_all(out).splitlines())]}


scope = {"clock": clock}
for number in range(COUNT):
    exec("def p_%d(end):\n while clock() < end:\n  pass\n" % number, scope)
functions = [scope["p_%d" % number] for number in range(COUNT)]
serve(work)
