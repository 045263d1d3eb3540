# SPDX-License-Identifier: Apache-2.0
"""Many children at once, more in all, each busy for a moment and then asleep.

	crowd.py ALIVE TOTAL
"""
import os
import sys
import time

from truth import burn_cpu, note

ALIVE, TOTAL = int(sys.argv[1]), int(sys.argv[2])


def one_child():
    begin = time.monotonic()
    burn_cpu(.005)
    time.sleep(.5)
    note(role="child", wall=time.monotonic() - begin)


alive = 0
for _ in range(TOTAL):
    if alive >= ALIVE:
        os.wait()
        alive -= 1
    if os.fork() == 0:
        one_child()
        os._exit(0)
    alive += 1
while alive:
    os.wait()
    alive -= 1
