# SPDX-License-Identifier: Apache-2.0
"""What the target programs share: the one burner, and the file of true facts.

A live test names a file in FFLIVE_TRUTH. What a program knows of itself (who it
is, when a function began and ended, what its CPU clock says) goes there, so that
its standard output is the same with and without a profiler.
"""
import json
import os
import signal
import time


def burn(seconds):
    """The only place where these programs use CPU; a frame of its own."""
    end = time.monotonic() + seconds  # LINE: burn begins
    while time.monotonic() < end:
        sum(range(400))  # LINE: burn ends


def burn_cpu(seconds):
    """As burn, but by the thread's own CPU clock."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(400))


def note(**facts):
    """Append one line. One write with O_APPEND is whole, whoever else writes."""
    path = os.environ.get("FFLIVE_TRUTH")
    if not path:
        return
    facts["pid"] = os.getpid()
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, (json.dumps(facts) + "\n").encode())
    os.close(fd)


def timed(work, *args):
    """Call work and note when it ran, and what it cost its thread."""
    begin, cpu = time.monotonic(), time.thread_time()
    result = work(*args)
    cpu, end = time.thread_time() - cpu, time.monotonic()
    note(span=work.__name__, begin=begin, end=end, cpu=cpu)
    return result


def bound_to(parent):
    """Die with the parent (PR_SET_PDEATHSIG): no test leaves this one behind."""
    import ctypes  # here, as it is slow to import and few need it

    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
