#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What threads wait for, and who has the interpreter's lock."""
import json
import os
import signal
import subprocess

import fflive
from fflive import expect

# Function of the program, and what it waits for.
WAITS = {"on_lock": "lock", "on_pipe": "pipe", "on_socket": "socket",
         "on_poll": "poll", "on_time": "time", "on_process": "process"}

# From this version on the lock can be found.
LOCK_FROM = (3, 8)


def dumped(pid):
    done = subprocess.run([fflive.FORKFLAME, "dump", "--json", "-p", str(pid)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=30, check=True)
    return json.loads(done.stdout)["processes"]


def short(frame):
    return frame["function"].rpartition(".")[2]


def each_wait_is_named(python):
    with fflive.Target([python, fflive.program("waits.py")]) as target:
        threads = [thread for one in dumped(target.pid) if one["pid"] == target.pid
                   for thread in one["threads"]]
        for function, kind in WAITS.items():
            found = [thread for thread in threads
                     if function in map(short, thread["frames"])]
            expect(len(found) == 1, "%s: %d threads", function, len(found))
            expect(found[0]["state"] == "idle" and
                   found[0]["waits_for"] == kind, "%s: %s, waits for %s",
                   function, found[0]["state"], found[0]["waits_for"])


def stopped_process_is_called_stopped():
    """All of its threads, also those that it has caught in a call, of which the first
    sleeps for the lock."""
    with fflive.Target([fflive.newest(), fflive.program("twobusy.py"), "60",
                        "2"], notes=0) as target:
        fflive.wait_until(lambda: {"first", "second"} <= {
            short_name for one in dumped(target.pid) for thread in one["threads"]
            for short_name in map(short, thread["frames"])}, 60, "both")
        os.kill(target.pid, signal.SIGSTOP)
        fflive.wait_until(lambda: all(
            fflive.thread_state(target.pid, tid)[0] == "T"
            for tid in fflive.threads_of(target.pid)), 60, "SIGSTOP")
        states = [thread["state"] for one in dumped(target.pid)
                  for thread in one["threads"]]
        expect(states == 3 * ["stopped"], "states: %s", states)


def slices_of(path):
    """The slices of a recording, from its JSON lines."""
    done = subprocess.run([fflive.FORKFLAME, "report", path, "-f", "jsonl"],
                          stdout=subprocess.PIPE, timeout=60, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if line.get("type") == "slice"]


def recorded(python, seconds, threads):
    run = fflive.run(["-f", "ff"], [python, fflive.program("twobusy.py"),
                                    seconds, threads], output="run.ff")
    fflive.check_run(run)
    return run, slices_of(run.path("run.ff"))


def total(slices, key="wall_ns", **wanted):
    return sum(one[key] for one in slices
               if all(one.get(name) == value
                      for name, value in wanted.items())) / 1e9


def lock_is_held_by_one_and_waited_for_by_the_other(python):
    version = fflive.version_of(python)
    seconds = 3
    run, slices = recorded(python, seconds, 2)
    busy = [fact for fact in run.truth if fact["role"] == "busy"][0]
    held = total(slices, gil="held")
    waited = total(slices, gil="waited")
    if version < LOCK_FROM:
        expect(not waited, "a lock that is not known was waited for")
        return
    # One holds it whenever either runs; both want it all the time. (Let go for the
    # other, nobody has it until that one has a CPU, on a full machine.)
    expect(.75 * min(seconds, busy["cpu"]) <= held <= 1.4 * seconds + .3,
           "time with the lock held: %.2f s, at %.2f s of CPU time", held, busy["cpu"])
    # On a full machine it is often awake, and waits for a CPU instead.
    expect(waited > .15 * seconds, "waited for the lock: %.2f s of %d", waited,
           seconds)
    expect(total(slices, gil="waited", wait="gil") == waited,
           "waits of other kinds than the lock's")


def alone_nobody_waits_for_the_lock():
    _, slices = recorded(fflive.newest(), 2, 1)
    waited = total(slices, gil="waited")
    expect(waited < .1, "one busy thread waited for the lock: %.2f s", waited)
    fflive.lasts("time with the lock held", total(slices, gil="held"), 2, .3)


if __name__ == "__main__":
    fflive.main([each_wait_is_named,
                 lock_is_held_by_one_and_waited_for_by_the_other],
                [stopped_process_is_called_stopped,
                 alone_nobody_waits_for_the_lock])
