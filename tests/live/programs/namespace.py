# SPDX-License-Identifier: Apache-2.0
"""namespace.py SECONDS: one thread is busy, two sleep, and so does a child that was
forked by a thread. To be run where pids begin anew. For Python 2.7 as for 3."""
import os
import sys
import threading
import time

from burner import burn, note, timed

SECONDS = float(sys.argv[1])


def busy_one():
    burn(SECONDS)


def asleep():
    time.sleep(SECONDS)


def forked_asleep():
    time.sleep(SECONDS)


def forker():
    pid = os.fork()
    if not pid:
        timed(forked_asleep)()
        os._exit(0)
    os.waitpid(pid, 0)


threads = [threading.Thread(target=timed(work))
           for work in (asleep, busy_one, asleep, forker)]
for thread in threads:
    thread.start()
note(role="inner")
for thread in threads:
    thread.join()
