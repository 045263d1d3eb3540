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


def victim_work():
    burn(.3 + 2 * STEP * TIMES + .2)


def helper(victim):
    stopped = 0
    time.sleep(.3)
    for _ in range(TIMES):
        begin = time.monotonic()
        os.kill(victim, signal.SIGSTOP)
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
timed(victim_work)
os.waitpid(child, 0)
