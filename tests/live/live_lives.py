#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lives of every kind: threads whose exits end nothing, zombies, names that mislead,
a target that others stop, a root that is no Python, many processes at once."""
import os
import signal
import subprocess
import time

import fflive
from fflive import expect, near
from live_states import slices_of, total


def ends_are_told_with_their_status(python):
    run = fflive.run([], [python, fflive.program("ends.py")])
    fflive.check_run(run, status=7)
    expect(len(run.truth) == 7 and len(run.stats["members"]) == 7,
           "expected 7 processes: %s", run.stats["processes"])
    for fact in run.truth:
        member = run.member(fact["pid"])
        right = fact["exit"] << 8 if "exit" in fact else fact["signal"]
        expect(member["status"] == right and member["left_ns"] is not None,
               "%s: expected %d, saw %s", fact["role"], right, member)
        if fact["role"] == "leaderless":
            expect(member["left_ns"] - member["born_ns"] > 2e8,
                   "it ended with its first thread: %s", member)


def threads_that_come_and_go_hide_nobody(python):
    seconds = 2
    run = fflive.run([], [python, fflive.program("threads.py"), "churn", seconds])
    fflive.check_run(run)
    run.check_span("steady")
    zombie = [fact["zombie"] for fact in run.truth if "zombie" in fact][0]
    member = run.member(zombie)
    expect(member["status"] == 4 << 8 and member["verdict"] != "denied" and
           member["left_ns"] < seconds * 1e9, "the zombie: %s", member)
    expect("denied" not in run.stderr, "stderr: %r", run.stderr)


def exits_of_threads_end_no_process(python):
    run = fflive.run([], [python, fflive.program("threads.py"), "brief", 1.5])
    fflive.check_run(run)
    expect(len(run.stats["members"]) == 1, "%s", run.stats["members"])
    run.check_span("rest")


def who_waits_for_a_killed_child_gets_it(python):
    """One that dies while it is being stopped is its tracer's, until that waits."""
    for oncpu in ("switches", "runcounts"):
        run = fflive.run(["-r", 4000, "--oncpu", oncpu],
                         [python, fflive.program("victims.py"), 200], timeout=60)
        if run.stats is None and oncpu == "switches":
            continue  # refused here
        fflive.check_run(run)
        slowest = [fact["slowest"] for fact in run.truth if "slowest" in fact]
        expect(len(slowest) == 1 and slowest[0] < 2, "waited for %s s", slowest)


def names_mislead_nobody():
    run = fflive.run([], [fflive.newest(), fflive.program("threads.py"), "names",
                          1])
    fflive.check_run(run)
    spans = run.spans("hostile_name")
    right = sum(span["end"] - span["begin"] for span in spans)
    expect(len(spans) == 4, "the program: %s", spans)
    near("time of hostile_name", run.weigh(function="hostile_name"), right,
         4 * fflive.slack(right / 4))


def attaching_to_a_zombie_ends_at_once():
    zombie = subprocess.Popen(["true"])
    fflive.wait_until(lambda: fflive.thread_state(zombie.pid, zombie.pid)[0] ==
                      "Z", 60, "the zombie")
    begin = time.monotonic()
    run = fflive.run(["-p", zombie.pid, "-d", 5])
    expect(run.status == 1 and "has exited" in run.stderr and
           time.monotonic() - begin < 2, "status %s: %r", run.status, run.stderr)
    zombie.wait()


def target_that_is_stopped_now_and_then_is_profiled():
    times = 40
    run = fflive.run(["-f", "ff"], [fflive.newest(), fflive.program("toggled.py"),
                                    times], output="run.ff")
    fflive.check_run(run)
    victim = run.roles("victim")[0]
    slices = slices_of(run.path("run.ff"))
    span = run.spans("victim_work")[0]
    right = [fact["stopped"] for fact in run.truth if "stopped" in fact][0]
    stopped = total(slices, pid=victim, state="stopped")
    # One that goes on stands where it stood until it has a CPU.
    off = span["end"] - span["begin"] - span["cpu"]
    expect(.65 * right <= stopped <= max(1.35 * right, off),
           "time stopped by others: expected %.3f, off its CPU %.3f, saw %.3f", right,
           off, stopped)
    near("CPU time", total(slices, "cpu_ns", pid=victim), span["cpu"],
         fflive.slack(span["cpu"]) + .1)
    expect(not total(slices, "cpu_ns", pid=victim, state="stopped") > .1 * right,
           "CPU time while stopped")
    expect(run.ended - span["end"] < 1, "the run ended late")


def target_that_others_hold_stays_held():
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as target:
        kid = target.pids("kid")[0]
        os.kill(kid, signal.SIGSTOP)
        fflive.wait_until(lambda: fflive.thread_state(kid, kid)[0] == "T", 5,
                          "SIGSTOP")
        run = fflive.run(["-f", "ff", "-p", kid, "-d", 1], output="run.ff")
        expect(run.status == 0, "status %s: %s", run.status, run.stderr)
        fflive.check_seen(run.stats)
        expect(fflive.thread_state(kid, kid) == ("T", 0), "it was woken: %s",
               fflive.thread_state(kid, kid))
        stopped = total(slices_of(run.path("run.ff")), pid=kid, state="stopped")
        near("time stopped", stopped, 1, .1)
        os.kill(kid, signal.SIGCONT)
        fflive.wait_until(lambda: fflive.thread_state(kid, kid)[0] in "RS", 1,
                          "it goes on")


def root_that_is_no_python_has_a_daemon_with_workers(python):
    tasks = 6
    run = fflive.run(["--mode", "cpu"], [
        "sh", "-c", "(for i in 1 2 3 4 5 6; do echo task; sleep .2; done; "
        "sleep 1) | '%s' '%s'; :" % (python, fflive.program("daemon.py"))])
    fflive.check_run(run)
    workers, daemon = run.roles("worker"), run.roles("daemon")[0]
    expect(len(workers) == 2 and set(run.pids()) <= set(workers + [daemon]) and
           set(workers) <= set(run.pids()), "sampled: %s", run.pids())
    expect({run.member(pid)["parent"] for pid in workers} == {daemon} and
           run.member(run.stats["members"][0]["pid"])["verdict"] == "not_python",
           "the tree: %s", run.stats["members"])
    spans = run.spans("udf")
    expect(len(spans) == tasks, "the program: %d tasks", len(spans))
    for pid in workers:
        right = sum(span["cpu"] for span in spans if span["pid"] == pid)
        near("CPU time of udf in %d" % pid, run.weigh(pid, "udf"), right,
             fflive.slack(right))
        # Its birth is none of it, which is much where it has little of a CPU.
        expect(run.weigh(pid, "udf") >= .9 * run.weigh(pid) - .03,
               "%d is busy with something else: %.3f of %.3f s", pid,
               run.weigh(pid, "udf"), run.weigh(pid))


def many_processes_at_once_are_all_seen():
    alive, children = (300, 3000) if fflive.LONG else (100, 400)
    run = fflive.run([], [fflive.newest(), fflive.program("crowd.py"), alive,
                          children], timeout=300)
    fflive.check_run(run)
    expect(run.stats["processes"]["seen"] == children + 1, "expected %d: %s",
           children + 1, run.stats["processes"])
    lives = [fact["wall"] for fact in run.truth]
    expect(len(lives) == children, "the program: %d children", len(lives))
    near("time of all children", run.weigh(function="one_child"), sum(lives),
         .1 * sum(lives))
    expect(run.stats["profiler_cpu_ns"] < run.stats["duration_ns"],
           "%.2f s of CPU time in %.2f s", run.stats["profiler_cpu_ns"] / 1e9,
           run.stats["duration_ns"] / 1e9)


if __name__ == "__main__":
    fflive.main([ends_are_told_with_their_status,
                 threads_that_come_and_go_hide_nobody,
                 exits_of_threads_end_no_process,
                 who_waits_for_a_killed_child_gets_it,
                 root_that_is_no_python_has_a_daemon_with_workers],
                [names_mislead_nobody, attaching_to_a_zombie_ends_at_once,
                 target_that_is_stopped_now_and_then_is_profiled,
                 target_that_others_hold_stays_held,
                 many_processes_at_once_are_all_seen])
