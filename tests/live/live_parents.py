#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree keeps the parent of birth: for a fork from a worker thread, for an
orphan and its child. Nothing from outside the tree is taken in."""
import fflive
from fflive import expect


def check_parents(run, pids):
    for child, parent in (("by_thread", "root"), ("middle", "root"),
                          ("orphan", "middle"),
                          ("grandchild_of_orphan", "orphan")):
        seen = run.member(pids[child])["parent"]
        expect(seen == pids[parent], "parent of %s (%d): expected %s (%d), saw %s",
               child, pids[child], parent, pids[parent], seen)


def pids_of(truth):
    """What each process is called: by its role, or by the span it noted."""
    return {fact.get("role") or fact["span"]: fact["pid"] for fact in truth}


def tree_is_kept_by_birth(python):
    command = [python, fflive.program("parents.py"), "1"]
    with fflive.Target(command) as stranger:
        run = fflive.run([], command)
        stranger.process.wait(10)
        strangers = set(pids_of(stranger.truth()).values())
    fflive.check_run(run)
    pids = pids_of(run.truth)
    expect(set(run.pids()) == set(pids.values()) and len(pids) == 5,
           "sampled: expected %s, saw %s", pids, run.pids())
    taken = strangers & {one["pid"] for one in run.stats["members"]}
    expect(len(strangers) == 5 and not taken, "strangers taken in: %s", taken)
    check_parents(run, pids)
    for name in ("by_thread", "orphan", "grandchild_of_orphan"):
        run.check_span(name)


if __name__ == "__main__":
    fflive.main([tree_is_kept_by_birth])
