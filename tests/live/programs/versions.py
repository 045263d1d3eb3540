# SPDX-License-Identifier: Apache-2.0
"""versions.py SECONDS: busy under two callers in turn, while a thread sleeps, and,
for the first half, a forked child. For Python 2.7 as for 3."""
import os
import sys
import threading
import time


def busy(until):
    n = 0
    while time.time() < until:  # LINE: busy begins
        n += 1  # LINE: busy ends


def first(until):
    busy(until)  # LINE: first


def second(until):
    busy(
        until  # LINE: second ends
    )


def rest():
    time.sleep(60)  # LINE: rest


def child(seconds):
    time.sleep(seconds)  # LINE: child


def main(half):
    thread = threading.Thread(target=rest)
    thread.daemon = True
    thread.start()
    pid = os.fork()
    if not pid:
        child(half)
        os._exit(0)
    first(time.time() + half)
    second(time.time() + half)
    os.waitpid(pid, 0)
    os._exit(0)


main(float(sys.argv[1]) / 2)
