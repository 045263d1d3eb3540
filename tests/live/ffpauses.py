# SPDX-License-Identifier: Apache-2.0
"""When the machine stood still.

A virtual machine that has used up its share of the host is not run for up to a tenth
of a second, all of its CPUs or one of them. What lives shorter than that may then be
seen by nobody, and CPU time that no clock has counted is nobody's. Which of our tests
that was is told by a watcher on each CPU that sleeps for some milliseconds, before
all others when it wakes, and notes when it overslept.
"""
import ctypes
import os
import select
import signal
import time

STEP = .005
PAUSE = .02
PRIORITY = 50  # before whatever we test, so that none of its faults is a pause

_watch = None


def _end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _watcher(cpu, fd):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    while True:
        begin = time.monotonic()
        time.sleep(STEP)
        end = time.monotonic()
        if end - begin > STEP + PAUSE:
            os.write(fd, b"%f %f\n" % (begin, end))


def _start():
    parent = os.getpid()
    reader, writer = os.pipe()
    for cpu in os.sched_getaffinity(0):
        if os.fork():
            continue
        try:
            _end_with_parent()
            if os.getppid() == parent:
                os.close(reader)
                _watcher(cpu, writer)
        finally:
            os._exit(1)
    os.close(writer)
    return reader


class _Watch:
    def __init__(self):
        self.fd = _start()
        self.text = b""

    def pauses(self):
        while select.select([self.fd], [], [], 0)[0]:
            more = os.read(self.fd, 65536)
            if not more:
                break  # the watchers were refused: nobody knows
            self.text += more
        return [tuple(map(float, line.split()))
                for line in self.text.splitlines()]


def begin():
    """Watch from now on, for as long as this process lives."""
    global _watch
    if not _watch:
        _watch = _Watch()


def longest(since):
    """The longest pause since then (time.monotonic), in seconds; 0: none is known."""
    time.sleep(2 * STEP)
    return max((end - start for start, end in _watch.pauses() if end > since),
               default=0)
