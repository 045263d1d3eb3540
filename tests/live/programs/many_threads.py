# SPDX-License-Identifier: Apache-2.0
"""many_threads.py N SECONDS [wake]: N threads wait for the main one, which works. It
ends all of them by ending itself; or wakes them, who then wait for each other, and wake
every 5 ms to see whether it is their turn."""
import os
import sys
import threading

from burner import burn, note, timed

threading.stack_size(65536)
done = threading.Event()


def waits():
    done.wait()


def main_work():
    burn(float(sys.argv[2]))


threads = [threading.Thread(target=waits) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
note(role="all there")
timed(main_work)()
if sys.argv[3:] != ["wake"]:
    os._exit(0)
done.set()
for thread in threads:
    thread.join()
