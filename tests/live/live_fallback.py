#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the kernel sends us no process events the run still works, and says so."""
import os
import shutil
import subprocess
import tempfile

import fflive
import live_attach
from fflive import expect

UNSHARE = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--user",
           "--map-root-user"]
WORKERS = 8


def check_told(run, *sources):
    """One line says what is done instead."""
    expect(run.stats["events"] in sources and run.stats["events_reason"],
           "events: %s, %s", run.stats["events"], run.stats["events_reason"])
    told = [line for line in run.stderr.splitlines()
            if "process events" in line or "connector" in line]
    expect(len(told) == 1, "expected one line about process events: %r",
           run.stderr)


def check_pool(run, **how):
    fflive.check_run(run, stdout=b"the pool is done\n", **how)
    workers = run.roles("worker")
    expect(len(workers) == WORKERS, "the program: %d workers", len(workers))
    for fact in run.truth:
        pid, cpu = fact["pid"], fact["cpu"]
        expect(fact["role"] == "parent" or run.weigh(pid, "task") > 0,
               "worker %d has no task", pid)
        # The children files are read every 10 ms: that much may be missed.
        fflive.near("CPU time of %d" % pid, run.weigh(pid), cpu,
                    fflive.slack(cpu) + .01)


def pool(python):
    return [python, fflive.program("pool.py"), WORKERS, 40, .06]


def without_process_events_every_worker_is_found(python):
    run = fflive.run(["--events=children", "--mode", "cpu"], pool(python))
    check_pool(run)
    check_told(run, "children")


def a_search_of_all_of_proc_finds_every_worker():
    run = fflive.run(["--events=scan", "--mode", "cpu"], pool(fflive.newest()))
    check_pool(run)
    check_told(run, "scan")


def in_a_container_every_worker_is_found():
    done = subprocess.run(UNSHARE + ["true"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise fflive.Skip("no namespaces: " + done.stderr.strip())
    run = fflive.run(["--mode", "cpu"], pool(fflive.newest()), under=UNSHARE)
    check_pool(run, here=False)
    check_told(run, "perf", "children")


def work_after_a_long_sleep_is_not_the_sleeps():
    """Without switch records a sleeper is looked at seldom: it may have been awake for
    long by then, and most of that without a CPU."""
    run = fflive.run(["--oncpu", "runcounts"],
                     [fflive.newest(), fflive.program("late_riser.py")])
    fflive.check_run(run)
    spans = run.spans("work")
    right = sum(span["end"] - span["begin"] for span in spans)
    expect(len(spans) == 3, "spans: %s", spans)
    fflive.lasts("wall time of work", run.weigh(spans[0]["pid"], "work"), right,
                 .05 * right + 3 * 2.5 / fflive.RATE)


def work_of_a_moment_after_a_long_sleep_is_seen():
    """Few threads are looked at in every tick, however long they have slept."""
    run = fflive.run(["--oncpu", "runcounts", "--mode", "cpu"],
                     [fflive.newest(), fflive.program("seldom.py")])
    fflive.check_run(run)
    for name in ("burst_a", "burst_b", "burst_c", "burst_d", "burst_e"):
        (span,) = run.spans(name)
        fflive.near("CPU time of " + name, run.weigh(span["pid"], name), span["cpu"],
                    .3 * span["cpu"])


SLEEPERS = """
import os, time
for _ in range(%d):
    if os.fork() == 0:
        break
time.sleep(300)
"""


def counted_calls(path):
    """Calls by name, of strace -c."""
    found = {}
    for line in fflive.read_text(path).splitlines():
        words = line.split()
        if len(words) >= 5 and words[3].isdigit():
            found[words[-1]] = int(words[3])
    return found


def one_that_still_sleeps_costs_one_look():
    """At its run count. Its process's list of threads was read each time as well, of all
    that waited for their turn: of 5000 no other work was done."""
    if not shutil.which("strace"):
        raise fflive.Skip("no strace")
    with fflive.Target([fflive.newest(), "-c", SLEEPERS % 200], notes=0) as target:
        fflive.wait_until(lambda: len(live_attach.children_of(target.pid)) == 200, 60,
                          "200 sleepers")
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, "calls")
            run = fflive.run(["--oncpu", "runcounts", "-d", 6, "-p", target.pid],
                             under=["strace", "-c", "-f", "-o", calls])
            counts = counted_calls(calls)
    fflive.check_run(run)
    expect(run.stats["processes"]["sampled"] == 201, "%s", run.stats["processes"])
    looks, reads = counts["pread64"], counts["process_vm_readv"]
    expect(looks > 2000 and reads < looks / 2,
           "%d run counts and syscalls looked at, %d times memory", looks, reads)


if __name__ == "__main__":
    fflive.main([without_process_events_every_worker_is_found],
                [a_search_of_all_of_proc_finds_every_worker,
                 in_a_container_every_worker_is_found,
                 work_after_a_long_sleep_is_not_the_sleeps,
                 work_of_a_moment_after_a_long_sleep_is_seen,
                 one_that_still_sleeps_costs_one_look])
