#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree keeps the parent of birth: for a fork from a worker thread, for an
orphan and its child, for what the root makes with CLONE_PARENT. Nothing from outside
the tree is taken in."""
import os
import signal

import ffworkers
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
        stranger.process.wait(60)
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


def check_siblings(run, root, parents):
    """@parents: of those who must be members, by role."""
    pids = dict(pids_of(run.truth), root=root)
    if "program" not in parents:
        pids.pop("program", None)
    expect({one["pid"] for one in run.stats["members"]} == set(pids.values()) ==
           set(run.pids()), "of %s: %s", pids, run.stats["members"])
    for child, parent in parents.items():
        seen = run.member(pids[child])["parent"]
        expect(seen == pids[parent], "parent of %s: expected %s (%d), saw %s",
               child, parent, pids[parent], seen)


FAMILY = {"copy": "root", "child_of_copy": "copy", "program": "root"}


def need_source(run, source):
    """The machine may refuse it: then there was no run."""
    if source in run.stderr and (run.stats is None or
                                 run.stats["events"] == "none"):
        raise fflive.Skip(run.stderr.splitlines()[0])


def siblings_of_the_root_are_its_children(source):
    run = fflive.run(["--events=" + source],
                     [fflive.newest(), fflive.program("siblings.py"), 1])
    need_source(run, source)
    fflive.check_run(run)
    check_siblings(run, run.roles("root")[0], FAMILY)
    expect(run.stats["found_late"] == 0, "found late: %s",
           run.stats["found_late"])
    for name in FAMILY:
        run.check_span(name)
        member = run.member(run.spans(name)[0]["pid"])
        expect(member["status"] == 0, "its end: %s", member)


def siblings_are_found_by_who_attaches(source):
    """Copies by their addresses; what becomes another program only by perf."""
    command = [fflive.newest(), fflive.program("siblings.py"), "2.5", "wait"]
    family = dict(FAMILY)
    if source != "perf":
        del family["program"]
    with fflive.Target(command) as target, fflive.Target(command) as stranger:
        run = fflive.start(["--events=" + source, "-p", target.pid])
        fflive.wait_until(lambda: target.pid in ffworkers.watched(run) or
                          run.process.poll() is not None, 30, "attaching")
        for one in (target, stranger):
            os.kill(one.pid, signal.SIGUSR1)
        run.wait()
        need_source(run, source)
        stranger.process.wait(30)
        run.truth = target.truth()
        strangers = set(pids_of(stranger.truth()).values())
    fflive.check_run(run)
    check_siblings(run, target.pid, family)
    expect(not strangers & {one["pid"] for one in run.stats["members"]},
           "strangers taken in")
    for name in ("copy", "child_of_copy"):
        right = run.spans(name)[0]["end"] - run.spans(name)[0]["begin"]
        expect(run.weigh(function=name) > .25 * right, "%s: %.2f of %.2f s", name,
               run.weigh(function=name), right)


def by_each_source(test):
    def of(source):
        def by_source():
            test(source)
        by_source.__name__ = "%s: %s" % (source, test.__name__)
        return by_source
    return [of(source) for source in ("connector", "perf", "children", "scan")]


if __name__ == "__main__":
    fflive.main([tree_is_kept_by_birth],
                by_each_source(siblings_of_the_root_are_its_children) +
                by_each_source(siblings_are_found_by_who_attaches))
