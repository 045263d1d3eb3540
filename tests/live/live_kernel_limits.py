#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames from the kernel where it cannot read, has no room, or may not."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import fflive
import live_kernel
import live_user
from fflive import expect, near

SAMPLER = live_kernel.SAMPLER
DEPTH = 200


def kept_out_library():
    folder = tempfile.mkdtemp(prefix="fflive-")
    library = os.path.join(folder, "keepout.so")
    subprocess.run([os.environ.get("CC", "cc").split()[0], "-D_GNU_SOURCE", "-shared",
                    "-fPIC", "-O", "-o", library, fflive.program("keepout.c")],
                   check=True)
    return library


def depths(seen, leaf):
    return {sum(1 for name in fflive.names(stack) if name == "down")
            for stack in seen.stacks if leaf in fflive.names(stack)}


def a_page_that_is_not_there_is_counted_and_makes_no_half_stack(python):
    library = kept_out_library()
    try:
        seen = live_kernel.run(["-r", 250, "--mode", "cpu"],
                               [python, fflive.program("keepout.py"), library, DEPTH,
                                1.5])
    finally:
        shutil.rmtree(os.path.dirname(library))
    kept = [fact["times"] for fact in seen.truth if fact.get("role") == "kept"]
    expect(kept and kept[0] > 100, "taken out: %s", kept)
    kernel, samples = seen.stats["kernel"], seen.stats["samples"]
    # What a clock could not read is told, and somebody else reads it.
    expect(kernel["unread"] > 20, "not one page was missing: %s", kernel)
    expect(samples["stopped"] + samples["unstopped"] > 0, "samples: %s", samples)
    expect(depths(seen, "leaf_here") == {DEPTH + 1}, "depths: %s",
           depths(seen, "leaf_here"))
    near("CPU time of leaf_here", seen.weigh(function="leaf_here"), 1.5, .1)


def cpu_of(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return int(file.read().split()[0]) / 1e9


def second_thread(pid):
    """Of the child that has one: the command, once it is up."""
    path = "/proc/%d/task/%d/children" % (pid, pid)
    for child in fflive.read_text(path).split():
        try:
            tids = [int(name) for name in os.listdir("/proc/%s/task" % child)]
        except FileNotFoundError:
            continue
        if len(tids) == 2:
            return max(tids)
    return None


def a_ring_that_overflows_costs_samples_and_nothing_else(python):
    """900 frames are 21 kB a sample: the ring is full after 200 of them, which nobody
    takes out while the profiler is stopped."""
    run = fflive.start([SAMPLER, "-r", 1000],
                       [python, fflive.program("deep.py"), 900, 12])
    # The recursion's thread does all of the work.
    fflive.wait_until(lambda: second_thread(run.process.pid), 10, "the thread")
    thread = second_thread(run.process.pid)
    fflive.wait_until(lambda: cpu_of(thread) > .2, 20, "some work")
    run.signal(19)
    begin = cpu_of(thread)
    try:
        fflive.wait_until(lambda: cpu_of(thread) > begin + .6 or
                          not os.path.exists("/proc/%d" % thread), 20, "more work")
    finally:
        run.signal(18)
    seen = fflive.check_run(run.wait())
    kernel = seen.stats["kernel"]
    expect(kernel["lost"] > 100, "lost: %s", kernel)
    expect(kernel["read"] > 200, "read: %s", kernel)
    expect(depths(seen, "leaf_here") == {901}, "depths: %s", depths(seen, "leaf_here"))
    seen.check_span("leaf_here", rate=1000)


# Who may have frames from the kernel

def as_root(*without):
    return ["setpriv", "--bounding-set=" + ",".join("-" + one for one in without)]


def as_nobody(*rights):
    words = ["setpriv", "--reuid=%d" % live_user.NOBODY,
             "--regid=%d" % live_user.NOBODY, "--clear-groups"]
    if rights:
        plus = ",".join("+" + one for one in rights)
        words += ["--inh-caps=" + plus, "--ambient-caps=" + plus]
    return words


BURN = "import time\nwhile time.process_time() < .5: pass"


def outcome(copies, under, command):
    """kernel, or the one line that says why not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        stats = os.path.join(folder, "stats.json")
        done = subprocess.run(
            under + [copies.forkflame, "record", SAMPLER, "-f", "collapsed", "-o",
                     os.path.join(folder, "out"), "--stats", stats, "--"] + command,
            stderr=subprocess.PIPE, text=True, cwd="/",
            env=fflive.environment("/dev/null", **copies.env))
        if done.returncode == 0:
            had = json.loads(fflive.read_text(stats))
            expect(had["sampler"] == "kernel" and had["kernel"]["read"] > 10,
                   "%s: %s", under, had)
            return "kernel"
    lines = done.stderr.strip().split("\n")
    expect(done.returncode == 126 and len(lines) == 1, "%s: status %d: %s", under,
           done.returncode, done.stderr)
    return lines[0]


def rights_that_suffice_and_rights_that_do_not():
    python = live_user.reachable_python()
    with live_user.Copies() as copies:
        command = [python, "-c", BURN]
        for under, right in (
                (as_root("bpf"), "kernel"),
                (as_root("perfmon"), "kernel"),
                (as_root("bpf", "sys_admin"), None),
                (as_root("perfmon", "sys_admin"), None),
                (as_root("bpf", "perfmon", "sys_admin"), None),
                (as_root("sys_admin", "sys_resource"), "kernel"),
                (as_nobody("bpf", "perfmon"), "kernel"),
                (as_nobody("bpf"), None),
                (as_nobody("perfmon"), None),
                (as_nobody(), None)):
            had = outcome(copies, under, command)
            print("  %s: %s" % (" ".join(under[1:]), had))
            expect((had == "kernel") == (right == "kernel"), "%s: %s", under, had)


def change_user(copies, *rights):
    python = live_user.reachable_python()
    return live_kernel.run(
        ["-r", 200], [python, copies.program("other_user.py"), live_user.NOBODY - 1],
        program_path=copies.forkflame, env=copies.env, cwd="/",
        under=as_nobody(*rights) if rights else ())


def who_becomes_another_user_is_read_by_those_alone_who_may():
    """Who may not ptrace the other user sees nothing of it from then on."""
    with live_user.Copies() as copies:
        seen = change_user(copies, "bpf", "perfmon", "setuid")
        expect(seen.weigh(function="before") > .3, "nothing of before")
        expect(seen.weigh(function="secret") == 0, "secret was read: %s",
               seen.stats["kernel"])
        expect(seen.stats["kernel"]["denied"] > 0, "kernel: %s", seen.stats["kernel"])
        seen = change_user(copies)
        expect(seen.weigh(function="secret") > .3, "root saw nothing: %s",
               seen.stats["kernel"])
        expect(seen.stats["kernel"]["denied"] == 0, "kernel: %s", seen.stats["kernel"])


def verified(pid):
    """How many instructions the kernel looked at for each program that @pid has loaded."""
    counts = []
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            text = fflive.read_text(path)
        except OSError:
            continue
        found = re.search(r"^verified_insns:\s*(\d+)$", text, re.MULTILINE)
        if found:
            counts.append(int(found.group(1)))
    return counts


def loading_takes_the_kernel_few_looks():
    """Its verifier goes each way through the program for each value that a variable can
    have, where it can see them: that was 0.2 s."""
    with fflive.Target([fflive.newest(), fflive.program("alternating.py"), "calls",
                        "60"], notes=0) as target:
        run = fflive.start([SAMPLER, "-p", target.pid])
        fflive.wait_until(lambda: len(verified(run.process.pid)) >= 4, 60,
                          "four programs of ours in the kernel")
        counts = verified(run.process.pid)
        run.signal(signal.SIGINT)
        fflive.check_run(run.wait())
    print("  instructions verified: %s" % counts)
    expect(sum(counts) < 20000, "instructions verified: %s", counts)


if __name__ == "__main__":
    try:
        live_kernel.need_kernel()
    except fflive.Skip as skip:
        print("SKIP: machine cannot: %s" % skip)
        sys.exit(77)
    fflive.main([a_page_that_is_not_there_is_counted_and_makes_no_half_stack,
                 a_ring_that_overflows_costs_samples_and_nothing_else],
                [loading_takes_the_kernel_few_looks,
                 rights_that_suffice_and_rights_that_do_not,
                 who_becomes_another_user_is_read_by_those_alone_who_may])
