# SPDX-License-Identifier: Apache-2.0
"""Grandchildren that end by _exit or are killed: nothing in them can save data.

	killed.py SECONDS
"""
import os
import signal
import sys
import time

from truth import burn, note, timed

SECONDS = float(sys.argv[1])


def gc_exit():
    burn(SECONDS)


def gc_killed():
    note(role="gc_killed", begin=time.monotonic())
    burn(60)


def mid():
    note(role="mid")
    leaver = os.fork()
    if leaver == 0:
        timed(gc_exit)
        os._exit(0)
    victim = os.fork()
    if victim == 0:
        gc_killed()
    time.sleep(SECONDS)
    os.kill(victim, signal.SIGKILL)
    note(killed=victim, end=time.monotonic())
    os.waitpid(leaver, 0)
    os.waitpid(victim, 0)
    os._exit(0)


note(role="root")
children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        mid()
    children.append(child)
for child in children:
    os.waitpid(child, 0)
