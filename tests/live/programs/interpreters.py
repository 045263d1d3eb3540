# SPDX-License-Identifier: Apache-2.0
"""interpreters.py SECONDS [lent]: the main thread works in a second interpreter, then
in its own; another thread sleeps in a third, of its own making, or of the main
thread's."""
import sys
import threading

from burner import burn, mono, note, timed

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SECONDS = float(sys.argv[1])

WORK = """
import time
def inner_work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(400))
inner_work(%g)
""" % SECONDS

SLEEP = """
import time
def inner_sleep(seconds):
    time.sleep(seconds)
inner_sleep(%g)
""" % SECONDS


def run(interpreter, code, name):
    begin = mono()
    interpreters.run_string(interpreter, code)
    note(span=name, begin=begin, end=mono())


def outer_main():
    run(interpreters.create(), WORK, "inner_work")


lent = interpreters.create() if sys.argv[2:] else None


def outer_thread():
    run(lent or interpreters.create(), SLEEP, "inner_sleep")


def alone():
    burn(SECONDS / 2)


thread = threading.Thread(target=outer_thread)
thread.start()
outer_main()
thread.join()
timed(alone)()
