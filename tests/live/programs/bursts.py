# SPDX-License-Identifier: Apache-2.0
"""bursts.py ROUNDS MICROSECONDS: in turns, bursts that are as long as the sleeps between
them, and steady work for as long as a burst never is."""
import sys
import time

from burner import note

clock = getattr(time, "thread_time", time.process_time)
taken = {"bursts": 0., "steady": 0.}


def burn(seconds):
    end = clock() + seconds
    while clock() < end:
        pass


def bursts(seconds, one):
    end = clock() + seconds
    while clock() < end:
        burn(one)
        time.sleep(one)


def steady(seconds):
    burn(seconds)


def timed(work, *args):
    begin = clock()
    work(*args)
    taken[work.__name__] += clock() - begin


for _ in range(int(sys.argv[1])):
    timed(bursts, .05, float(sys.argv[2]) / 1e6)
    timed(steady, .08)
note(**taken)
