#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread that runs C code without the interpreter's lock needs no stop."""
import fflive
from fflive import expect

SECONDS = 4 if fflive.LONG else 2

# From this version on it is told whose turn the lock is.
TURN_FROM = (3, 12)


def code_without_the_lock_is_not_stopped(python):
    run = fflive.run(["-r", "1000"], [python, fflive.program("outside.py"), SECONDS])
    fflive.check_run(run)
    for name in ("hashing", "ticking"):
        run.check_span(name)
    if fflive.version_of(python) < TURN_FROM:
        return
    (span,) = run.spans("hashing")
    # On a full machine it is off its CPU at many ticks, and not stopped anyway. By run
    # counts, who waits for a CPU looks as if he ran.
    ran = span["cpu"]
    if run.stats["oncpu"] == "runcounts":
        ran = span["end"] - span["begin"]
    expect(run.stats["samples"]["stopped"] < .3 * ran * 1000,
           "%s for %.3f s on a CPU", run.stats["samples"], ran)


if __name__ == "__main__":
    fflive.main([code_without_the_lock_is_not_stopped])
