#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without privilege: one's own programs work, another's are refused by name.

As root, the tests run as uid 65534, who may read nothing of ours but copies.
"""
import glob
import os
import shutil
import subprocess
import tempfile

import fflive
from fflive import expect

NOBODY = 65534
WORKERS = 8


def other_user():
    """For Popen: become nobody, if we are root."""
    if os.geteuid():
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


class Copies:
    """The program under test and the targets, where everybody may read them:
    the source tree may be in a home that is closed to others."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="fflive-user-")
        self.env = {}
        self.forkflame = os.path.join(self.dir, "forkflame")
        self.copy_binary()
        self.programs = os.path.join(self.dir, "programs")
        shutil.copytree(fflive.PROGRAMS, self.programs)
        self.open_up()

    def copy_binary(self):
        """With the library that a program of the build tree finds there. Where
        libtool puts a script in front of it, the program lies in .libs too."""
        here = os.path.dirname(fflive.FORKFLAME)
        for libs in (os.path.join(here, ".libs"),
                     os.path.join(os.path.dirname(here), ".libs")):
            for path in glob.glob(os.path.join(libs, "*.so.*")):
                shutil.copy(path, self.dir)
                self.env["LD_LIBRARY_PATH"] = self.dir
        inner = os.path.join(here, ".libs", "forkflame")
        shutil.copy(inner if os.path.exists(inner) else fflive.FORKFLAME,
                    self.forkflame)

    def open_up(self):
        for path, _, files in os.walk(self.dir):
            os.chmod(path, 0o755)
            for name in files:
                full = os.path.join(path, name)
                mode = os.stat(full).st_mode
                os.chmod(full, mode | (0o555 if mode & 0o100 else 0o444))

    def program(self, name):
        return os.path.join(self.programs, name)

    def run(self, args, command=()):
        return fflive.run(args, command, program_path=self.forkflame,
                          env=self.env, cwd="/", **other_user())

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        shutil.rmtree(self.dir, ignore_errors=True)


def reachable_python():
    for python in fflive.pythons():
        try:
            done = subprocess.run([python.path, "-c", ""], cwd="/", **other_user())
        except OSError:
            continue
        if done.returncode == 0:
            return python.path
    raise fflive.Skip("no Python that an ordinary user may run")


def own_command_is_profiled():
    python = reachable_python()
    with Copies() as copies:
        run = copies.run(["--mode", "cpu"],
                         [python, copies.program("pool.py"), WORKERS, 40, .06])
        fflive.check_run(run, stdout=b"the pool is done\n")
        workers = run.roles("worker")
        expect(len(workers) == WORKERS, "the program: %s", run.truth)
        for fact in run.truth:
            pid, cpu = fact["pid"], fact["cpu"]
            expect(fact["role"] == "parent" or run.weigh(pid, "task") > 0,
                   "worker %d has no task", pid)
            fflive.near("CPU time of %d" % pid, run.weigh(pid), cpu,
                        fflive.slack(cpu))
        for key in ("events", "oncpu"):
            expect(run.stats[key] in ("connector", "switches") or
                   run.stats[key + "_reason"], "no reason for %s", key)


def own_process_is_profiled_by_its_switch_records():
    """Threads and children of before and of meanwhile, which sleep and wake: who
    slept when we came is not taken for asleep for ever."""
    python = reachable_python()
    with Copies() as copies:
        command = [python, copies.program("attached.py"), "2"]
        with fflive.Target(command, notes=2, cwd="/", open_truth=True,
                           **other_user()) as target:
            run = copies.run(["--mode", "cpu", "-p", target.pid])
            run.truth = target.truth()
        fflive.check_run(run)
        if run.stats["oncpu"] != "switches":
            raise fflive.Skip(run.stats["oncpu_reason"])
        for name in ("old_thread", "new_thread", "old_child", "new_child",
                     "thread_of_new_child"):
            for span in run.spans(name):
                fflive.near("CPU time of " + name,
                            run.weigh(span["pid"], name), span["cpu"],
                            fflive.slack(span["cpu"]) + .02)
        expect(run.stats["threads"] >= 6, "threads: %s", run.stats["threads"])


def process_of_root_is_refused():
    with Copies() as copies:
        if os.geteuid() == 0:
            target = fflive.Target([fflive.newest(), fflive.program("tree.py")],
                                   notes=4)
            pid, leave = target.pid, target.__exit__
        else:
            pid, leave = 1, lambda: None
        try:
            run = copies.run(["-p", pid, "-d", 1])
        finally:
            leave()
        expect(run.status == 3, "expected status 3, saw %s: %r", run.status,
               run.stderr)
        reason = run.stderr.lower()
        expect(str(pid) in reason and any(word in reason for word in
                                          ("root", "user", "permitted",
                                           "permission")),
               "the reason is not named: %r", run.stderr)


if __name__ == "__main__":
    fflive.main(once=[own_command_is_profiled,
                      own_process_is_profiled_by_its_switch_records,
                      process_of_root_is_refused])
