#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`forkflame dump` shows every stack of a running tree, once, and changes nothing."""
import json
import os
import signal
import subprocess
import time

import fflive
from fflive import expect

# In the tree: each role's own function, and its thread's where it has one.
ROLES = {"root": "root_sleeps", "kid": "kid_work", "grandchild": "grandchild_work"}


def dump(*args):
    done = subprocess.run([fflive.FORKFLAME, "dump"] + [str(arg) for arg in args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30)
    return done.returncode, done.stdout, done.stderr.decode()


def functions(process):
    return {frame["function"].rpartition(".")[2]
            for thread in process["threads"] for frame in thread["frames"]}


def tree(python):
    """The tree, once its root has come to where it sleeps."""
    target = fflive.Target([python, fflive.program("tree.py")], notes=4)
    fflive.wait_until(lambda: b"root_sleeps" in dump("-p", target.pid)[1], 10,
                      "root_sleeps")
    return target


def every_thread_of_the_tree_is_shown(python):
    with tree(python) as target:
        status, out, err = dump("--json", "-p", target.pid)
        expect(status == 0 and not err, "status %d, %s", status, err)
        processes = {one["pid"]: one for one in json.loads(out)["processes"]}
        for role, function in ROLES.items():
            pid = target.pids(role)[0]
            expect(pid in processes, "%s (%d) is missing", role, pid)
            expect(function in functions(processes[pid]), "%s: %s", role,
                   processes[pid])
            expect(len(processes[pid]["threads"]) ==
                   len(fflive.threads_of(pid)), "threads of %s: %s", role,
                   processes[pid]["threads"])
        root = processes[target.pid]
        expect(root["parent"] is None and
               processes[target.pids("kid")[0]]["parent"] == target.pid,
               "parents: %s", processes)
        expect("root_thread" in functions(root), "root's thread: %s", root)
        for thread in root["threads"]:
            expect(thread["frames"][-1]["function"].endswith(
                ("<module>", "_bootstrap")), "outermost frame: %s", thread)
        fflive.check_let_go(list(processes))


def text_says_the_same():
    with tree(fflive.newest()) as target:
        status, out, _ = dump("-p", target.pid)
        text = out.decode()
        expect(status == 0, "status %d", status)
        for word in list(ROLES.values()) + ["Thread %d" % target.pid, "Python 3.",
                                            "child of %d" % target.pid]:
            expect(word in text, "%r is missing in: %s", word, text)


def stopped_process_is_shown_and_stays_stopped():
    with tree(fflive.newest()) as target:
        os.kill(target.pid, signal.SIGSTOP)
        fflive.wait_until(lambda: fflive.thread_state(target.pid, target.pid)[0]
                          == "T", 60, "SIGSTOP")
        _, out, _ = dump("--json", "-p", target.pid)
        root = json.loads(out)["processes"][0]
        expect("root_sleeps" in functions(root), "stopped: %s", root)
        state = fflive.thread_state(target.pid, target.pid)
        expect(state[0] == "T", "it was stopped by somebody else: now %s", state)
        os.kill(target.pid, signal.SIGCONT)


def what_cannot_be_shown_is_named():
    sleeper = fflive.spawn(["sleep", "20"])
    time.sleep(.1)
    try:
        status, out, _ = dump("-p", sleeper.pid)
        expect(status == 0 and b"no Python" in out, "sleep: %d %s", status, out)
    finally:
        fflive.kill_group(sleeper)
        sleeper.wait()
    status, out, err = dump("-p", 4194303)
    expect(status == 1 and not out and "4194303" in err, "no process: %d %s",
           status, err)
    status, _, err = dump()
    expect(status == 2 and "-p" in err, "usage: %d %s", status, err)


if __name__ == "__main__":
    fflive.main([every_thread_of_the_tree_is_shown],
                [text_says_the_same,
                 stopped_process_is_shown_and_stays_stopped,
                 what_cannot_be_shown_is_named])
