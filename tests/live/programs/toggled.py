# SPDX-License-Identifier: Apache-2.0
"""A process that a helper stops and continues, as limiters of CPU time do.

	toggled.py TIMES		stopped and continued for 25 ms each, so often
"""
import os
import signal
import sys
import time

from truth import burn, note, timed

TIMES = int(sys.argv[1])
STEP = .025


def victim_work(child):
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        burn(.05)


def is_stopped(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def helper(victim):
    """Who waits for a CPU stops when he has it, and no sooner."""
    stopped = 0
    time.sleep(.3)
    for _ in range(TIMES):
        os.kill(victim, signal.SIGSTOP)
        while not is_stopped(victim):
            time.sleep(.001)
        begin = time.monotonic()
        time.sleep(STEP)
        os.kill(victim, signal.SIGCONT)
        stopped += time.monotonic() - begin
        time.sleep(STEP)
    note(role="helper", stopped=stopped)
    os._exit(0)


note(role="victim")
me = os.getpid()
child = os.fork()
if child == 0:
    helper(me)
timed(victim_work, child)
