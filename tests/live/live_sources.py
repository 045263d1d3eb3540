#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree is the same whichever source tells of births, execs and ends."""
import subprocess

import fflive
import live_exec
import live_fork
import live_killed
import live_parents
import live_rootfirst
import live_short
import live_user
from fflive import expect
from live_fallback import UNSHARE

SOURCES = ["connector", "perf", "children", "scan"]

# Of 100 children of 50 ms and of 5 ms, so many are seen. Where the sources look
# every 10 ms, what is shorter may be missed; a busy machine makes 10 ms longer.
SEEN = {"connector": (100, 100), "perf": (100, 100), "children": (80, 0),
        "scan": (60, 0)}

# Sources that are told of each birth, by its parent.
TOLD = ("connector", "perf")

TREES = [live_fork.forked_children_are_sampled_from_birth_to_exit,
         live_exec.exec_of_the_same_python,
         live_exec.exec_of_another_python,
         live_rootfirst.children_outlive_their_root,
         live_killed.dead_workers_stay_in_the_profile]


def need(source):
    """Skip what this machine refuses."""
    run = fflive.run(["--events=" + source], ["true"])
    if "proc connector" in run.stderr or "perf task records" in run.stderr:
        raise fflive.Skip(run.stderr.splitlines()[0])
    expect(run.stats and run.stats["events"] == source, "events: %s",
           run.stats and run.stats["events"])


def of_source(source, test):
    def by_source():
        need(source)
        fflive.EVENTS = source
        try:
            test(fflive.newest())
        finally:
            fflive.EVENTS = None
    by_source.__name__ = "%s: %s" % (source, test.__name__)
    return by_source


def short_lives(source):
    def short_children_are_seen():
        need(source)
        for seconds, least in zip((.05, .005), SEEN[source]):
            run = fflive.run(["--events=" + source],
                             [fflive.newest(),
                              fflive.program("short_children.py"), 100,
                              seconds, 1, 0])
            fflive.check_run(run)
            seen = run.stats["processes"]["seen"] - 1
            print("  %s: %d of 100 children of %g ms seen, %d sampled; %s"
                  % (source, seen, 1e3 * seconds,
                     run.stats["processes"]["sampled"] - 1,
                     run.stats["listener"]))
            expect(least <= seen <= 100, "%d children of %g ms seen", seen,
                   1e3 * seconds)
            expect(run.stats["found_late"] == 0, "found late: %s",
                   run.stats["found_late"])
            # One that ends beside another that was seen is not noticed.
            missed = run.stats["missed"]
            expect(missed + seen <= 100 and
                   (run.stats["events_lost"] > 0) == (missed > 0),
                   "%d seen, %d missed or more; lost %d times", seen, missed,
                   run.stats["events_lost"])
    short_children_are_seen.__name__ = source + ": short children are seen"
    return short_children_are_seen


APART = """
import os, time
for _ in range(60):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    time.sleep(.023)
"""


def missed_children_are_noticed(source):
    """By who looks: of those that end at once, one by one."""
    def test():
        need(source)
        run = fflive.run(["--events=" + source], [fflive.newest(), "-c", APART])
        fflive.check_run(run)
        seen = run.stats["processes"]["seen"] - 1
        missed = run.stats["missed"]
        # On a full machine looks are dear, and made seldom: of several that are
        # missed between two, one is noticed.
        expect(seen < 60 and .2 * (60 - seen) <= missed <= 60 - seen and
               run.stats["events_lost"] > 0, "%d seen, %d missed; lost %d times",
               seen, missed, run.stats["events_lost"])
        expect("processes missed: %d or more" % missed in run.stderr, "%s",
               run.stderr)
    test.__name__ = source + ": missed children are noticed"
    return test


ORPHANS = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        if os.fork() == 0:
            print(os.getpid(), flush=True)
            time.sleep(3)
        os._exit(0)
    os.wait()
    time.sleep(.023)
"""


def orphans_are_found_by_their_addresses(source):
    """By who looks, though their parents had gone before a look."""
    def test():
        need(source)
        run = fflive.run(["--events=" + source], [fflive.newest(), "-c", ORPHANS])
        fflive.check_run(run, stdout=run.stdout)
        orphans = {int(pid) for pid in run.stdout.split()}
        expect(len(orphans) == 8 and orphans <= set(run.pids()),
               "not sampled: %s", orphans - set(run.pids()))
        expect(run.stats["missed"] > 0, "no parent was missed")
    test.__name__ = source + ": orphans are found by their addresses"
    return test


def an_ordinary_user_has_perf_for_what_he_starts():
    python = live_user.reachable_python()
    with live_user.Copies() as copies:
        run = copies.run(["--events=perf"],
                         [python, copies.program("pool.py"), 8, 40, .06])
        if "perf task records" in run.stderr:
            raise fflive.Skip(run.stderr.splitlines()[0])
        fflive.check_run(run, stdout=b"the pool is done\n")
        expect(run.stats["events"] == "perf", "events: %s", run.stats["events"])
        expect(set(run.roles("worker")) <= set(run.pids()), "workers %s of %s",
               run.roles("worker"), run.pids())
        expect("of the command" in run.stderr, "stderr: %s", run.stderr)


def in_a_container_perf_watches_a_tree_that_runs_already():
    """A shell and its `sleep` are there; then it becomes a Python that forks."""
    done = subprocess.run(UNSHARE + ["true"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise fflive.Skip("no namespaces: " + done.stderr.strip())
    target = ("sleep 1.5; exec %s %s 60 .005 1 0"
              % (fflive.newest(), fflive.program("short_children.py")))
    run = fflive.run(["--events=perf"],
                     under=UNSHARE + ["sh", "-c", "sh -c '%s' & p=$!; sleep .5; "
                                      "\"$@\" -p $p" % target, "sh"])
    if "perf task records" in run.stderr:
        raise fflive.Skip(run.stderr.splitlines()[0])
    fflive.check_run(run, here=False)
    expect(run.stats["processes"]["seen"] == 62, "processes: %s",
           run.stats["processes"])
    missed = set(live_short.pids_of(run, "tiny")) - {
        one["pid"] for one in run.stats["members"]}
    expect(not missed, "missed: %s", missed)


if __name__ == "__main__":
    fflive.main(once=[of_source(source, test) for source in SOURCES
                      for test in TREES] +
                # Who looks does not see whose child an orphan was.
                [of_source(source, live_parents.tree_is_kept_by_birth)
                 for source in TOLD] +
                [short_lives(source) for source in SOURCES] +
                [test(source) for source in ("children", "scan")
                 for test in (missed_children_are_noticed,
                              orphans_are_found_by_their_addresses)] +
                [an_ordinary_user_has_perf_for_what_he_starts,
                 in_a_container_perf_watches_a_tree_that_runs_already])
