# SPDX-License-Identifier: Apache-2.0
"""eintr.py LIBRARY: who sleeps in the kernel beside a busy thread.

Order: SECONDS. Four threads sleep in calls of 50 ms, one in calls of 1 ms; the answer
has for each the number of calls, and of those that failed with EINTR.
"""
import ctypes
import sys
import threading

from common import burn, clock, serve

KINDS = [("epoll_wait", 0, 50), ("sigtimedwait", 1, 50), ("semtimedop", 2, 50),
         ("recv", 3, 50), ("epoll_brief", 0, 1)]

sleep_in = ctypes.CDLL(sys.argv[1]).sleep_in
sleep_in.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_double, ctypes.c_void_p]
sleep_in.restype = None


def busy_work(end):
    while clock() < end:
        burn(2000)


def sleeper(name, call, milliseconds, seconds, told):
    both = (ctypes.c_long * 2)()
    sleep_in(call, milliseconds, seconds, ctypes.addressof(both))
    told[name] = list(both)


def work(seconds):
    told, begin = {}, clock()
    threads = [threading.Thread(target=sleeper, args=kind + (seconds, told))
               for kind in KINDS]
    for thread in threads:
        thread.start()
    busy_work(begin + seconds)
    for thread in threads:
        thread.join()
    return {"calls": told, "wall": clock() - begin}


serve(work)
