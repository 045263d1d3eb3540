# SPDX-License-Identifier: Apache-2.0
"""Pools of workers: their profile against their own CPU clocks.

Their functions note what they cost their thread (truth.timed). A machine that is
busy with something else makes a run longer, but changes nothing of that.
"""
import collections
import http.client
import os
import re
import socket

import fflive
from fflive import expect, near


# Higher than usual: the tasks are short.
RATE = 200


def start(args, command, **how):
    """A run in CPU time."""
    return fflive.start(["--mode", "cpu", "-r", RATE] + list(args), command,
                        **how)


def clock_slack(seconds, times):
    """A function that ran @times may be a sampling interval off at each of its
    ends, to either side, and so by a multiple of the root of that."""
    return .06 * seconds + (3 + 2 * times ** .5) / RATE


def check_clocks(run, functions):
    """Each process that noted one of @functions has it for what its own clock
    said, and all of them together, where chance has less of a share. Returns the
    pids, those of workers."""
    clocks = collections.defaultdict(list)
    for fact in run.truth:
        if fact.get("span") in functions:
            clocks[fact["pid"], fact["span"]].append(fact["cpu"])
    expect({name for _, name in clocks} == set(functions),
           "the program noted %s, not all of %s", sorted(clocks), functions)
    for (pid, name), each in sorted(clocks.items()):
        near("%d x %s in pid %d" % (len(each), name, pid), run.weigh(pid, name),
             sum(each), clock_slack(sum(each), len(each)))
    for name in functions:
        each = [cpu for key in clocks if key[1] == name for cpu in clocks[key]]
        near("%d x %s in all" % (len(each), name), run.weigh(function=name),
             sum(each), clock_slack(sum(each), len(each)))
    return {pid for pid, _ in clocks}


def check_elsewhere(run, functions, workers):
    """No one but the workers has their functions."""
    for name in functions:
        strangers = {stack.pid for stack in run.stacks
                     if name in fflive.names(stack)} - set(workers)
        expect(not strangers, "%s is also in %s, which are no workers", name,
               sorted(strangers))


def check_lives(run):
    """What is told of the whole life of a worker is what its clock said when it
    was about to leave."""
    for fact in run.truth:
        if fact.get("role") == "worker" and "cpu" in fact:
            near("CPU time of worker %d" % fact["pid"],
                 run.member(fact["pid"])["cpu_ns"] / 1e9, fact["cpu"],
                 .03 * fact["cpu"] + .03)


def check_parent(run, pids, parent, what):
    """Each of @pids was born of @parent."""
    parents = {pid: run.member(pid)["parent"] for pid in pids}
    expect(set(parents.values()) == {parent}, "%s: expected children of %s, saw "
           "parents %s", what, parent, parents)


def check_sampled(run, right, seen=None):
    """As many processes are sampled, and seen: by default, no others."""
    counts = run.stats["processes"]
    expect(counts["sampled"] == right and
           counts["seen"] == (right if seen is None else seen),
           "expected %d sampled of %d seen: %s", right,
           right if seen is None else seen, counts)


def watched(run):
    """The processes that a run which goes on has taken in, by its pidfds."""
    where = "/proc/%d/fdinfo" % run.process.pid
    pids = set()
    for fd in os.listdir(where):
        try:
            found = re.search(r"^Pid:\t(\d+)", fflive.read_text(where + "/" + fd),
                              re.M)
        except OSError:  # closed meanwhile
            continue
        if found:
            pids.add(int(found.group(1)))
    return pids


def wait_for_taking_in(run, pids):
    fflive.wait_until(lambda: pids <= watched(run), 60,
                      "the run takes in %s" % sorted(pids))


# programs/generations.py, whose standard input is a pipe of ours

def generation(run, number, size):
    """The pids of those who were born together, when all are there."""
    def born():
        return {fact["pid"] for fact in fflive.read_truth(run.path("truth"))
                if fact.get("generation") == number}
    fflive.wait_until(lambda: len(born()) == size, 60,
                      "%d children of generation %d" % (size, number))
    return born()


def replace(run):
    run.process.stdin.write(b".")
    run.process.stdin.flush()


# Servers of the web

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, path):
    """The pid that the server at @port answers with; 0: no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        return int(connection.getresponse().read())
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def serve(port, requests, paths=("/",)):
    """Ask so often, once the server answers, for one path after the other. Returns
    how often each pid answered."""
    answers = collections.Counter()
    fflive.wait_until(lambda: ask_once(port, paths[0], answers), 60,
                      "answer of the server")
    for number in range(1, requests):
        answers[ask(port, paths[number % len(paths)])] += 1
    expect(not answers[0], "%d requests had no answer", answers[0])
    return +answers


def ask_once(port, path, answers):
    pid = ask(port, path)
    if pid:
        answers[pid] += 1
    return pid
