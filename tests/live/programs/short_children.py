# SPDX-License-Identifier: Apache-2.0
"""Children that live for some milliseconds: forked ones, then exec'd ones.

	short_children.py FORKED SECONDS TOGETHER EXECD

FORKED children are alive TOGETHER at a time and busy for SECONDS; EXECD ones
follow one by one, busy for 0.05 s.
"""
import os
import subprocess
import sys
import time

from truth import burn, note

FORKED, SECONDS, TOGETHER, EXECD = (float(arg) for arg in sys.argv[1:5])
HERE = os.path.dirname(os.path.abspath(__file__))


def tiny():
    burn(SECONDS)


def child():
    begin = time.monotonic()
    tiny()
    note(span="tiny", begin=begin, end=time.monotonic(), cpu=time.process_time())
    os._exit(0)


alive = 0
for _ in range(int(FORKED)):
    if alive == int(TOGETHER):
        os.wait()
        alive -= 1
    if os.fork() == 0:
        child()
    alive += 1
while alive:
    os.wait()
    alive -= 1
for _ in range(int(EXECD)):
    subprocess.call([sys.executable, "-S", os.path.join(HERE, "short_execd.py")])
