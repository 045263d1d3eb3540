#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever the kernel refuses, the run goes on with what is left, says so, and
does no harm to the target."""
import sys

import fflive
from fflive import expect


def run_without(names, args=()):
    under = [sys.executable, fflive.program("refuse.py"), names]
    run = fflive.run(args, [fflive.newest(), fflive.program("killed.py"), .8],
                     under=under)
    if run.status == 77:
        raise fflive.Skip("no seccomp, or another architecture")
    return fflive.check_run(run)


def check_whole(run):
    """All seven processes are there, with their weights."""
    expect(run.stats["processes"]["sampled"] == 7, "processes: %s",
           run.stats["processes"])
    run.check_span("gc_exit")


def check_used(run, events, oncpu):
    expect(run.stats["events"] in events, "events: %s", run.stats["events"])
    expect(run.stats["oncpu"] in oncpu, "oncpu: %s", run.stats["oncpu"])
    expect("connector" in events or run.stats["events_reason"],
           "no reason for the source of events")
    expect("switches" in oncpu or run.stats["oncpu_reason"],
           "no reason for run counts")


ANY_EVENTS = ("connector", "perf", "children", "scan")
ANY_ONCPU = ("switches", "runcounts")


def without_the_connector_perf_takes_its_place():
    run = run_without("connector")
    check_used(run, ("perf", "children"), ANY_ONCPU)
    check_whole(run)


def without_perf_run_counts_take_its_place():
    run = run_without("perf")
    check_used(run, ANY_EVENTS, ("runcounts",))
    check_whole(run)


def without_both_children_files_take_their_place():
    run = run_without("connector,perf")
    check_used(run, ("children", "scan"), ("runcounts",))
    check_whole(run)


def without_ptrace_those_that_need_no_stop_are_sampled():
    run = run_without("ptrace")
    samples = run.stats["samples"]
    expect(samples["stopped"] == 0 and samples["unstopped"] > 0, "samples: %s",
           samples)
    expect(run.stats["processes"]["seen"] == 7, "processes: %s",
           run.stats["processes"])


def without_memory_nothing_is_sampled_and_it_is_said():
    run = run_without("readv")
    expect(run.stats["processes"]["denied"] == 7 and
           run.stats["processes"]["sampled"] == 0, "processes: %s",
           run.stats["processes"])
    expect("denied" in run.stderr, "stderr: %s", run.stderr)


def without_anything_the_command_runs_as_ever():
    run = run_without("connector,perf,ptrace,readv")
    expect(run.stats["processes"]["sampled"] == 0, "processes: %s",
           run.stats["processes"])
    expect("denied" in run.stderr, "stderr: %s", run.stderr)


def what_is_asked_for_and_refused_ends_the_run():
    for names, source in (("connector", "connector"), ("perf", "perf")):
        run = fflive.run(["--events=" + source], ["true"],
                         under=[sys.executable, fflive.program("refuse.py"),
                                names])
        if run.status == 77:
            raise fflive.Skip("no seccomp, or another architecture")
        expect(run.status not in (0, None) and source in run.stderr,
               "%s: status %s, %r", source, run.status, run.stderr)


if __name__ == "__main__":
    fflive.main(once=[without_the_connector_perf_takes_its_place,
                      without_perf_run_counts_take_its_place,
                      without_both_children_files_take_their_place,
                      without_ptrace_those_that_need_no_stop_are_sampled,
                      without_memory_nothing_is_sampled_and_it_is_said,
                      without_anything_the_command_runs_as_ever,
                      what_is_asked_for_and_refused_ends_the_run])
