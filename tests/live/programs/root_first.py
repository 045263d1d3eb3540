# SPDX-License-Identifier: Apache-2.0
"""The root leaves first, with status 7; two children in sessions of their own go on.

	root_first.py SECONDS
"""
import os
import sys

from truth import burn, note, timed


def survivor():
    burn(float(sys.argv[1]))


note(role="root")
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        timed(survivor)
        os._exit(0)
burn(.3)
os.write(1, b"root leaves\n")
os._exit(7)
