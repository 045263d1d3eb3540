# SPDX-License-Identifier: Apache-2.0
"""Busy children that are killed one after the other, and waited for.

	victims.py TIMES
"""
import os
import signal
import sys
import time

from truth import burn, note

slowest = 0
for turn in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        burn(60)
    time.sleep(.004 + turn % 10 / 2000)
    begin = time.monotonic()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    slowest = max(slowest, time.monotonic() - begin)
note(slowest=slowest)
