# SPDX-License-Identifier: Apache-2.0
"""shares.py SECONDS: three functions that take turns, with 50, 30 and 20 % of the CPU
time; each notes how much it had."""
import sys
import time

from truth import note

END = time.monotonic() + float(sys.argv[1])
HAD = {"half": 0., "third": 0., "fifth": 0.}


def spend(seconds):
    begin = now = time.thread_time()
    while now - begin < seconds:
        now = time.thread_time()
    return now - begin


def half():
    HAD["half"] += spend(.0050)


def third():
    HAD["third"] += spend(.0030)


def fifth():
    HAD["fifth"] += spend(.0020)


while time.monotonic() < END:
    half()
    third()
    fifth()
for name, seconds in HAD.items():
    note(share=name, cpu=seconds)
