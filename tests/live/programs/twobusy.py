# SPDX-License-Identifier: Apache-2.0
"""Threads that want the interpreter's lock all the time, for as long as asked."""
import os
import sys
import threading
import time

import truth


def first(end):
    while time.monotonic() < end:
        sum(range(500))


def second(end):
    while time.monotonic() < end:
        sum(range(500))


end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(end,))
           for work in (first, second)[:int(sys.argv[2])]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
truth.note(role="busy", cpu=time.process_time())
