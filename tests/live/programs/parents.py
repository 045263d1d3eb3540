# SPDX-License-Identifier: Apache-2.0
"""Who is whose child: a fork from a worker thread, an orphan and its child.

	parents.py SECONDS

root - by_thread (forked by a thread that is not the main one)
     - middle    (leaves at once)
       - orphan  (its parent is 1 by now, or a subreaper)
         - grandchild_of_orphan
"""
import os
import sys
import threading
import time

from truth import burn, note, timed

SECONDS = float(sys.argv[1])


def by_thread():
    burn(SECONDS)


def orphan():
    burn(SECONDS)


def grandchild_of_orphan():
    burn(SECONDS / 2)


def forker():
    pid = os.fork()
    if pid == 0:
        timed(by_thread)
        os._exit(0)
    os.waitpid(pid, 0)


def middle():
    note(role="middle")
    if os.fork():
        os._exit(0)
    time.sleep(.2)  # until middle has left
    if os.fork() == 0:
        timed(grandchild_of_orphan)
        os._exit(0)
    timed(orphan)
    os._exit(0)


note(role="root")
# The end of file on this pipe says that the last descendant has gone.
gone, alive = os.pipe()
thread = threading.Thread(target=forker)
thread.start()
child = os.fork()
if child == 0:
    middle()
os.close(alive)
os.waitpid(child, 0)
thread.join()
os.read(gone, 1)
