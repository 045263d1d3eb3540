#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers' forks, as many as the machine makes, neither hide a member nor wake
the sampler; and what the kernel then drops all the same is found again."""
import os
import signal
import subprocess
import tempfile

import fflive
import ffworkers
from fflive import expect
from live_sources import need

SECONDS = 10 if fflive.LONG else 4
CHILDREN = 60
TOGETHER = 8


def build(directory):
    storm = os.path.join(directory, "storm")
    subprocess.run([os.environ.get("CC", "cc").split()[0], "-O2", "-o", storm,
                    fflive.program("storm.c")], check=True)
    return storm


def in_a_storm(args, under=()):
    """A run on 60 children of 20 ms, 8 at a time; and the forks beside it."""
    need(args[0].partition("=")[2])
    with tempfile.TemporaryDirectory() as directory:
        storm = build(directory)
        storms = [fflive.spawn([storm, str(SECONDS)], stdout=subprocess.PIPE)
                  for _ in range(os.cpu_count() or 1)]
        run = fflive.run(args, [fflive.newest(),
                                fflive.program("short_children.py"), CHILDREN,
                                .02, 8, 0], under=under)
        forks = sum(int(one.communicate()[0]) for one in storms)
    fflive.check_run(run)
    listener = run.stats["listener"]
    print("  %s: %d forks/s beside the tree; listener %.1f us of CPU an event, "
          "all of forkflame %.1f %% of a core; %d of %d events dropped; "
          "the sampler was woken %d times; %d rescans, %d found late"
          % (run.stats["events"], forks / SECONDS,
             listener["cpu_ns"] / 1e3 / max(1, listener["received"]),
             100 * run.stats["profiler_cpu_ns"] / run.stats["duration_ns"],
             listener["dropped"], listener["received"], listener["wakes"],
             run.stats["rescans"], run.stats["found_late"]))
    return run, listener


def check_all_seen(run):
    pids = {span["pid"] for span in run.spans("tiny")}
    seen = {one["pid"] for one in run.stats["members"]}
    expect(len(pids) == CHILDREN and pids <= seen, "not accounted for: %s",
           pids - seen)
    expect(len(run.stats["members"]) == CHILDREN + 1, "%d members",
           len(run.stats["members"]))


def no_member_is_missed(source):
    def test():
        run, listener = in_a_storm(["--events=" + source])
        expect(run.stats["events"] == source, "events: %s", run.stats["events"])
        check_all_seen(run)
        expect(run.stats["events_lost"] == 0 and listener["dropped"] == 0,
               "events were dropped: %s", listener)
        expect(listener["strangers"] > listener["received"] / 4,
               "no storm: %s", listener)
        # A birth and an end each; more when the machine is slow.
        expect(listener["wakes"] < 20 * CHILDREN, "woken %d times",
               listener["wakes"])
    test.__name__ = source + ": no member is missed"
    return test


def what_was_dropped_is_noticed_and_made_good():
    """With room for five events, some are dropped. At the lowest priority a child that
    the profiler makes for itself is there for long."""
    run, listener = in_a_storm(["--events=connector", "--event-buffer=2k"],
                               ["nice", "-n", "19"])
    expect(run.stats["events_lost"] > 0 and run.stats["rescans"] > 0 and
           listener["dropped"] > 0, "nothing was dropped: %s", listener)
    # Those that lived between two looks may be missing: nobody else may be in.
    pids = {span["pid"] for span in run.spans("tiny")}
    seen = {one["pid"] for one in run.stats["members"]}
    expect(len(seen - pids) == 1, "strangers: %s", seen - pids)


def storms_begin(storm, seconds):
    """One on each CPU, as each has a buffer of its own."""
    return [fflive.spawn(["taskset", "-c", str(cpu), storm, str(seconds)],
                         stdout=subprocess.PIPE)
            for cpu in os.sched_getaffinity(0)]


def storms_end(storms):
    for one in storms:
        one.communicate()
        expect(one.returncode == 0, "a storm failed: %s", one.returncode)


def stand_in_a_storm(run, storm):
    """Stopped, with the buffers full: then one generation follows the other, and lives
    on. Returns both."""
    old = ffworkers.generation(run, 0, TOGETHER)
    ffworkers.wait_for_taking_in(run, old)
    run.signal(signal.SIGSTOP)
    storms_end(storms_begin(storm, 1))
    ffworkers.replace(run)
    new = ffworkers.generation(run, 1, TOGETHER)
    storms = storms_begin(storm, 2)
    run.signal(signal.SIGCONT)
    ffworkers.wait_for_taking_in(run, new)
    storms_end(storms)
    return old, new


def what_came_while_we_stood_is_found(source):
    """Stopped for a second (a laptop, a debugger), nobody reads: what did not fit into
    the buffers is lost, it is noticed, and who was born meanwhile is found."""
    def test():
        need(source)
        # Stopped while it holds a thread, it would hold it for as long.
        run = fflive.start(["--events=" + source, "--event-buffer=16k",
                            "--nonblocking"],
                           [fflive.newest(), fflive.program("generations.py"),
                            TOGETHER], stdin=subprocess.PIPE)
        with tempfile.TemporaryDirectory() as directory:
            old, new = stand_in_a_storm(run, build(directory))
        run.process.stdin.close()
        fflive.check_run(run.wait())
        expect(run.stats["events"] == source, "events: %s", run.stats["events"])
        expect(run.stats["events_lost"] > 0 and run.stats["rescans"] > 0 and
               run.stats["listener"]["dropped"] > 0, "nothing was lost: %s",
               run.stats["listener"])
        seen = {one["pid"] for one in run.stats["members"]}
        expect(old | new <= seen and len(seen) == 2 * TOGETHER + 1,
               "not accounted for: %s; strangers: %s", (old | new) - seen,
               len(seen - old - new))
        print("  %s: %d events dropped, %d found late"
              % (source, run.stats["listener"]["dropped"],
                 run.stats["found_late"]))
        expect(run.stats["found_late"] == TOGETHER, "%d were found late, of %d",
               run.stats["found_late"], TOGETHER)
        for pid in old | new:
            expect(run.member(pid)["status"] == 0, "%s", run.member(pid))
    test.__name__ = source + ": what came while we stood is found"
    return test


if __name__ == "__main__":
    if os.geteuid():
        print("SKIP: machine cannot: only root hears all of a storm")
        raise SystemExit(77)
    fflive.main(once=[no_member_is_missed("connector"),
                      no_member_is_missed("perf"),
                      what_was_dropped_is_noticed_and_made_good,
                      what_came_while_we_stood_is_found("connector"),
                      what_came_while_we_stood_is_found("perf")])
