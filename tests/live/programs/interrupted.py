# SPDX-License-Identifier: Apache-2.0
"""Counts the SIGINTs it gets, from the first one on for half a second."""
import os
import signal
import sys
import time

count = 0


def interrupted(signum, frame):
    global count
    count += 1


def rest(seconds):
    """Sleep on through signals; by short sleeps, as each may be cut off."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(.02)


signal.signal(signal.SIGINT, interrupted)
print("ready", *[os.isatty(fd) for fd in range(3)], flush=True)
end = time.monotonic() + 20
while not count and time.monotonic() < end:
    time.sleep(.02)
rest(.5)
print("interrupts", count, flush=True)
sys.exit(5)
