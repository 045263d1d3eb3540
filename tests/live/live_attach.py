#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaching to what runs already: the process named and all below it."""
import collections
import ctypes
import http.client
import os
import signal
import socket
import struct
import subprocess
import time

import fflive
import ffworkers
from fflive import expect, must, near

GUNICORN = "/usr/bin/gunicorn"
ROLES = {"root": "root_sleeps", "kid": "kid_work", "grandchild": "grandchild_work"}


def target(python):
    return fflive.Target([python, fflive.program("tree.py")], notes=4)


def check_tree(run, tree):
    """All that lived at the start is there for the whole run, and so is what
    was born during it."""
    whole = run.stats["duration_ns"] / 1e9
    for role, function in ROLES.items():
        near("time of " + function, run.weigh(tree.pids(role)[0], function), whole,
             fflive.slack(whole))
    near("time of root's thread", run.weigh(tree.pid, "root_thread"), whole,
         fflive.slack(whole))
    parents = {run.member(tree.pids(role)[0])["parent"]
               for role in ("kid", "elder")}
    expect(parents == {tree.pid}, "parents of kid and elder: %s", parents)


def check_born_later(run, tree):
    elder = tree.pids("elder")[0]
    late = [one for one in run.stats["members"] if one["parent"] == elder and
            one["pid"] not in tree.pids("grandchild")]
    # One every 0.25 s and more, on a busy machine.
    expect(len(late) >= 2 and run.weigh(function="late_work") > .05,
           "children born meanwhile: %s", late)


def tree_that_runs_already_is_taken_in_whole(python):
    with target(python) as tree:
        run = fflive.run(["-p", tree.pid, "-d", 1.5])
        fflive.check_run(run)
        check_tree(run, tree)
        check_born_later(run, tree)
        expect(tree.alive(), "the target has gone")


def several_trees_in_one_run():
    with target(fflive.newest()) as one, target(fflive.pythons()[-1].path) as two:
        # The kid is named and part of a tree: it counts once.
        run = fflive.run(["-p", one.pid, "-p", two.pid, "-p", one.pids("kid")[0],
                          "-d", 1.5])
        fflive.check_run(run)
        check_tree(run, one)
        check_tree(run, two)


def part_of_a_tree_is_not_the_tree():
    with target(fflive.newest()) as tree:
        kid = tree.pids("kid")[0]
        run = fflive.run(["-p", kid, "-d", .5])
        fflive.check_run(run)
        seen = [one["pid"] for one in run.stats["members"]]
        expect(seen == [kid], "expected only %d, saw %s", kid, seen)


# A pool that runs already

POOL = 12
IN_OPEN = 0x20


class Opens:
    """Who opens files: how often each of @paths is opened meanwhile."""

    def __init__(self, paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        self.paths = {libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN): path
                      for path in paths}
        expect(self.fd >= 0 and min(self.paths) > 0, "inotify: %s",
               os.strerror(ctypes.get_errno()))
        self.counts = collections.Counter()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        try:
            while True:
                events = os.read(self.fd, 65536)
                for at in range(0, len(events), 16):
                    watch, = struct.unpack_from("i", events, at)
                    self.counts[self.paths[watch]] += 1
        except BlockingIOError:
            os.close(self.fd)


def maps_of(pid):
    return "/proc/%d/maps" % pid


def workers_have_the_python_that_was_found_in_their_parent():
    """What a pool has mapped is looked at once. The workers are found the same when
    their parent is none that is profiled, each by itself."""
    with fflive.Target([fflive.newest(), fflive.program("generations.py"), str(POOL)],
                       notes=POOL, stdin=subprocess.PIPE) as target:
        workers = target.pids("born")
        files = [maps_of(pid) for pid in [target.pid] + workers]
        with Opens(files) as whole:
            run = fflive.run(["-p", target.pid, "-d", .5])
        alone = [word for pid in workers for word in ("-p", pid)]
        with Opens(files) as each:
            apart = fflive.run(alone + ["-d", .5])
    for one in (run, apart):
        fflive.check_run(one)
        expect(set(workers) <= set(one.pids()), "workers %s, sampled %s", workers,
               one.pids())
    print("  %d maps opened, %d without the parent" % (sum(whole.counts.values()),
                                                       sum(each.counts.values())))
    expect(whole.counts[maps_of(target.pid)] > 0, "the parent's: %s", whole.counts)
    # Others on the machine may look at somebody's, too.
    looked = [pid for pid in workers if whole.counts[maps_of(pid)]]
    must(len(looked) < POOL / 3, "looked for in %d of %d workers", len(looked), POOL)
    looked = [pid for pid in workers if each.counts[maps_of(pid)]]
    expect(len(looked) == POOL, "found in %d of %d without a look?",
           POOL - len(looked), POOL)


# gunicorn

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port):
    """(pid, seconds in the view) of the worker that answered; (0, 0) of none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        pid, seconds = connection.getresponse().read().split()
        return int(pid), float(seconds)
    except OSError:
        return 0, 0
    finally:
        connection.close()


def load(port, seconds):
    """One request after the other; for each worker the times of its views."""
    answers = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, view = ask(port)
        answers.setdefault(pid, []).append(view)
    return answers


def gunicorn(port):
    return fflive.Target(
        ["/usr/bin/python3", GUNICORN, "-w", "4", "-b", "127.0.0.1:%d" % port,
         "--log-level", "error", "--worker-tmp-dir", "/tmp", "web:application"],
        notes=0, cwd=fflive.PROGRAMS)


def gunicorn_workers_show_their_handlers():
    if not os.path.exists(GUNICORN):
        print("  note: gunicorn is not installed; that part is left out")
        return
    port = free_port()
    with gunicorn(port) as master:
        fflive.wait_until(lambda: ask(port)[0], 60, "gunicorn answers")
        # CPU time: on a full machine a view waits longer than it works.
        run = fflive.start(["-p", master.pid, "-d", 6, "--mode", "cpu"])
        answers = load(port, 5)
        run.wait()
        fflive.check_run(run)
        expect(0 not in answers and len(answers) == 4, "answers by %s",
               sorted(answers))
        for pid, views in answers.items():
            # Each is about as short as a sampling interval: chance has its share.
            chance = 3 * .5 * len(views) ** .5 / fflive.RATE
            seen = run.weigh(pid, "view")
            expect(seen > 0, "worker %d answered, but has no view", pid)
            near("%d views in worker %d" % (len(views), pid), seen, sum(views),
                 fflive.slack(sum(views)) + chance)
        expect(run.weigh(master.pid, "view") == 0, "a view in the master")


def children_of(pid):
    """Their pids, of all its threads."""
    found = []
    for tid in fflive.threads_of(pid):
        try:
            with open("/proc/%d/task/%d/children" % (pid, tid)) as file:
                found += file.read().split()
        except FileNotFoundError:
            pass
    return found


def profiler_keeps_no_child():
    """The one that it makes to try the events with is waited for, not left a zombie
    as long as it runs."""
    with fflive.Target([fflive.newest(), fflive.program("twobusy.py"), "60", "1"],
                       notes=0) as target:
        run = fflive.start(["-p", target.pid])
        ffworkers.wait_for_taking_in(run, {target.pid})
        fflive.wait_until(lambda: not children_of(run.process.pid), 20,
                          "the profiler without children")
        run.signal(signal.SIGINT)
        fflive.check_run(run.wait())


if __name__ == "__main__":
    fflive.main([tree_that_runs_already_is_taken_in_whole],
                [several_trees_in_one_run,
                 profiler_keeps_no_child,
                 part_of_a_tree_is_not_the_tree,
                 workers_have_the_python_that_was_found_in_their_parent,
                 gunicorn_workers_show_their_handlers])
