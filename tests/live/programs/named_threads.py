# SPDX-License-Identifier: Apache-2.0
"""named_threads.py SECONDS: threads with names of every kind; the numbers of those
that the program named and of those that it did not go to the file of the truth."""
import sys
import threading
import time

from burner import burn
from truth import note

SECONDS = float(sys.argv[1])
LONG = "longer than the kernel keeps " * 3


class Worker(threading.Thread):
    """With a dictionary of its own, for which its type's keys are not enough."""

    def __init__(self, name):
        threading.Thread.__init__(self, name=name)
        for i in range(60):
            setattr(self, "more%d" % i, i)

    def run(self):
        wait_here()


class Slotted(threading.Thread):
    __slots__ = ("first", "second")


def wait_here():
    time.sleep(SECONDS)


def not_of_threading():
    time.sleep(SECONDS)


def start(thread):
    thread.daemon = True
    thread.start()
    return thread


WIDE = u"\u4e2d\U0001f40d" if sys.version_info[0] > 2 else "wide"
start(threading.Thread(target=wait_here, name=LONG))
start(threading.Thread(target=wait_here, name=WIDE))
start(Worker("of a subclass"))
start(Slotted(target=wait_here, name="with slots"))
renamed = start(threading.Thread(target=wait_here, name="before"))
renamed.name = "and after"
try:
    from thread import start_new_thread
except ImportError:
    from _thread import start_new_thread
start_new_thread(not_of_threading, ())
current = getattr(threading, "current_thread", None) or threading.currentThread
start_new_thread(lambda: (current(), not_of_threading()), ())
# Names come and go, at addresses that are used again.
start(threading.Thread(target=burn, args=(SECONDS,), name="busy"))
note(names=[LONG, WIDE, "of a subclass", "with slots", "and after", "busy",
            "MainThread"])
end = time.time() + SECONDS
while time.time() < end:
    for i in range(100):
        renamed.name = "name %d" % i
    renamed.name = "and after"
    time.sleep(.001)
