# SPDX-License-Identifier: Apache-2.0
"""pool.py WORKERS SECONDS: a pool whose workers compute, sleep and wait."""
import multiprocessing
import sys
import time


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(400))


def rest(seconds):
    time.sleep(seconds)


def task(number):
    (compute, rest, compute, rest, rest)[number % 5](.02)
    return number


def main():
    end = time.monotonic() + float(sys.argv[2])
    with multiprocessing.get_context("fork").Pool(int(sys.argv[1])) as pool:
        while time.monotonic() < end:
            pool.map(task, range(40), chunksize=2)
        pool.close()
        pool.join()


if __name__ == "__main__":
    main()
