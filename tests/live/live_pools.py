#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pools of worker processes, however they are started and replaced: each worker
is in the profile, with what its own CPU clock says."""
import os
import signal

import ffworkers
import fflive
from fflive import expect

GUNICORN = "/usr/bin/gunicorn"
WORKERS, TASKS, SECONDS = 2, 4, .1

# The processes beside root and workers: the tracker of resources is one, and the
# server from which workers are forked another.
HELPERS = {"fork": 0, "spawn": 1, "forkserver": 2}


def executor_workers_have_their_own_clocks(python, method):
    run = ffworkers.start((), [python, fflive.program("executor.py"), method,
                               WORKERS, TASKS, SECONDS])
    fflive.check_run(run.wait(), stdout=b"the pool is done\n")
    workers = ffworkers.check_clocks(run, ("light", "heavy"))
    expect(len(workers) == WORKERS, "workers: %s", sorted(workers))
    ffworkers.check_elsewhere(run, ("light", "heavy"), workers)
    ffworkers.check_lives(run)
    ffworkers.check_sampled(run, 1 + WORKERS + HELPERS[method])
    parent = run.member(min(workers))["parent"]
    ffworkers.check_parent(run, workers, parent, "workers")
    server = "forkserver" in run.member(parent)["images"][-1]["command"]
    expect(parent == run.roles("root")[0] if method != "forkserver" else server,
           "%s: the parent of the workers is %s", method, run.member(parent))
    return run


def interpreter(number):
    """One for each way, as far as there are so many."""
    found = fflive.pythons()
    return found[number % len(found)].path


def executor_by_fork():
    executor_workers_have_their_own_clocks(interpreter(0), "fork")


def executor_by_spawn():
    executor_workers_have_their_own_clocks(interpreter(1), "spawn")


def executor_by_forkserver():
    executor_workers_have_their_own_clocks(interpreter(2), "forkserver")


# A server that replaces its workers

REQUESTS, EACH = 30, 5


def workers_that_replace_each_other_are_all_in_the_profile():
    if not os.path.exists(GUNICORN):
        print("  note: gunicorn is not installed; that part is left out")
        return None
    port = ffworkers.free_port()
    run = ffworkers.start(
        (), ["/usr/bin/python3", GUNICORN, "-c", fflive.program("recycled.py"),
             "-b", "127.0.0.1:%d" % port, "--max-requests", EACH,
             "recycled:application"],
        env={"PYTHONPATH": fflive.PROGRAMS}, cwd=fflive.PROGRAMS)
    answers = ffworkers.serve(port, REQUESTS)
    notes = fflive.read_truth(run.path("truth"))
    master = [fact["pid"] for fact in notes if fact.get("role") == "master"][0]
    os.kill(master, signal.SIGTERM)
    fflive.check_run(run.wait())
    workers = ffworkers.check_clocks(run, ("view",))
    expect(workers == set(answers) and len(workers) >= REQUESTS / EACH - 1,
           "answers by %s, views in %s", dict(answers), sorted(workers))
    ffworkers.check_elsewhere(run, ("view",), workers)
    forked = set(run.roles("worker"))
    ffworkers.check_sampled(run, 1 + len(forked))
    ffworkers.check_parent(run, forked, master, "workers of gunicorn")
    return run


if __name__ == "__main__":
    fflive.main(once=[executor_by_fork, executor_by_spawn, executor_by_forkserver,
                      workers_that_replace_each_other_are_all_in_the_profile])
