#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The modes, views and ways to end a run, on a pool and on a running tree."""
import resource
import signal
import time

import fflive
from fflive import expect, near

WORKERS = 8


def pool(python, seconds=.02):
    return [python, fflive.program("pool.py"), WORKERS, 40, seconds]


def run_pool(args, python, seconds=.02, **how):
    run = fflive.run(args, pool(python, seconds), **how)
    return fflive.check_run(run, stdout=b"the pool is done\n")


def check_workers(run):
    """Every worker has its functions."""
    workers = run.roles("worker")
    expect(len(workers) == WORKERS, "the program: %d workers", len(workers))
    for pid in workers:
        expect(run.weigh(pid, "task") > 0, "worker %d has no task", pid)
        own = run.weigh(pid, "small") + run.weigh(pid, "large")
        near("small and large of worker %d" % pid, own, run.weigh(pid, "task"),
             max(2 / fflive.RATE, .05 * own))


def check_clocks(run):
    """Each process has the CPU time that its own clock says."""
    for fact in run.truth:
        near("CPU time of %s %d" % (fact["role"], fact["pid"]),
             run.weigh(fact["pid"]), fact["cpu"],
             fflive.slack(fact["cpu"]))


def cpu_mode_agrees_with_each_workers_clock(python):
    run = run_pool(["--mode", "cpu"], python, .08)
    check_workers(run)
    check_clocks(run)


def cpu_mode_without_switch_records():
    run = run_pool(["--mode", "cpu", "--oncpu", "runcounts"],
                   fflive.newest(), .08)
    expect(run.stats["oncpu"] == "runcounts" and run.stats["oncpu_reason"],
           "oncpu: %s, %s", run.stats["oncpu"], run.stats["oncpu_reason"])
    check_workers(run)
    check_clocks(run)


def check_bursts(oncpu, length):
    run = fflive.run(["--mode", "cpu", "--oncpu", oncpu],
                     [fflive.newest(), fflive.program("bursts.py"), 15, length])
    fflive.check_run(run)
    right, = run.truth
    for name in ("bursts", "steady"):
        print("  note: %s of %d us: %.3f of %.3f s"
              % (name, length, run.weigh(None, name), right[name]))
        near(name, run.weigh(None, name), right[name],
             .1 * (right["bursts"] + right["steady"]))


def bursts_between_samples_keep_their_cpu_time():
    """Over before they can be read, and no part of the long work that is always hit."""
    for length in (30, 300):
        check_bursts("auto", length)


def bursts_keep_it_without_switch_records():
    check_bursts("runcounts", 300)


def counts_add_up_to_the_samples():
    run = run_pool(["--counts"], fflive.newest())
    check_workers(run)
    near("samples", run.weigh(), run.stats["samples"]["taken"], 0)


def check_files(run, name):
    """One file for each sampled process, with no other process in it."""
    sampled = [pid for pid in run.pids() if run.weigh(pid)]
    expect(sorted(run.files) == sorted(name % pid for pid in sampled),
           "files: %s, sampled: %s", sorted(run.files), sampled)
    for pid in sampled:
        stacks = fflive.parse_collapsed(run.files[name % pid])
        expect({stack.pid for stack in stacks} == {pid}, "%s has others",
               name % pid)


def one_file_for_each_process():
    check_files(run_pool(["-ff"], fflive.newest()), "out.txt.%d")
    check_files(run_pool([], fflive.newest(), output="out-%p.txt"), "out-%d.txt")


def flame_graph_needs_no_network():
    run = run_pool(["-f", "flamegraph"], fflive.newest(), output="out.html")
    page = run.files["out.html"]
    expect(page.lstrip()[:15].lower() == "<!doctype html>", "not a page: %r",
           page[:80])
    for word in ('src="http', "src='http", '<link rel="stylesheet"', "@import"):
        expect(word not in page, "the page loads something: %s", word)
    expect("task" in page and "large" in page, "functions are not in the page")


# Ways to end

def target():
    return fflive.Target([fflive.newest(), fflive.program("tree.py")], notes=4)


def check_kid(run, kid):
    """A busy thread's weight is the run's duration, by the run's own clock."""
    right = run.stats["duration_ns"] / 1e9
    near("time of the busy child", run.weigh(kid, "kid_work"), right,
         fflive.slack(right))


def duration_is_wall_time():
    with target() as tree:
        begin = time.monotonic()
        run = fflive.run(["-p", tree.pid, "-d", 1.5])
        fflive.check_run(run)
        near("duration", run.stats["duration_ns"] / 1e9, 1.5, .1)
        near("wall time of the run", run.ended - begin, 1.7, .4)
        check_kid(run, tree.pids("kid")[0])
        expect(tree.alive(), "the target has gone")


def signal_ends_the_run_and_writes():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with target() as tree:
            run = fflive.start(["-p", tree.pid])
            time.sleep(1)
            run.signal(number)
            sent = time.monotonic()
            run.wait(60)
            fflive.check_run(run)
            expect(run.ended - sent < .5, "ended %.2f s after signal %d",
                   run.ended - sent, number)
            check_kid(run, tree.pids("kid")[0])
            expect(tree.alive(), "the target has gone")


def duration_leaves_the_command_running():
    run = fflive.run(["-d", .5], pool(fflive.newest(), .04))
    # Whether it waits for the command or not: the pool comes to its end.
    fflive.wait_until(lambda: "parent" in [fact.get("role") for fact in
                                           fflive.read_truth(run.path("truth"))],
                      20, "end of the command")
    run.read()
    fflive.check_run(run, stdout=b"the pool is done\n")
    near("duration", run.stats["duration_ns"] / 1e9, .5, .1)


def few_open_files_lose_nobody():
    """More processes at once than files: what cannot be kept open is opened again."""
    if fflive.REFUSED:
        raise fflive.Skip("a shell stands between, which needs more files")
    run = fflive.run([], [fflive.newest(), fflive.program("crowd.py"), 60, 120],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                           (100, 100)))
    fflive.check_run(run)
    children = [fact for fact in run.truth if fact.get("role") == "child"]
    expect(len(children) == 120, "children: %d", len(children))
    expect(run.stats["processes"]["seen"] == 121 and
           run.stats["processes"]["sampled"] == 121, "%s", run.stats["processes"])
    near("wall time of them all", run.weigh(None, "one_child"),
         sum(fact["wall"] for fact in children),
         fflive.slack(sum(fact["wall"] for fact in children)) + 120 * .02)


if __name__ == "__main__":
    fflive.main([cpu_mode_agrees_with_each_workers_clock],
                [cpu_mode_without_switch_records,
                 bursts_between_samples_keep_their_cpu_time,
                 bursts_keep_it_without_switch_records,
                 counts_add_up_to_the_samples,
                 one_file_for_each_process,
                 flame_graph_needs_no_network,
                 duration_is_wall_time,
                 signal_ends_the_run_and_writes,
                 duration_leaves_the_command_running,
                 few_open_files_lose_nobody])
