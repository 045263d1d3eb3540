# SPDX-License-Identifier: Apache-2.0
"""Works on one CPU after the other.

	commuter.py SECONDS TURNS CPU...

Each of the TURNS takes SECONDS of CPU time, on the next CPU.
"""
import os
import sys

from truth import burn_cpu

SECONDS, TURNS = float(sys.argv[1]), int(sys.argv[2])
CPUS = [int(word) for word in sys.argv[3:]]

for turn in range(TURNS):
    os.sched_setaffinity(0, {CPUS[turn % len(CPUS)]})
    burn_cpu(SECONDS)
