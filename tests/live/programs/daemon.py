# SPDX-License-Identifier: Apache-2.0
"""Forks a worker for each of the first two lines that it is sent; later ones, and
idle, it uses those again. Its starter is no Python, as Spark's is.
"""
import os
import sys

from truth import burn, note, timed


def udf():
    burn(.2)


def worker(tasks):
    note(role="worker")
    while os.read(tasks, 1):  # LINE: idle
        timed(udf)
    os._exit(0)


note(role="daemon")
pipes = []
for number, _ in enumerate(iter(sys.stdin.readline, "")):
    if number < 2:
        tasks, sink = os.pipe()
        if os.fork() == 0:
            os.close(sink)
            for other in pipes:
                os.close(other)
            worker(tasks)
        os.close(tasks)
        pipes.append(sink)
    os.write(pipes[number % 2], b"x")
for sink in pipes:
    os.close(sink)
for _ in pipes:
    os.wait()
