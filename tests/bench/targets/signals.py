# SPDX-License-Identifier: Apache-2.0
"""signals.py LIBRARY: a busy target of numbered real-time signals.

Order: N US. A child sends N signals, one each US microseconds; the answer tells how
many of them came, and how many out of turn. No signal for 3 s: no more are expected.
"""
import ctypes
import os
import sys

from common import burn, clock, serve

library = ctypes.CDLL(sys.argv[1])
library.signals_send.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long]
library.signals_send.restype = ctypes.c_long
library.signals_seen.argtypes = [ctypes.c_void_p]
both = (ctypes.c_long * 2)()


def busy_work(count):
    patience, last = clock() + 3, 0
    while both[0] < count and clock() < patience:
        burn(2000)
        library.signals_seen(ctypes.addressof(both))
        if both[0] != last:
            patience, last = clock() + 3, both[0]


def work(count, microseconds):
    begin = clock()
    both[0] = both[1] = 0
    library.signals_expect()
    pid = os.fork()
    if pid == 0:
        sent = library.signals_send(os.getppid(), int(count), int(microseconds))
        os._exit(sent != int(count))
    busy_work(int(count))
    _, status = os.waitpid(pid, 0)
    return {"sent_all": status == 0, "came": both[0], "unordered": both[1],
            "wall": clock() - begin}


serve(work)
