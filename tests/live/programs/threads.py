# SPDX-License-Identifier: Apache-2.0
"""Threads that come and go beside one that works on; a zombie; names that mislead.

	threads.py churn|brief|names SECONDS
"""
import ctypes
import os
import sys
import threading
import time

from truth import burn, note, timed

HOW, SECONDS = sys.argv[1], float(sys.argv[2])
NAMES = [b"a) R 1 (b", b") ) ) ) ) ) )", b"x\ny 7 8 9", b"((((((((((((((("]
PR_SET_NAME = 15


def steady():
    burn(SECONDS)


def churn():
    """Threads of some milliseconds, one after the other."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        thread = threading.Thread(target=time.sleep, args=(.002,))
        thread.start()
        thread.join()


def brief():
    burn(.1)


def rest():
    burn(SECONDS)


def hostile_name():
    time.sleep(SECONDS)


def named(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)
    timed(hostile_name)


def together(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if HOW == "churn":
    zombie = os.fork()
    if zombie == 0:
        os._exit(4)
    note(zombie=zombie)
    together(threading.Thread(target=timed, args=(steady,)),
             threading.Thread(target=churn))
    os.waitpid(zombie, 0)
elif HOW == "brief":
    for _ in range(20):
        one = threading.Thread(target=brief)
        one.start()
        one.join(.01)
    timed(rest)
else:
    together(*[threading.Thread(target=named, args=(name,)) for name in NAMES])
