# SPDX-License-Identifier: Apache-2.0
"""kids.py: children that live for some milliseconds.

Order: N MS TOGETHER. N children, TOGETHER at a time, burn MS of CPU each in the
function `child_work`. The answer has each one's pid and the wall time of that.
"""
import os
import time

from common import burn, clock, read_all, serve


def child_work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        burn(200)


def child(seconds, fd):
    begin = clock()
    child_work(seconds)
    os.write(fd, b"%d %.6f\n" % (os.getpid(), clock() - begin))
    os._exit(0)


def work(count, milliseconds, together):
    out, fd = os.pipe()
    alive = 0
    for _ in range(int(count)):
        if alive == int(together):
            os.wait()
            alive -= 1
        if os.fork() == 0:
            child(milliseconds / 1000, fd)
        alive += 1
    os.close(fd)
    said = read_all(out)
    for _ in range(alive):
        os.wait()
    return {"kids": [[int(pid), float(wall)] for pid, wall in
                     (line.split() for line in said.splitlines())]}


serve(work)
