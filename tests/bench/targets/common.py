# SPDX-License-Identifier: Apache-2.0
"""What the benchmark's targets share: how they take orders, and what they burn.

A target prints its pid when it is set up. Then each line of numbers on its standard
input is an order; it does that work, and prints what it knows of it as one line of
JSON. At the end of its input it leaves. All times are CLOCK_MONOTONIC's, in seconds.
"""
import json
import os
import sys
import time

clock = time.monotonic


def serve(work):
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        print(json.dumps(work(*[float(word) for word in line.split()])), flush=True)
    os._exit(0)


def burn(n):
    """Always the same work for the same @n."""
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def waited():
    """For how long the main thread was ready to run, and had no CPU."""
    with open("/proc/self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


def read_all(fd):
    """What others wrote into a pipe, until all of them have closed it."""
    parts = []
    while True:
        part = os.read(fd, 65536)
        if not part:
            os.close(fd)
            return b"".join(parts).decode()
        parts.append(part)
