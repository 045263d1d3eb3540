# SPDX-License-Identifier: Apache-2.0
"""Equal workers, each by turns at work for a moment and idle, for so long.

	workers.py WORKERS SECONDS [BYTES]

Before all, so many bytes of memory are mapped, and not touched.
"""
import mmap
import os
import sys
import time

from truth import burn_cpu, note

WORKERS, SECONDS = int(sys.argv[1]), float(sys.argv[2])
BYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 0


def work():
    burn_cpu(.0005)


def rest():
    time.sleep(.03)


def one_worker():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        work()
        rest()
    note(role="worker")


mapped = mmap.mmap(-1, BYTES) if BYTES else None
for _ in range(WORKERS):
    if os.fork() == 0:
        one_worker()
        os._exit(0)
note(role="all there")
for _ in range(WORKERS):
    os.wait()
