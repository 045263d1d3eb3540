# SPDX-License-Identifier: Apache-2.0
"""Children that end in every way, and a root that leaves with 7 before the last.

Each notes how it will end: exit or signal, as wait() tells it.
"""
import os
import resource
import signal
import sys
import threading
import time

from truth import note

TIME = .12  # long enough for who looks now and then


def well():
    note(role="well", exit=0)
    time.sleep(TIME)
    os._exit(0)


def badly():
    note(role="badly", exit=3)
    time.sleep(TIME)
    os._exit(3)


def killed():
    note(role="killed", signal=signal.SIGKILL)
    time.sleep(TIME)
    os.kill(os.getpid(), signal.SIGKILL)


def aborted():
    note(role="aborted", signal=signal.SIGABRT)
    time.sleep(TIME)
    os.abort()


def leaderless():
    """The first thread ends with 0; another ends the process, later, with 5."""
    import ctypes

    def last():
        time.sleep(TIME * 2)
        os._exit(5)

    note(role="leaderless", exit=5)
    threading.Thread(target=last).start()
    ctypes.CDLL(None).pthread_exit(None)


def outlives():
    """Its parent has gone by then, and it is reaped by somebody else."""
    os.setsid()
    note(role="outlives", exit=9)
    time.sleep(TIME * 4)
    os._exit(9)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
children = []
for work in (well, badly, killed, aborted, leaderless, outlives):
    child = os.fork()
    if child == 0:
        work()
    if work is not outlives:
        children.append(child)
# All are zombies for a while.
time.sleep(TIME * 2.5)
for child in children:
    os.waitpid(child, 0)
note(role="root", exit=7)
sys.exit(7)
