# SPDX-License-Identifier: Apache-2.0
"""outside.py SECONDS: a thread that hashes, without the interpreter's lock, in one C call
after another, beside one that takes the lock for a moment each millisecond."""
import hashlib
import sys
import threading
import time

from truth import timed

SECONDS = float(sys.argv[1])
BLOCK = b"x" * 8000000


def hashing():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        hashlib.sha256(BLOCK).digest()


def ticking():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(.001)


threads = [threading.Thread(target=timed, args=(work,)) for work in (hashing, ticking)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
