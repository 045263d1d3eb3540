# SPDX-License-Identifier: Apache-2.0
"""tree.py SECONDS: two children, each with a thread that works and one that
sleeps."""
import os
import sys
import threading
import time


def half_a(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(400))


def half_b(seconds):
    time.sleep(seconds)


def child(seconds):
    threads = [threading.Thread(target=half, args=(seconds,))
               for half in (half_a, half_b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for _ in range(2):
    if os.fork() == 0:
        child(float(sys.argv[1]))
        os._exit(0)
os.wait()
os.wait()
