# SPDX-License-Identifier: Apache-2.0
"""thousand.py N SECONDS: N forked children that wait, after a little work each.

All live at the same time: they end when their parent closes a pipe."""
import os
import sys
import time


def work(number):
    end = time.monotonic() + .001 * (number % 4)
    while time.monotonic() < end:
        sum(range(100))


def child(number, reader):
    work(number)
    os.read(reader, 1)


def main():
    reader, writer = os.pipe()
    for number in range(int(sys.argv[1])):
        if os.fork() == 0:
            os.close(writer)
            child(number, reader)
            os._exit(0)
    os.close(reader)
    time.sleep(float(sys.argv[2]))
    os.close(writer)
    for _ in range(int(sys.argv[1])):
        os.wait()


main()
