#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running threads that the kernel reads (--sampler=kernel): no stop, and no stack,
name or share that is not as true as by a stop."""
import os
import re
import subprocess
import sys

import fflive
import live_stacks
from fflive import expect, near

SAMPLER = "--sampler=kernel"
REFUSED = re.compile(r"frames from the kernel.*")


def run(args, command, **how):
    return fflive.check_run(fflive.run([SAMPLER] + args, command, **how))


def need_kernel():
    """Can it be had at all, here and in this build?"""
    done = subprocess.run([fflive.FORKFLAME, "record", SAMPLER, "-f", "collapsed",
                           "-o", "/dev/null", "--", "/bin/true"],
                          stderr=subprocess.PIPE, text=True)
    why = REFUSED.search(done.stderr)
    if why:
        raise fflive.Skip(why.group())


def check_kernel(seen, share):
    """Most of what ran was read by the kernel."""
    samples, kernel = seen.stats["samples"], seen.stats["kernel"]
    expect(seen.stats["sampler"] == "kernel", "sampler: %s", seen.stats["sampler"])
    ran = samples["kernel"] + samples["stopped"]
    expect(samples["kernel"] >= share * ran, "%d of %d by the kernel: %s",
           samples["kernel"], ran, kernel)
    expect(kernel["lost"] == 0, "lost: %s", kernel)


def alternating_calls_never_mix(python):
    live_stacks.check_alternation(python, "calls", 1000, live_stacks.SECONDS)
    live_stacks.check_alternation(python, "generators", 1000, live_stacks.SECONDS)


def recursion_is_whole(python):
    seen = run(["-r", 250], [python, fflive.program("deep.py"), 900, 2])
    check_kernel(seen, .9)
    depths = {sum(1 for name in fflive.names(stack) if name == "down")
              for stack in seen.stacks if "leaf_here" in fflive.names(stack)}
    expect(depths == {901}, "depths: %s", depths)


def what_is_too_deep_is_stopped(python):
    seen = run(["-r", 250], [python, fflive.program("deep.py"), 3000, 2])
    depths = {sum(1 for name in fflive.names(stack) if name == "down")
              for stack in seen.stacks if "leaf_here" in fflive.names(stack)}
    expect(depths == {3001}, "depths: %s", depths)
    kernel = seen.stats["kernel"]
    expect(kernel["deep"] > .5 * kernel["read"], "deep: %s", kernel)


def functions_thrown_away_are_never_called_by_anothers_name(python):
    seen = run(["-r", 1000], [python, fflive.program("churn.py"), 4])
    check_kernel(seen, .9)
    named = wrong = 0
    for stack in seen.stacks:
        for frame in stack.frames:
            name = re.search(r"churned_(\d+)$", frame.function)
            file = re.search(r"/churned/(\d+)\.py", frame.file)
            if not name and not file:
                continue
            fflive.must(name and file and name.group(1) == file.group(1),
                        "not of one function: %s", stack)
            # Its lines are relative to its first one; where it spends its time tells
            # which of the two it is.
            number = int(name.group(1))
            line = frame.line - 1 - number % 1000
            wrong += not (8 <= line <= 11 if number % 2 else 0 <= line <= 4)
            named += 1
    expect(wrong <= .02 * named, "%d of %d functions are others", wrong, named)
    freed = seen.stats["kernel"]["freed"]
    print("  %d functions named, %d freed before a look, of %d samples"
          % (named, freed, seen.stats["samples"]["kernel"]))
    expect(named > 20 and freed > 20, "too few to tell anything")


def shares_are_those_of_stops(python):
    """By both samplers: within 3 sigma of what the program says, and of each other."""
    found = []
    for sampler in ("stop", "kernel"):
        seen = fflive.check_run(fflive.run(
            ["--sampler=" + sampler, "-r", 400, "--mode", "cpu"],
            [python, fflive.program("shares.py"), 4]))
        had = {fact["share"]: fact["cpu"] for fact in seen.truth if "share" in fact}
        weights = {name: seen.weigh(function=name) for name in had}
        whole, right = sum(weights.values()), sum(had.values())
        # A turn is of 10 ms of CPU: samples within one are not independent.
        n = min(seen.stats["samples"]["taken"], right * 400)
        for name in had:
            p = had[name] / right
            near("%s: share of %s" % (sampler, name), weights[name] / whole, p,
                 3 * (p * (1 - p) / n) ** .5 + .003)
        near("%s: CPU time" % sampler, whole, right, .03 * right + .05)
        found.append((weights, whole, n))
    check_kernel(seen, .9)
    (stops, stops_all, n), (kernel, kernel_all, m) = found
    for name in stops:
        p = stops[name] / stops_all
        near("share of %s by both" % name, kernel[name] / kernel_all, p,
             3 * (p * (1 - p) * (1 / n + 1 / m)) ** .5 + .003)


def children_of_50_ms(python):
    for rate in (20, 100):
        seen = run(["-r", rate],
                   [python, fflive.program("short_children.py"), 100, .05, 1, 0])
        expect(seen.stats["processes"]["seen"] == 101, "seen: %s",
               seen.stats["processes"])
        sampled = {one["pid"] for one in seen.stats["members"] if one["samples"]}
        pids = {span["pid"] for span in seen.spans("tiny")}
        expect(len(sampled & pids) == 100, "%d of 100 sampled at %d Hz",
               len(sampled & pids), rate)
        right = sum(span["cpu"] for span in seen.spans("tiny"))
        cpu = sum(one["cpu_ns"] for one in seen.stats["members"]
                  if one["pid"] in pids) / 1e9
        # What a child can measure leaves out its birth and its end.
        expect(.95 * right <= cpu <= 1.05 * right + 100 * .003,
               "CPU time of 100 children at %d Hz: they say %.3f s, saw %.3f",
               rate, right, cpu)


def children_of_10_ms():
    """One and eight at a time, and exec'd ones: none is without a sample."""
    for rate in (20, 100, 1000):
        for together in (1, 8):
            seen = run(["-r", rate], [fflive.newest(),
                                      fflive.program("short_children.py"), 100, .01,
                                      together, 4])
            here = "%d Hz, %d together" % (rate, together)
            expect(seen.stats["processes"]["seen"] == 105, "%s: seen: %s", here,
                   seen.stats["processes"])
            members = {one["pid"]: one for one in seen.stats["members"]}
            forked = {span["pid"]: span["cpu"] for span in seen.spans("tiny")}
            execd = {span["pid"] for span in seen.spans("tiny_exec")}
            expect(len(forked) == 100 and len(execd) == 4, "the program: %s", forked)
            none = [pid for pid in set(forked) | execd if not members[pid]["samples"]]
            expect(not none, "%s: not sampled: %s", here, none)
            # Their own clocks leave out their births and their ends.
            right = sum(forked.values())
            cpu = sum(members[pid]["cpu_ns"] for pid in forked) / 1e9
            expect(.97 * right <= cpu <= 1.03 * right + 100 * .003,
                   "CPU time at %s: they say %.3f s, saw %.3f", here, right, cpu)


def samples_count_cpu_time():
    """The clocks change their periods at random: by 3.5 ticks in 24, which is 0.8 % of
    8 s at 1000 Hz."""
    seen = run(["-r", 1000], [fflive.newest(), "-c",
                              "import time\nwhile time.process_time() < 8: pass"],
               timeout=300)
    cpu = sum(one["cpu_ns"] for one in seen.stats["members"]) / 1e9
    near("samples by CPU time", seen.stats["kernel"]["read"] / 1000 / cpu, 1, .03)


def samples_count_cpu_time_on_each_cpu():
    """The clock of a CPU that nobody was on for two seconds ticks right again at once."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        raise fflive.Skip("one CPU")
    seen = run(["-r", 1000], [fflive.newest(), fflive.program("commuter.py"), 2, 4] +
               cpus, timeout=300)
    cpu = sum(one["cpu_ns"] for one in seen.stats["members"]) / 1e9
    near("samples by CPU time", seen.stats["kernel"]["read"] / 1000 / cpu, 1, .03)


def strangers_are_not_read():
    """Beside one that sleeps nothing is read; beside one that is busy, what it ran for,
    and not what both did."""
    other = subprocess.Popen([fflive.newest(), "-c", "while True: pass"])
    try:
        asleep = run(["-r", 1000],
                     [fflive.newest(), "-c", "import time; time.sleep(2)"])
        busy = run(["-r", 1000], [fflive.newest(), fflive.program("shares.py"), 2])
    finally:
        other.kill()
        other.wait()
    expect(asleep.stats["kernel"]["read"] < 200, "read: %s", asleep.stats["kernel"])
    cpu = sum(one["cpu_ns"] for one in busy.stats["members"]) / 1e9
    expect(.5 * cpu < busy.stats["kernel"]["read"] / 1000 < 1.1 * cpu,
           "in %.3f s read: %s", cpu, busy.stats["kernel"])
    for seen in (asleep, busy):
        expect({one["pid"] for one in seen.stats["members"]}.isdisjoint({other.pid}),
               "the other one is a member")


def attached_to_what_runs():
    target = subprocess.Popen([fflive.newest(), fflive.program("shares.py"), "8"],
                              env=fflive.environment("/dev/null"))
    try:
        seen = fflive.run([SAMPLER, "-r", 400, "-p", target.pid, "-d", 2], None)
    finally:
        target.kill()
        target.wait()
    expect(seen.status == 0, "status %s", seen.status)
    check_kernel(seen, .9)
    expect(seen.weigh(function="half") > 0, "no half")


def one_line_says_why_it_is_refused():
    done = subprocess.run(
        ["setpriv", "--bounding-set=-bpf,-sys_admin", fflive.FORKFLAME, "record",
         SAMPLER, "-o", "/dev/null", "--", "/bin/true"],
        stderr=subprocess.PIPE, text=True)
    lines = done.stderr.strip().split("\n")
    expect(done.returncode == 126 and len(lines) == 1 and REFUSED.search(lines[0]),
           "status %d: %s", done.returncode, done.stderr)


if __name__ == "__main__":
    try:
        need_kernel()
    except fflive.Skip as skip:
        print("SKIP: machine cannot: %s" % skip)
        sys.exit(77)
    fflive.SAMPLER = "kernel"
    fflive.main([alternating_calls_never_mix, recursion_is_whole,
                 what_is_too_deep_is_stopped,
                 functions_thrown_away_are_never_called_by_anothers_name,
                 shares_are_those_of_stops, children_of_50_ms],
                [children_of_10_ms, samples_count_cpu_time,
                 samples_count_cpu_time_on_each_cpu, strangers_are_not_read,
                 attached_to_what_runs, one_line_says_why_it_is_refused])
