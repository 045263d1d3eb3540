#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which processes are profiled: of a tree, of a user, of a program, of all. The
others are counted as left out, and none of them is missed."""
import os
import subprocess
import time

import fflive
from fflive import expect, near
from live_dump import dump
from live_user import NOBODY, Copies, other_user, reachable_python

ROLES = ("root", "kid", "elder", "grandchild")


def check_chosen(run, target, chosen):
    """Of the roles those that were asked for are sampled, and those alone."""
    fflive.check_run(run)
    for role in ROLES:
        pid = target.pids(role)[0]
        verdict = run.member(pid)["verdict"]
        right = "sampled" if role in chosen else "left_out"
        expect(verdict == right, "%s: expected %s, saw %s", role, right, verdict)
    strange = {stack.pid for stack in run.stacks} & {
        target.pids(role)[0] for role in ROLES if role not in chosen}
    expect(not strange, "stacks of those that were not asked for: %s", strange)


def depth_is_counted_from_the_root(python):
    with fflive.Target([python, fflive.program("tree.py")], notes=4) as target:
        run = fflive.run(["-p", target.pid, "--no-children", "-d", .6])
        check_chosen(run, target, ["root"])
        near("time of root_sleeps", run.weigh(target.pid, "root_sleeps"), .6, .1)
        run = fflive.run(["-p", target.pid, "--depth", 1, "-d", .6])
        check_chosen(run, target, ["root", "kid", "elder"])
        expect(len(run.pids("left_out")) >= 2, "born below the depth: %s",
               run.stats["processes"])
        # One that is named is a root, wherever it stands.
        run = fflive.run(["-p", target.pid, "-p", target.pids("grandchild")[0],
                          "--no-children", "-d", .6])
        check_chosen(run, target, ["root", "grandchild"])


def run_ends_with_the_last_that_is_wanted():
    run = fflive.run(["--no-children"],
                     [fflive.newest(), fflive.program("root_first.py"), 3])
    root = run.roles("root")[0]
    expect(run.status == 7, "status %s", run.status)
    fflive.check_seen(run.stats)
    expect(run.pids() == [root] and len(run.pids("left_out")) == 2,
           "expected the root alone: %s", run.stats["members"])
    expect(run.stats["duration_ns"] < 2e9, "the run took %.1f s",
           run.stats["duration_ns"] / 1e9)


def command_lines_choose():
    python = fflive.newest()
    script = "'%s' '%s' .7 %s & '%s' '%s' .7 sleep & wait" % (
        python, fflive.program("exec_first.py"), python, python,
        fflive.program("exec_first.py"))
    run = fflive.run(["--include-command", r"^[^ ]*python[^ ]* [^ ]*exec_.*\.py",
                      "--exclude-command", "exec_second"], ["sh", "-c", script])
    fflive.check_run(run)
    # Two at once, on as many CPUs as there may be.
    run.check_span("before_exec", share=.4)
    second = [stack for stack in run.stacks if "exec_second" in stack.command]
    expect(not second, "the second image was excluded: %s", second[:2])
    images = [[image["verdict"] for image in one["images"]]
              for one in run.stats["members"]]
    # The shell is none of those; of one process one image is.
    expect(["left_out"] in images and ["sampled", "left_out"] in images,
           "verdicts of the images: %s", images)


def every_python_of_the_machine_is_found():
    python = fflive.newest()
    with fflive.Target([python, fflive.program("tree.py")], notes=4) as before:
        run = fflive.start(["-a", "-d", 3])
        time.sleep(.5)
        with fflive.Target([python, fflive.program("tree.py")],
                           notes=4) as during:
            run.wait()
            expect(run.status == 0, "status %s: %s", run.status, run.stderr)
            fflive.check_seen(run.stats)
            fflive.check_attempts(run.stats)
            fflive.check_totals(run.stats)
            for target in (before, during):
                fflive.check_let_go([target.pids(role)[0] for role in ROLES],
                                    run.process.pid)
                for role in ROLES:
                    expect(target.pids(role)[0] in run.pids(), "%s of %d: %s",
                           role, target.pid, run.pids())
            expect(run.process.pid not in
                   [one["pid"] for one in run.stats["members"]],
                   "forkflame itself is a member")
            status, out, _ = dump("-a")
            expect(status == 0 and b"root_sleeps" in out and
                   b"\nno Python" not in out, "dump -a: %d %r", status, out)


def program_is_named_by_its_file(python):
    exe = os.path.realpath("/bin/sh")
    with fflive.Target([python, fflive.program("tree.py")], notes=4) as target:
        program = os.path.realpath("/proc/%d/exe" % target.pid)
        run = fflive.run(["-p", target.pid, "--exe", program, "-d", .4])
        check_chosen(run, target, ROLES)
        run = fflive.run(["-p", target.pid, "--exe", exe, "-d", .4])
        expect(run.status == 4 and "asked for" in run.stderr, "status %s: %s",
               run.status, run.stderr)
        status, out, _ = dump("--exe", program)
        expect(status == 0 and b"Process %d:" % target.pid in out,
               "dump --exe: %d %r", status, out)


def users_processes_are_taken_in():
    if os.geteuid():
        raise fflive.Skip("not root: there is no other user")
    python = reachable_python()
    with Copies() as copies:
        with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                           notes=4) as roots, \
                fflive.Target([python, "-c", "import time; time.sleep(60)"],
                              notes=0, cwd="/", **other_user()) as others:
            # He runs it himself, and his own are all that -a means.
            for run in (fflive.run(["--user", NOBODY, "-d", 1]),
                        copies.run(["-a", "-d", 1])):
                expect(run.status == 0, "status %s: %s", run.status, run.stderr)
                fflive.check_seen(run.stats)
                expect(others.pid in run.pids() and
                       roots.pid in run.pids("left_out"), "sampled: %s, %s",
                       run.pids(), run.stats["processes"])


def what_cannot_be_taken_in_is_named_and_the_rest_profiled():
    gone = subprocess.Popen(["true"])
    gone.wait()
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as target:
        run = fflive.run(["-p", gone.pid, "-p", target.pid, "-d", .5])
        check_chosen(run, target, ROLES)
        expect("no process %d" % gone.pid in run.stderr, "%r", run.stderr)


def refused_root_does_not_stop_the_others():
    if os.geteuid():
        raise fflive.Skip("not root: there is no other user")
    python = reachable_python()
    with Copies() as copies, \
            fflive.Target([fflive.newest(), fflive.program("tree.py")],
                          notes=4) as roots, \
            fflive.Target([python, "-c", "import time; time.sleep(60)"],
                          notes=0, cwd="/", **other_user()) as own:
        run = copies.run(["-p", roots.pid, "-p", own.pid, "-d", 1])
        fflive.check_run(run)
        expect(run.pids() == [own.pid] and roots.pid in run.pids("denied"),
               "verdicts: %s", run.stats["processes"])
        expect("denied: %d (" % roots.pid in run.stderr, "the summary: %r",
               run.stderr)
        told = [line for line in run.stderr.splitlines()
                if "process %d " % roots.pid in line]
        expect(len(told) == 1 and "user" in told[0], "stderr: %r", run.stderr)


def part_of_a_tree_that_is_refused_is_named():
    if os.geteuid():
        raise fflive.Skip("not root: the tests cannot become another user")
    python = reachable_python()
    with Copies() as copies:
        run = copies.run(["-d", 1.5], [python, copies.program("closed.py"), .8])
        fflive.check_run(run)
        run.check_span("open_work")
        closed = run.roles("closed")[0]
        told = [line for line in run.stderr.splitlines()
                if "process %d " % closed in line]
        expect(len(told) == 1 and "dumpable" in told[0], "stderr: %r", run.stderr)
        expect(run.member(closed)["verdict"] in ("denied", "sampled"), "%s",
               run.member(closed))


if __name__ == "__main__":
    fflive.main([depth_is_counted_from_the_root, program_is_named_by_its_file],
                [run_ends_with_the_last_that_is_wanted, command_lines_choose,
                 every_python_of_the_machine_is_found,
                 users_processes_are_taken_in,
                 what_cannot_be_taken_in_is_named_and_the_rest_profiled,
                 refused_root_does_not_stop_the_others,
                 part_of_a_tree_that_is_refused_is_named])
