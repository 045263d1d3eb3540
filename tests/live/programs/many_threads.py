# SPDX-License-Identifier: Apache-2.0
"""many_threads.py N SECONDS: N threads wait for the main one, which works."""
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
done.set()
for thread in threads:
    thread.join()
