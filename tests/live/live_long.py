#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a long run costs: neither the memory of forkflame nor its views grow with
time, with the workers of a pool, or with what a target has mapped.

Ten minutes of it are made up in tests/views; here is a part, of real processes.
"""
import os
import subprocess
import time

import fflive
from fflive import expect, near
from ffparse import parse_collapsed, read_text

WORKERS = 50
SECONDS = 60 if fflive.LONG else 9
EARLY, LATE = .4, .9  # parts of the run
GROWTH_KB = 2048
FOLDED = 1000000


def memory_kb(run):
    """Of the profiler. Its own alone: how much of a library is in memory, others
    decide."""
    text = read_text("/proc/%d/status" % run.process.pid)
    return next(int(line.split()[1]) for line in text.splitlines()
                if line.startswith("RssAnon:"))


def record(workers, seconds, *more):
    return fflive.start(["-f", "ff"],
                        [fflive.newest(), fflive.program("workers.py"), workers,
                         seconds, *more], output="run.ff")


def memory_at(run, moment):
    time.sleep(max(0, moment - time.monotonic()))
    return memory_kb(run)


def fifty_workers_stay_small_however_long_they_run():
    run = record(WORKERS, SECONDS)
    fflive.wait_until(lambda: any(fact.get("role") == "all there" for fact in
                                  fflive.read_truth(run.path("truth"))),
                      60, "fifty workers")
    begin = time.monotonic()
    early = memory_at(run, begin + EARLY * SECONDS)
    late = memory_at(run, begin + LATE * SECONDS)
    fflive.check_run(run.wait())
    expect(len(run.pids()) == 1 + WORKERS, "%d were sampled", len(run.pids()))
    expect(late - early < GROWTH_KB, "%d kB after %.1f s, %d kB after %.1f s",
           early, EARLY * SECONDS, late, LATE * SECONDS)
    print("  note: %d kB after %.1f s, %d kB after %.1f s" % (
        early, EARLY * SECONDS, late, LATE * SECONDS))
    done = subprocess.run([fflive.FORKFLAME, "report", run.path("run.ff"), "-f",
                           "collapsed"], stdout=subprocess.PIPE, timeout=30)
    expect(len(done.stdout) < FOLDED, "%d bytes of stacks", len(done.stdout))
    weight = sum(one.weight for one in parse_collapsed(done.stdout.decode()))
    near("collapsed", weight / 1e6, run.stats["wall_ns"] / 1e9, 1e-3)
    size = os.path.getsize(run.path("run.ff"))
    expect(size < 12 * run.stats["samples"]["taken"] + 200 * 1024,
           "a recording of %d bytes for %d samples", size,
           run.stats["samples"]["taken"])


def what_a_target_has_mapped_costs_nothing():
    most = []
    for size in (0, 2 << 30):
        run = record(1, 2, size)
        time.sleep(1.5)
        most.append(memory_kb(run))
        fflive.check_run(run.wait())
    expect(abs(most[1] - most[0]) < GROWTH_KB, "%d kB, with 2 GB mapped %d kB",
           *most)


if __name__ == "__main__":
    fflive.main(once=[fifty_workers_stay_small_however_long_they_run,
                      what_a_target_has_mapped_costs_nothing])
