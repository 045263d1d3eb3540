#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that are killed or leave by _exit keep what was sampled of them."""
import fflive
from fflive import expect, lasts


def check_killed(run):
    ends = {fact["killed"]: fact["end"] for fact in run.truth if "killed" in fact}
    begins = {fact["pid"]: fact["begin"] for fact in run.truth
              if fact.get("role") == "gc_killed"}
    expect(len(begins) == 2 and set(begins) == set(ends), "the program: %s, %s",
           begins, ends)
    for pid, begin in begins.items():
        # It is told to end then, and does when it has a CPU.
        right = ends[pid] - begin
        lasts("time of gc_killed in pid %d" % pid, run.weigh(pid, "gc_killed"),
              right, fflive.slack(right))
        # Only the connector always tells how one that is not our child ended.
        known = run.stats["events"] == "connector"
        expect(run.member(pid)["status"] in ((9,) if known else (9, None)),
               "wait status of a killed process: %s", run.member(pid))


def dead_workers_stay_in_the_profile(python):
    run = fflive.run([], [python, fflive.program("killed.py"), 1.2])
    fflive.check_run(run)
    expect(len(run.pids()) == 7 and run.stats["processes"]["seen"] == 7,
           "expected 7 processes: %s", run.stats["processes"])
    expect(len(run.spans("gc_exit")) == 2, "the program: %s", run.truth)
    run.check_span("gc_exit")
    check_killed(run)


if __name__ == "__main__":
    fflive.main([dead_workers_stay_in_the_profile])
