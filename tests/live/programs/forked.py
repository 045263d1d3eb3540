# SPDX-License-Identifier: Apache-2.0
"""Three children made by fork alone, each busy in a function of its own.

	forked.py SECONDS
"""
import os
import sys
import time

from truth import burn, note, timed

SECONDS = float(sys.argv[1])


def w0():
    burn(SECONDS)


def w1():
    burn(SECONDS)


def w2():
    burn(SECONDS)


def spawn(work):
    pid = os.fork()
    if pid == 0:
        timed(work)
        os._exit(0)
    return pid


note(role="root")
children = [spawn(work) for work in (w0, w1, w2)]
begin = time.monotonic()
for child in children:
    os.waitpid(child, 0)  # LINE: wait
note(span="wait", begin=begin, end=time.monotonic(), cpu=0)
