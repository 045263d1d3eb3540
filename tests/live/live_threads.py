#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who the threads are: after a fork, in another pid namespace, in a second
interpreter, without a leader, without Python, and by the thousand."""
import re
import subprocess

import ffplaces
import fflive
from fflive import expect, near

SECONDS = 1
MANY = 2000


def forked_child_has_one_thread(python):
    """The parent's are in the child's list for a moment; in 2.7 for ever."""
    run = fflive.run([], [python, fflive.program("ghosts.py"), SECONDS])
    fflive.check_run(run)
    child, parent = run.roles("child")[0], run.roles("parent")[0]
    for ghost in ("ghost_busy", "ghost_asleep"):
        # It may be seen on the way out of the fork, before it has run.
        near("%s in the child" % ghost, run.weigh(child, ghost), 0, .001)
        expect(run.weigh(parent, ghost) > .9 * SECONDS, "%s in the parent: %s",
               ghost, run.weigh(parent, ghost))
    if ffplaces.every_python()[python] >= (3, 7):
        ffplaces.check_time(run, "slow_hook")
    ffplaces.check_time(run, "only_child")
    expect(not [stack for stack in run.stacks if stack.pid == child and
                stack.frames[1:] and "_bootstrap" in fflive.names(stack)[0]],
           "the child has a second thread")


def thread_without_python_spoils_nothing(python):
    with ffplaces.Folder() as folder:
        library = ffplaces.build(folder + "/native.so", "-shared", "-fPIC",
                                 fflive.program("native.c"), "-lpthread")
        run = fflive.run([], [python, fflive.program("empty_thread.py"), library,
                              SECONDS])
    fflive.check_run(run)
    ffplaces.check_time(run, "main_work")
    dropped = sum(run.stats["dropped"].values())
    expect(dropped <= 2, "dropped: %s", run.stats["dropped"])
    empty = run.weigh(None, None, lambda stack: not stack.frames)
    expect(empty > .8 * SECONDS, "time of the thread without Python: %s", empty)


def ends_of_threads_end_nothing(python):
    run = fflive.run([], [python, fflive.program("brief_threads.py"), SECONDS])
    fflive.check_run(run)
    ffplaces.check_time(run, "rest")
    expect(run.stats["processes"]["seen"] == 1, "%s", run.stats["processes"])


def check_leaderless(run, right):
    near("time after the leader's end", run.weigh(None, "lives_on"), right,
         fflive.slack(right))
    # The leader's stack does not stand on when it has none.
    expect(run.weigh(None, "main") < .6, "the leader: %s", run.weigh(None, "main"))


def process_outlives_its_leader(python):
    run = fflive.run([], [python, fflive.program("leaderless.py"), SECONDS])
    fflive.check_run(run)
    span = run.spans("lives_on")[0]
    check_leaderless(run, span["end"] - span["begin"])
    left = run.stats["members"][0]["left_ns"] / 1e9
    expect(left > span["end"] - span["begin"], "it left with its leader: %s", left)


def process_without_a_leader_can_be_attached_to(python):
    with fflive.Target([python, fflive.program("leaderless.py"), "4"]) as target:
        fflive.wait_until(lambda: fflive.thread_state(target.pid, target.pid)[0]
                          == "Z", 60, "the leader's end")
        run = fflive.run(["-p", target.pid, "-d", SECONDS])
        fflive.check_run(run)
        check_leaderless(run, SECONDS)
        process = ffplaces.dump(target.pid)[target.pid]
        expect(["lives_on"] == [name for thread in process["threads"]
                                for name in ffplaces.functions(thread)
                                if name == "lives_on"], "dump: %s", process)


def stacks_of_two_interpreters_are_one(python):
    check_interpreters(fflive.run([], [python, fflive.program("interpreters.py"),
                                       SECONDS]))


def interpreter_is_shown_where_it_runs(python):
    """Not where it was made."""
    check_interpreters(fflive.run([], [python, fflive.program("interpreters.py"),
                                       SECONDS, "lent"]))


def check_interpreters(run):
    fflive.check_run(run)

    def of(outer, inner):
        def both(stack):
            return outer in fflive.names(stack)
        return run.weigh(None, inner, both)

    # The inner interpreter has to come up first: what was noted is more.
    for outer, inner in (("outer_main", "inner_work"),
                         ("outer_thread", "inner_sleep")):
        noted = sum(span["end"] - span["begin"] for span in run.spans(inner))
        # The first sample reaches back to the birth.
        more = .1 + run.stats["members"][0]["first_sample_ns"] / 1e9 + \
            ffplaces.by_run_counts(run, noted)
        expect(.94 * SECONDS - .06 < of(outer, inner) < noted + more,
               "%s in %s: expected %.2f to %.2f s, saw %.3f", inner, outer, SECONDS,
               noted, of(outer, inner))
    ffplaces.check_time(run, "alone")
    for outer, inner in (("outer_main", "inner_sleep"), ("alone", "inner_work"),
                         ("outer_thread", "inner_work"), ("alone", "inner_sleep")):
        near("%s in %s" % (inner, outer), of(outer, inner), 0, .001)


def names_are_the_program_s(python):
    """Where threading has one; and never anything else, while they change."""
    with fflive.Target([python, fflive.program("named_threads.py"), "20"]) as target:
        named = target.truth()[0]["names"]
        comm = fflive.read_text("/proc/%d/comm" % target.pid).strip()
        right = sorted(named + [comm, comm])
        for _ in range(8):
            told = sorted("and after" if re.match(r"name \d+$", one["name"]) else
                          one["name"] for one in
                          ffplaces.dump(target.pid)[target.pid]["threads"])
            # One is renamed all the time, and may be caught without a name.
            if "and after" not in told and comm in told:
                told[told.index(comm)] = "and after"
                told.sort()
            expect(told == right, "expected %s, saw %s", right, told)


def ends_of_sleepers_are_known_by_run_counts_too(python):
    run = fflive.run(["--oncpu", "runcounts"],
                     [python, fflive.program("namespace.py"), SECONDS])
    fflive.check_run(run)
    for name in ("busy_one", "asleep", "forked_asleep"):
        ffplaces.check_time(run, name)


def can_unshare(*flags):
    return subprocess.run(["unshare"] + list(flags) + ["true"],
                          stderr=subprocess.DEVNULL).returncode == 0


def numbers_of_another_namespace_are_told_apart(python):
    flags = ["--pid", "--fork", "--mount-proc"]
    if not can_unshare(*flags):
        raise fflive.Skip("no new pid namespaces")
    run = fflive.run([], ["unshare"] + flags +
                     [python, fflive.program("namespace.py"), SECONDS])
    fflive.check_run(run)
    fact = [fact for fact in run.truth if fact.get("role") == "inner"][0]
    expect(fact["pid"] < 10, "it is in our namespace: %s", fact)
    expect(fact["pid"] not in [one["pid"] for one in run.stats["members"]],
           "its own number is shown: %s", fact)
    for name in ("busy_one", "asleep", "forked_asleep"):
        ffplaces.check_time(run, name)
    cpu = fflive.run(["--mode", "cpu"], ["unshare"] + flags +
                     [python, fflive.program("namespace.py"), SECONDS])
    busy, still = cpu.weigh(None, "busy_one"), cpu.weigh(None, "asleep")
    expect(busy > .05 * SECONDS and still < .02 * busy + .01,
           "CPU time: busy_one %s, asleep %s", busy, still)


def another_c_library_keeps_its_numbers_elsewhere():
    """musl's: up to 3.10 a thread is known by what the C library has of it. And the
    root is another, too."""
    pythons = ["/musl/python3.9/python", "/musl/python3.13/python",
               "/usr/bin/python3.13", "/usr/bin/python3.14", "/usr/bin/python3.15"]
    with ffplaces.Root() as root:
        tried = [python for python in pythons if root and root.has(python)]
        print("  note: in another root: %s" % (" ".join(tried) or "none is here"))
        for python in tried:
            for inside in ([], ["unshare", "--pid", "--fork", "--mount-proc"]):
                if inside and not can_unshare(*inside[1:]):
                    continue
                # There is no file of truths in that root.
                run = fflive.run([], ["env", "-u", "FFLIVE_TRUTH"] + inside +
                                 root.command(python, "namespace.py", SECONDS))
                fflive.check_run(run)
                for name, n in (("busy_one", 1), ("asleep", 2),
                                ("forked_asleep", 1)):
                    near("%s of %s" % (name, python), run.weigh(None, name),
                         n * SECONDS, .4 * n)


def attaches_to_another_namespace(python):
    flags = ["--pid", "--fork", "--mount-proc"]
    if not can_unshare(*flags):
        raise fflive.Skip("no new pid namespaces")
    with fflive.Target(["unshare"] + flags +
                       [python, fflive.program("namespace.py"), "20"]) as target:
        fflive.wait_until(lambda: len(busy_ones(target.pid)) == 1, 60, "the threads")
        processes = ffplaces.dump(target.pid)
        for pid, process in processes.items():
            tids = {thread["tid"] for thread in process["threads"]}
            expect(tids <= set(fflive.threads_of(pid)), "no tasks of %d: %s", pid,
                   tids)
        thread = busy_ones(target.pid)[0]
        with open("/proc/%d/comm" % thread["tid"]):
            pass
        before = cpu_of(processes, thread["tid"])
        fflive.wait_until(lambda: cpu_of(processes, thread["tid"]) > before + 5, 15,
                          "busy_one's task works")


def busy_ones(pid):
    return [thread for process in ffplaces.dump(pid).values()
            for thread in process["threads"]
            if "busy_one" in ffplaces.functions(thread)]


def cpu_of(processes, tid):
    """Clock ticks that a task has used."""
    for pid in processes:
        if tid in fflive.threads_of(pid):
            text = fflive.read_text("/proc/%d/task/%d/stat" % (pid, tid))
            return int(text.rpartition(")")[2].split()[11])
    return 0


def thousands_of_threads_cost_little_each():
    python = fflive.newest()
    cost = {}
    for n in (MANY // 4, MANY):
        run = fflive.run([], [python, fflive.program("many_threads.py"), n,
                              SECONDS])
        fflive.check_run(run)
        expect(run.stats["threads"] == n + 1, "threads: %s", run.stats["threads"])
        ffplaces.check_time(run, "main_work")
        cost[n] = run.stats["profiler_cpu_ns"] / 1e6
    print("  note: %s" % ", ".join("%d threads: %.0f ms of CPU" % pair
                                   for pair in cost.items()))
    # Four times the threads: linear is 4, quadratic is 16.
    expect(cost[MANY] < 9 * cost[MANY // 4] + 20, "CPU in ms: %s", cost)


def threads_that_wake_again_and_again_leave_time_for_others():
    """They are looked at in turns, and for half of a tick at most; who runs, always."""
    run = fflive.run([], [fflive.newest(), fflive.program("many_threads.py"), MANY,
                          SECONDS, "wake"])
    fflive.check_run(run)
    ffplaces.check_time(run, "main_work")
    share = run.stats["profiler_cpu_ns"] / run.stats["duration_ns"]
    print("  note: %.0f %% of a CPU; %s" % (100 * share, run.stats["samples"]))
    # And what it takes to take in each one, and to see it end.
    expect(run.stats["profiler_cpu_ns"] < .5 * run.stats["duration_ns"] + MANY * 2e5,
           "%.0f %% of a CPU", 100 * share)


def main():
    outcomes = ffplaces.each(forked_child_has_one_thread)
    for test in (thread_without_python_spoils_nothing, ends_of_threads_end_nothing,
                 process_outlives_its_leader,
                 ends_of_sleepers_are_known_by_run_counts_too,
                 process_without_a_leader_can_be_attached_to):
        outcomes += [fflive.attempt(test, python.path)
                     for python in fflive.pythons()]
    outcomes += ffplaces.each(names_are_the_program_s)
    outcomes += ffplaces.each(stacks_of_two_interpreters_are_one,
                              lambda version: version >= (3, 8))
    outcomes += ffplaces.each(interpreter_is_shown_where_it_runs,
                              lambda version: version >= (3, 10))
    outcomes += ffplaces.each(numbers_of_another_namespace_are_told_apart)
    outcomes.append(fflive.attempt(attaches_to_another_namespace, fflive.newest()))
    outcomes.append(fflive.attempt(another_c_library_keeps_its_numbers_elsewhere))
    outcomes.append(fflive.attempt(thousands_of_threads_cost_little_each))
    outcomes.append(
        fflive.attempt(threads_that_wake_again_and_again_leave_time_for_others))
    ffplaces.finish(outcomes)


if __name__ == "__main__":
    main()
