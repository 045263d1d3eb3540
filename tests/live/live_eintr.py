#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that sleep in system calls are left asleep: no call of theirs fails
with EINTR because of the profiler."""
import os
import subprocess
import tempfile

import fflive
from fflive import expect

SECONDS = 4 if fflive.LONG else 2


def build(directory):
    library = os.path.join(directory, "eintr.so")
    subprocess.run([os.environ.get("CC", "cc").split()[0], "-O1", "-shared",
                    "-fPIC", "-o", library, fflive.program("eintr.c")], check=True)
    return library


def sleeping_calls_are_not_interrupted(python):
    with tempfile.TemporaryDirectory() as directory:
        run = fflive.run([], [python, fflive.program("eintr.py"),
                              build(directory), SECONDS])
    fflive.check_run(run)
    seen = {fact["call"]: fact["eintr"] for fact in run.truth if "call" in fact}
    expect(seen == {"epoll_wait": 0, "recv": 0}, "EINTRs: expected none, saw %s",
           seen)
    # The stillness must not come from not looking.
    for name in ("in_epoll", "in_recv", "busy"):
        run.check_span(name)
    # On a full machine the busy thread may be off its CPU at every tick: then
    # none is stopped. But it is read anew, each time.
    samples = run.stats["samples"]
    read = samples["stopped"] + samples["unstopped"] + samples["kernel"]
    expect(read > .5 * SECONDS * fflive.RATE, "samples: %s", samples)


def run_brief(*options):
    with tempfile.TemporaryDirectory() as directory:
        run = fflive.run(["-r", "1000", *options],
                         [fflive.newest(), fflive.program("eintr.py"),
                          build(directory), 2 * SECONDS, "brief"])
    fflive.check_run(run)
    (fact,) = [fact for fact in run.truth if "call" in fact]
    print("  note: %d of %d calls failed, counted: %d"
          % (fact["eintr"], fact["calls"], run.stats["calls_failed"]))
    return run, fact


def brief_calls_are_nearly_never_interrupted():
    """Of one that is nearly always on its way in or out: one in 10,000; three are the
    bad luck of a short run."""
    run, fact = run_brief()
    expect(run.stats["oncpu"] != "switches" or
           fact["eintr"] <= 3 + fact["calls"] / 10000, "%s", fact)


def interrupted_calls_are_counted():
    """Without switch records there are many. A call of the interpreter's own, before
    or after the others, may be one more."""
    run, fact = run_brief("--oncpu", "runcounts")
    expect(0 <= run.stats["calls_failed"] - fact["eintr"] <= 2, "counted %s of %s",
           run.stats["calls_failed"], fact)
    expect(fact["eintr"] > 0, "nothing to count: %s", fact)


if __name__ == "__main__":
    fflive.main([sleeping_calls_are_not_interrupted],
                [brief_calls_are_nearly_never_interrupted,
                 interrupted_calls_are_counted])
