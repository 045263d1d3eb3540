# SPDX-License-Identifier: Apache-2.0
"""busy.py: one busy thread, some twenty frames deep, until it is ended. It says when
it is there."""
import os


def work():
    os.write(1, b"busy\n")
    while True:
        for i in range(1000):
            i * i


def down(n):
    if n:
        down(n - 1)
    else:
        work()


down(18)
