#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sampling thread works on the CPU of the thread that it looks at, and follows it."""
import os
import shutil
import signal

import fflive
import ffworkers

MOVES = 8 if fflive.LONG else 3


def bound_to(pid):
    """CPUs that a thread of @pid is bound to, each alone."""
    bound = set()
    for tid in fflive.threads_of(pid):
        try:
            allowed = os.sched_getaffinity(tid)
        except ProcessLookupError:
            continue
        if len(allowed) == 1:
            bound |= allowed
    return bound


def has_urgent_thread(pid):
    return any(os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
               for tid in fflive.threads_of(pid))


def put(pid, cpu):
    for tid in fflive.threads_of(pid):
        os.sched_setaffinity(tid, {cpu})


def need_records():
    """Of who runs where."""
    stats = fflive.run([], [fflive.newest(), "-c", "pass"]).stats
    if stats["oncpu"] != "switches":
        raise fflive.Skip("no switch records: %s" % stats["oncpu_reason"])


def sampling_thread_follows_to_another_cpu():
    """All of the profiler is put on one CPU, its target on the other: one thread of it
    leaves the others, as often as that is done."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise fflive.Skip("one CPU only")
    need_records()
    with fflive.Target([fflive.newest(), fflive.program("twobusy.py"), "120",
                        "1"],
                       notes=0) as target:
        run = fflive.start(["--sampler=stop", "-r", 1000, "-p", target.pid])
        ffworkers.wait_for_taking_in(run, {target.pid})
        if not has_urgent_thread(run.process.pid):
            raise fflive.Skip("no SCHED_FIFO")
        for move in range(MOVES):
            here, there = cpus[move % 2], cpus[1 - move % 2]
            put(target.pid, there)
            put(run.process.pid, here)
            fflive.wait_until(lambda: there in bound_to(run.process.pid), 60,
                              "move %d: the sampling thread on CPU %d" %
                              (move, there))
        run.signal(signal.SIGINT)
        fflive.check_run(run.wait())


def slow_reader_is_not_overtaken_for_ever():
    """Under a tracer each system call of the profiler takes so long that its target,
    which it pushes aside, runs on before what was read has been proven."""
    if not shutil.which("strace"):
        raise fflive.Skip("no strace")
    need_records()
    with fflive.Target([fflive.newest(), fflive.program("alternating.py"),
                        "calls", "120"], notes=0) as target:
        run = fflive.run(["-r", 100, "-d", 3, "-p", target.pid],
                         under=["strace", "-f", "-o", "/dev/null"])
        fflive.check_run(run)
    samples, ticks = run.stats["samples"], run.stats["ticks"]["done"]
    assert samples["taken"] > ticks / 2, "%s in %d ticks" % (samples, ticks)


if __name__ == "__main__":
    fflive.main(once=[sampling_thread_follows_to_another_cpu,
                      slow_reader_is_not_overtaken_for_ever])
