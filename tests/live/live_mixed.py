#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that are not Python are counted by name, cheaply and quietly."""
import signal
import subprocess

import fflive
import ffworkers
from fflive import expect

SECONDS = 1
TRUES = 200 if fflive.LONG else 100


def run_mixed(python, trues):
    # The root is a shell, and stays one: it has something left to do.
    command = "'%s' '%s' %g %d; :" % (python, fflive.program("mixed.py"),
                                      SECONDS, trues)
    run = fflive.run([], ["sh", "-c", command])
    return fflive.check_run(run)


def check_others(run, trues):
    # Two shells, two sleeps, and each `true`.
    right = 4 + trues
    # Without switch records nothing tells of one that left before a look.
    counts = run.stats["processes"]
    gone = counts["gone"] if run.stats["oncpu"] == "runcounts" else 0
    expect(counts["not_python"] + gone == right and gone <= .1 * trues and
           counts["sampled"] == 2, "expected 2 sampled, %d not Python: %s", right,
           counts)
    others = set(run.pids("not_python"))
    expect(not [stack for stack in run.stacks if stack.pid in others],
           "a process that is not Python has a stack")
    names = [one["images"][-1]["command"] for one in run.stats["members"]
             if one["verdict"] == "not_python"]
    # One that has ended before its command line was read has the kernel's name.
    trues_seen = sum(name in ("/bin/true", "[true]") for name in names)
    # One that left at once may have done so before its name could be read.
    expect(trues_seen + gone >= .9 * trues, "only %d of %d are called /bin/true: %s",
           trues_seen, trues, names[:10])


def mixed_tree_is_profiled_where_it_is_python(python):
    run = run_mixed(python, TRUES)
    for name in ("py_parent", "py_child"):
        run.check_span(name)
    check_others(run, TRUES)
    lines = len(run.stderr.splitlines())
    expect(lines < 40, "%d lines on stderr", lines)


def another_program_costs_less_than_a_millisecond():
    # What others leave of the caches is in it: the best of three counts. And a longer
    # run costs more by itself, most on a full machine, of whose births perf tells.
    each = 1000
    for _ in range(3):
        many, few = (run_mixed(fflive.newest(), trues).stats for trues in (TRUES, 0))
        idle = few["profiler_cpu_ns"] * many["duration_ns"] / few["duration_ns"]
        each = min(each, (many["profiler_cpu_ns"] - idle) / TRUES / 1e6)
        if each < 1:
            break
    expect(each < 1, "%.2f ms of the profiler's CPU for each process that is not "
           "Python", each)


def program_that_ended_before_a_look_is_known_by_its_name():
    """The profiler stands while children of a Python become other programs, end and
    are reaped: what the kernel noted of them is all there is."""
    run = fflive.start(["--nonblocking"],
                       [fflive.newest(), fflive.program("generations.py"), 8,
                        "/bin/true"], stdin=subprocess.PIPE)
    gone = ffworkers.generation(run, 0, 8)
    ffworkers.wait_for_taking_in(run, gone)
    run.signal(signal.SIGSTOP)
    ffworkers.replace(run)
    ffworkers.generation(run, 1, 8)
    run.signal(signal.SIGCONT)
    run.process.stdin.close()
    fflive.check_run(run.wait())
    if run.stats["oncpu"] != "switches":
        raise fflive.Skip("no switch records: %s" % run.stats["oncpu_reason"])
    for pid in gone:
        name = run.member(pid)["images"][-1]["command"]
        expect(name == "[true]", "a `true` that was not seen: %s", run.member(pid))


def process_that_is_not_python_is_refused_by_name():
    sleeper = fflive.spawn(["sleep", "20"])
    run = fflive.run(["-p", sleeper.pid, "-d", 1])
    expect(run.status == 4, "-p of a sleep: expected status 4, saw %s", run.status)
    expect("python" in run.stderr.lower(), "no word of Python: %r", run.stderr)
    fflive.check_let_go([sleeper.pid])
    expect(sleeper.poll() is None, "the sleep has gone")


def command_that_is_not_python_is_named():
    run = fflive.run([], ["sleep", "0.2"])
    expect("not" in run.stderr.lower() and "python" in run.stderr.lower(),
           "nothing says that it was not Python: %r", run.stderr)
    expect(not run.stacks, "stacks of a sleep: %s", run.stacks[:3])


if __name__ == "__main__":
    fflive.main([mixed_tree_is_profiled_where_it_is_python],
                [another_program_costs_less_than_a_millisecond,
                 program_that_ended_before_a_look_is_known_by_its_name,
                 process_that_is_not_python_is_refused_by_name,
                 command_that_is_not_python_is_named])
