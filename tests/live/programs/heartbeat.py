# SPDX-License-Identifier: Apache-2.0
"""Three processes with three threads each; every thread beats in a shared file.

	heartbeat.py FILE

Thread k of process p counts up in slot 3 * p + k. The first thread of each child
is busy most of the time, all others sleep most of it: a profiler has to stop the
former and can read the latter in their sleep. Runs until it is killed.
"""
import mmap
import os
import struct
import sys
import threading
import time

from truth import bound_to, burn

fd = os.open(sys.argv[1], os.O_RDWR)
slots = mmap.mmap(fd, 4096)


def beat(slot, busy):
    count = 0
    while True:
        count += 1
        slots[slot * 8:slot * 8 + 8] = struct.pack("<q", count)
        if busy:
            burn(.003)
        time.sleep(.001)


process = 0
root = os.getpid()
for number in (1, 2):
    if os.fork() == 0:
        process = number
        break
if process:
    bound_to(root)
for k in (1, 2):
    thread = threading.Thread(target=beat, args=(3 * process + k, False))
    thread.daemon = True
    thread.start()
beat(3 * process, process > 0)
