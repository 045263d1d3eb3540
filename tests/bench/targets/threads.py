# SPDX-License-Identifier: Apache-2.0
"""threads.py running|sleeping|unchanged N: N threads in the function `member`.

Order: SECONDS. Sleeping ones wake each 4 ms for a moment; unchanged ones never run.
There is one running thread whatever N says, as there is one lock.
"""
import sys
import threading
import time

from common import burn, clock, serve

kind, count = sys.argv[1], int(sys.argv[2])
begin, never = threading.Event(), threading.Lock()
until = 0


def member():
    if kind == "unchanged":
        never.acquire()
    while True:
        begin.wait()
        while clock() < until:
            if kind == "running":
                burn(2000)
            else:
                time.sleep(.004)


def work(seconds):
    global until
    start = clock()
    until = start + seconds
    begin.set()
    time.sleep(seconds)
    begin.clear()
    return {"wall": clock() - start}


if kind == "running":
    count = 1
never.acquire()
for _ in range(count):
    threading.Thread(target=member, daemon=True).start()
serve(work)
