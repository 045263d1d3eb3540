# SPDX-License-Identifier: Apache-2.0
"""ghosts.py SECONDS: a fork in a process of three threads. The child has one, and
a handler that runs before it knows. For Python 2.7 as for 3."""
import os
import sys
import threading
import time

from burner import burn, note, timed

SECONDS = float(sys.argv[1])


def ghost_busy():
    burn(60)


def ghost_asleep():
    time.sleep(60)


def only_child():
    burn(SECONDS)


def slow_hook():
    burn(SECONDS / 2)


for work in (ghost_busy, ghost_asleep):
    thread = threading.Thread(target=work)
    thread.daemon = True
    thread.start()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=timed(slow_hook))
time.sleep(.2)
pid = os.fork()
if not pid:
    note(role="child")
    timed(only_child)()
    os._exit(0)
note(role="parent")
os.waitpid(pid, 0)
os._exit(0)
