# SPDX-License-Identifier: Apache-2.0
"""What is there when a profiler comes, and what comes afterwards.

	attached.py SECONDS

A thread and a child that are there from the start, and a thread and a child (with a
thread of its own) that are made half a second later: each works for 20 ms, sleeps for
30, and so on, until SECONDS after the start.
"""
import os
import sys
import threading
import time

from truth import burn_cpu, note, timed

END = time.monotonic() + float(sys.argv[1])


def live():
    while time.monotonic() < END:
        burn_cpu(.02)
        time.sleep(.03)


def old_thread():
    live()


def new_thread():
    live()


def old_child():
    live()


def thread_of_new_child():
    live()


def new_child():
    other = threading.Thread(target=timed, args=(thread_of_new_child,))
    other.start()
    live()
    other.join()


def fork(work):
    pid = os.fork()
    if pid == 0:
        note(role=work.__name__)
        timed(work)
        os._exit(0)
    return pid


children = [fork(old_child)]
threads = [threading.Thread(target=timed, args=(old_thread,))]
threads[0].start()
note(role="root")
time.sleep(.5)
threads.append(threading.Thread(target=timed, args=(new_thread,)))
threads[1].start()
children.append(fork(new_child))
for thread in threads:
    thread.join()
for pid in children:
    os.waitpid(pid, 0)
