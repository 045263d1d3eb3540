# SPDX-License-Identifier: Apache-2.0
"""shares.py SECONDS: four functions have about 50, 30, 15 and 5 parts of the time, in
short turns. How much each had is printed. For Python 2.7 as for 3.

A turn is so much work, and not so much time: one that ended at a certain time would
end whenever it had waited for a CPU, and begin the next one just then.
"""
from __future__ import print_function

import json
import random
import sys
import time

clock = getattr(time, "perf_counter", time.time)
PART = .0002  # seconds, about


def spin(n):
    while n:
        n -= 1


def half(n):
    spin(n)


def third(n):
    spin(n)


def sixth(n):
    spin(n)


def rest(n):
    spin(n)


def loops_of_a_part():
    """The quickest of some tries: others want the CPU too."""
    tries = []
    for _ in range(20):
        begin = clock()
        spin(5000)
        tries.append(clock() - begin)
    return int(5000 * PART / min(tries)) + 1


def main(seconds):
    loops = loops_of_a_part()
    turns = [(half, 50 * loops), (third, 30 * loops), (sixth, 15 * loops),
             (rest, 5 * loops)]
    had = dict((function.__name__, 0) for function, _ in turns)
    begin = clock()
    end = begin + seconds
    while begin < end:
        random.shuffle(turns)
        for function, n in turns:
            begin = clock()
            function(n)
            had[function.__name__] += clock() - begin
    print(json.dumps(had))


main(float(sys.argv[1]))
