# SPDX-License-Identifier: Apache-2.0
"""brief_threads.py SECONDS: twenty threads end while the main one works on."""
import sys
import threading

from burner import burn, timed


def brief():
    burn(.1)


def rest():
    burn(float(sys.argv[1]))


for _ in range(20):
    thread = threading.Thread(target=brief)
    thread.start()
    thread.join(.01)
timed(rest)()
