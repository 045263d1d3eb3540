#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Members that run on several CPUs: each is read on its own CPU, by a thread of the
profiler that has pushed it aside there (--samplers), and not stopped."""
import os
import re
import shutil
import signal
import time

import fflive
import ffworkers
import live_stacks
from fflive import expect, must, near

RATE = 1000
SECONDS = 60 if fflive.LONG else 6
FEW = 10  # samples that a post brings at least, on a machine that is full


def need_two_cpus():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise fflive.Skip("one CPU only")
    return cpus[:2]


def need_urgency():
    stats = fflive.run([], [fflive.newest(), "-c", "pass"]).stats
    if stats["oncpu"] != "switches":
        raise fflive.Skip("no switch records: %s" % stats["oncpu_reason"])
    if stats["sampler"] != "stop":
        raise fflive.Skip("running threads are read by the kernel")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        raise fflive.Skip("no SCHED_FIFO")


class Pair:
    """The same program twice, on a CPU each."""

    def __init__(self, command):
        self.command, self.targets = command, []

    def __enter__(self):
        for cpu in need_two_cpus():
            target = fflive.Target(self.command, notes=0)
            os.sched_setaffinity(target.pid, {cpu})
            self.targets.append(target)
        return self

    def __exit__(self, *ignored):
        for target in self.targets:
            target.__exit__()

    def record(self, *args):
        """For SECONDS from when both are known on."""
        named = [word for target in self.targets
                 for word in ("-p", target.pid)]
        run = fflive.run(["-r", RATE, "-d", SECONDS, *args, *named])
        return fflive.check_run(run)


def posts_of(run):
    return run.stats["samplers"]


def both_are_read_where_they_run(python):
    """Frequent turns of two call chains: no stack that never was."""
    need_urgency()
    lines = live_stacks.lines_of("calls")
    with Pair([python, fflive.program("alternating.py"), "calls", "300"]) as pair:
        run = pair.record()
        for stack in run.stacks:
            live_stacks.check_stack(stack, lines)
        expect(posts_of(run)["threads"] > 1, "samplers: %s", posts_of(run))
        expect(posts_of(run)["samples"] >= FEW, "samplers: %s; samples: %s",
               posts_of(run), run.stats["samples"])
        for target in pair.targets:
            main = run.weigh(target.pid, "main")
            expect(main > .9 * SECONDS, "pid %d: %.2f s", target.pid, main)
            a, b = (run.weigh(target.pid, "hot_" + which) for which in "ab")
            # As many independent samples as turns, of some 4 ms (live_stacks).
            turns = run.member(target.pid)["cpu_ns"] / 4e6
            near("share of hot_a in pid %d" % target.pid, a / (a + b), .5,
                 4 * (.25 / turns) ** .5 + .01)


def who_ran_meanwhile_is_not_believed():
    """Both are moved to and fro: the post finds whom it was sent for, running on."""
    need_urgency()
    cpus = need_two_cpus()
    lines = live_stacks.lines_of("calls")
    with Pair([fflive.newest(), fflive.program("alternating.py"), "calls",
               "300"]) as pair:
        named = [word for target in pair.targets for word in ("-p", target.pid)]
        run = fflive.start(["-r", RATE, "-d", SECONDS, *named])
        turn = 0
        while run.process.poll() is None:
            turn += 1
            for i, target in enumerate(pair.targets):
                os.sched_setaffinity(target.pid, {cpus[(turn + i) % 2]})
            time.sleep(.0013)
        fflive.check_run(run.wait())
    for stack in run.stacks:
        live_stacks.check_stack(stack, lines)
    expect(posts_of(run)["moved"] > 0, "samplers: %s", posts_of(run))


def thrown_away_functions_have_their_own_names(python):
    """And their own lines: each has a name, a file and a line of one number."""
    need_urgency()
    with Pair([python, fflive.program("churn.py"), "300"]) as pair:
        run = pair.record()
    named = 0
    for stack in run.stacks:
        for frame in stack.frames:
            name = re.search(r"churned_(\d+)$", frame.function)
            if not name:
                continue
            number = int(name.group(1))
            line = frame.line - 1 - number % 1000
            must(frame.file == "/churned/%d.py" % number, "another's file: %s",
                 stack)
            must(0 <= line <= (11 if number % 2 else 4), "another's line: %s",
                 stack)
            named += 1
    expect(named > FEW, "%d stacks of %d had such a function", named, len(run.stacks))


def cpu_time_is_what_their_clocks_say():
    """Both from their beginnings to their ends."""
    need_urgency()
    one = "taskset -c %%d %s %s calls %d &" % (fflive.newest(),
                                               fflive.program("alternating.py"),
                                               SECONDS)
    both = " ".join(one % cpu for cpu in need_two_cpus())
    run = fflive.run(["-r", RATE, "--mode", "cpu"], ["sh", "-c", both + " wait"])
    fflive.check_run(run)
    ffworkers.check_clocks(run, ["main"])
    expect(posts_of(run)["samples"] >= FEW, "samplers: %s", posts_of(run))


def children_come_and_go_on_both_cpus(python):
    need_urgency()
    need_two_cpus()
    run = fflive.run(["-r", RATE],
                     [python, fflive.program("short_children.py"), "120", "0.02",
                      "8", "0"])
    fflive.check_run(run)
    # On a full machine some get so little time that none is seen with a stack.
    expect(run.stats["processes"]["sampled"] >= 100, "%s", run.stats["processes"])


def one_is_enough_when_told():
    with Pair([fflive.newest(), fflive.program("alternating.py"), "calls",
               "300"]) as pair:
        run = pair.record("--samplers=1")
    expect(posts_of(run)["threads"] == 1 and posts_of(run)["samples"] == 0,
           "samplers: %s", posts_of(run))


def never_more_than_told():
    need_urgency()
    with Pair([fflive.newest(), fflive.program("alternating.py"), "calls",
               "300"]) as pair:
        run = pair.record("--samplers=2")
    expect(posts_of(run)["threads"] == 2, "samplers: %s", posts_of(run))


def who_may_not_be_urgent_does_without():
    """Behind others on its CPU, a post would come too late."""
    if not shutil.which("setpriv") or os.geteuid() != 0:
        raise fflive.Skip("no setpriv, or not root")
    need_two_cpus()
    lines = live_stacks.lines_of("calls")
    with Pair([fflive.newest(), fflive.program("alternating.py"), "calls",
               "300"]) as pair:
        named = [word for target in pair.targets for word in ("-p", target.pid)]
        run = fflive.run(["-r", 100, "-d", 3, *named],
                         under=["setpriv", "--bounding-set=-sys_nice",
                                "--inh-caps=-sys_nice"])
        fflive.check_run(run)
    for stack in run.stacks:
        live_stacks.check_stack(stack, lines)
    expect(posts_of(run)["threads"] == 1, "samplers: %s", posts_of(run))
    expect(run.weigh(function="main") > 3, "%.2f s", run.weigh(function="main"))


def killed_profiler_leaves_both_running():
    need_urgency()
    with Pair([fflive.newest(), fflive.program("alternating.py"), "calls",
               "300"]) as pair:
        for _ in range(40 if fflive.LONG else 4):
            named = [word for target in pair.targets
                     for word in ("-p", target.pid)]
            run = fflive.start(["-r", RATE, *named])
            ffworkers.wait_for_taking_in(run, {one.pid for one in pair.targets})
            run.signal(signal.SIGKILL)
            run.process.wait()
            fflive.check_let_go([one.pid for one in pair.targets])
            expect(all(one.alive() for one in pair.targets), "a target has ended")


if __name__ == "__main__":
    fflive.main(each_python=[both_are_read_where_they_run,
                      thrown_away_functions_have_their_own_names,
                      children_come_and_go_on_both_cpus],
                once=[who_ran_meanwhile_is_not_believed,
                      cpu_time_is_what_their_clocks_say, one_is_enough_when_told,
                      never_more_than_told, who_may_not_be_urgent_does_without,
                      killed_profiler_leaves_both_running])
