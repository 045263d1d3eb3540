# SPDX-License-Identifier: Apache-2.0
"""A ProcessPoolExecutor, whose workers note their own CPU clocks: of each task,
and of their whole life when they leave.

	executor.py fork|spawn|forkserver WORKERS TASKS SECONDS

SECONDS is what a light task takes of its thread's CPU time; a heavy one takes
twice as much.
"""
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import util

from truth import burn_cpu, note, timed


def light(seconds):
    burn_cpu(seconds)


def heavy(seconds):
    burn_cpu(2 * seconds)


def task(number, seconds):
    timed(heavy if number % 2 else light, seconds)


def leaving():
    note(role="worker", cpu=time.process_time())


def arriving(seconds):
    # A worker ends by os._exit, after these and nothing else.
    util.Finalize(None, leaving, exitpriority=1)
    task(0, seconds)  # so that each worker has one, however late it came


def main(method, workers, tasks, seconds):
    note(role="root")
    with ProcessPoolExecutor(workers, multiprocessing.get_context(method),
                             arriving, (seconds,)) as pool:
        waiting = [pool.submit(task, number, seconds)
                   for number in range(1, tasks + 1)]
        for one in waiting:
            one.result()
    print("the pool is done")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
