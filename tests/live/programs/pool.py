# SPDX-License-Identifier: Apache-2.0
"""A multiprocessing pool whose workers note their own CPU clocks when they leave.

	pool.py WORKERS TASKS SECONDS
"""
import multiprocessing
import os
import sys
import time
from multiprocessing import util

from truth import burn_cpu, note

WORKERS, TASKS, SECONDS = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


def small(seconds):
    burn_cpu(seconds)


def large(seconds):
    burn_cpu(seconds)


def task(number):
    (large if number % 2 else small)(SECONDS * (1 + number % 2))
    return os.getpid()


def leaving():
    note(role="worker", cpu=time.process_time(), end=time.monotonic())


def arriving():
    # A worker of a pool ends by os._exit, after these and nothing else.
    util.Finalize(None, leaving, exitpriority=1)
    task(0)  # so that each worker has one, however late it came


def main():
    context = multiprocessing.get_context("fork")
    pool = context.Pool(WORKERS, arriving)
    pool.map(task, range(TASKS), 1)
    pool.close()
    pool.join()
    note(role="parent", cpu=time.process_time(), end=time.monotonic())
    print("the pool is done")


main()
