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
    expect(samples["stopped"] + samples["unstopped"] > .5 * SECONDS * fflive.RATE,
           "samples: %s", samples)


if __name__ == "__main__":
    fflive.main([sleeping_calls_are_not_interrupted])
