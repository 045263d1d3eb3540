# SPDX-License-Identifier: Apache-2.0
"""Counts how often a profiler makes calls of C code return EINTR.

	eintr.py LIBRARY SECONDS [brief]

Two threads sleep in such calls while the main thread is busy; or one is always on its
way into one or out of it.
"""
import ctypes
import sys
import threading

from truth import burn, note, timed

library = ctypes.CDLL(sys.argv[1])
library.eintr_brief.argtypes = [ctypes.c_double, ctypes.POINTER(ctypes.c_long)]
library.eintr_epoll.argtypes = library.eintr_recv.argtypes = [ctypes.c_double]
SECONDS = float(sys.argv[2])


def in_epoll():
    note(call="epoll_wait", eintr=library.eintr_epoll(SECONDS))


def in_recv():
    note(call="recv", eintr=library.eintr_recv(SECONDS))


def busy():
    burn(SECONDS)


def brief():
    calls = ctypes.c_long()
    eintr = library.eintr_brief(SECONDS, ctypes.byref(calls))
    note(call="brief", eintr=eintr, calls=calls.value)


if sys.argv[3:]:
    timed(brief)
    sys.exit()
threads = [threading.Thread(target=timed, args=(work,))
           for work in (in_epoll, in_recv)]
for thread in threads:
    thread.start()
timed(busy)
for thread in threads:
    thread.join()
