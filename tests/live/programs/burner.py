# SPDX-License-Identifier: Apache-2.0
"""As truth.py, for Python 2.7 as for 3, and for programs that import little."""
import json
import os
import time

mono = getattr(time, "monotonic", time.time)


def burn(seconds):
    end = mono() + seconds
    while mono() < end:
        sum(range(400))


def note(**facts):
    path = os.environ.get("FFLIVE_TRUTH")
    if not path:
        return
    facts["pid"] = os.getpid()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, (json.dumps(facts) + "\n").encode())
    os.close(fd)


def timed(work):
    """A function that does the work and notes when."""
    def timed_work():
        begin = mono()
        work()
        note(span=work.__name__, begin=begin, end=mono())
    return timed_work
