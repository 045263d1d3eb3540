#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`forkflame tree` tells the lives of a tree as they happen, and stops nobody."""
import json
import os
import signal
import subprocess
import tempfile
import time

import fflive
from fflive import expect, near

SOURCES = ("connector", "perf", "children", "scan")


class Watch:
    """One `forkflame tree --json`; its lines as dicts."""

    def __init__(self, args, command=(), **how):
        self.truth_path = tempfile.mktemp(prefix="fflive-truth-")
        argv = [fflive.FORKFLAME, "tree", "--json", "-o", "-"]
        argv += [str(arg) for arg in args]
        if command:
            argv += ["--"] + [str(word) for word in command]
        self.process = fflive.spawn(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=fflive.environment(self.truth_path),
            **how)
        self.events = []

    def wait(self, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        self.status, self.stderr = self.process.returncode, err.decode()
        self.events = [json.loads(line) for line in out.splitlines()
                       if line.startswith(b"{")]
        self.truth = fflive.read_truth(self.truth_path)
        if os.path.exists(self.truth_path):
            os.unlink(self.truth_path)
        return self

    def of(self, pid, *kinds):
        return [one for one in self.events if one.get("pid") == pid and
                (not kinds or one["event"] in kinds)]

    def end_of(self, pid):
        ends = self.of(pid, "exit")
        expect(len(ends) == 1, "pid %d ends %d times: %s", pid, len(ends),
               self.of(pid))
        return ends[0]

    def check_begin_and_end(self):
        """Each life begins once and ends once, and the sums hold."""
        expect(self.events[0]["event"] == "begin" and
               self.events[-1]["event"] == "end", "%s, %s", self.events[0],
               self.events[-1])
        lives = {}
        for one in self.events[1:-1]:
            lives.setdefault(one["serial"], []).append(one["event"])
        begins = {"here", "start", "fork", "found"}
        for serial, kinds in lives.items():
            expect(kinds[0] in begins and not begins & set(kinds[1:]) and
                   "exit" not in kinds[:-1], "life of %d: %s", serial, kinds)
        last = self.events[-1]
        expect(last["seen"] == len(lives) and last["ended"] ==
               sum(kinds[-1] == "exit" for kinds in lives.values()),
               "sums: %s", last)


def watch(args, command=(), **how):
    return Watch(args, command, **how).wait()


def text_of(python):
    version = fflive.version_of(python)
    return ".".join(map(str, version if version >= (3, 11) else version[:2]))


def programs_are_told_in_order(python):
    other = ([one.path for one in fflive.pythons() if one.path != python] +
             [python])[0]
    run = watch([], ["sh", "-c", "'%s' '%s' .3 '%s'; exit 7" % (
        python, fflive.program("exec_first.py"), other)])
    run.check_begin_and_end()
    expect(run.status == 7, "status %s: %s", run.status, run.stderr)
    shell = run.events[1]
    expect(shell["event"] == "start" and shell["command"].startswith("sh -c") and
           shell["python"] is None and shell["parent"] is None, "%s", shell)
    child = run.truth[0]["pid"]
    told = run.of(child)
    # Heard of late, a Python may have come up by then.
    kinds = [one["event"] for one in told if one["event"] != "python"]
    pythons = [one["python"] for one in told if one["event"] != "fork"]
    while None in pythons:
        pythons.remove(None)
    expect(kinds == ["fork", "exec", "exec", "exit"] and
           sorted(set(pythons)) == sorted({text_of(python), text_of(other)}) and
           pythons[0] == text_of(python),
           "the child's life: %s",
           [(one["event"], one["python"], one["command"][-30:]) for one in told])
    expect({one["parent"] for one in told} == {shell["pid"]} and
           {one["depth"] for one in told} == {1}, "its place: %s", told)
    execs = run.of(child, "exec")
    expect("exec_first.py" in execs[0]["command"] and
           "exec_second.py" in execs[1]["command"], "its commands: %s", told)
    times = [one["at_ns"] for one in run.events if "at_ns" in one]
    expect(run.end_of(child)["exit"] == 0 and run.end_of(shell["pid"])["exit"] ==
           7 and min(times) >= 0, "%s", told[-1])
    lived = told[-1]["lived_ns"] / 1e9
    near("its life", lived, (told[-1]["at_ns"] - told[0]["at_ns"]) / 1e9, .001)


def every_end_is_told_with_its_status(source):
    run = watch(["--events", source], [fflive.newest(),
                                       fflive.program("ends.py")])
    if not run.events and fflive.REFUSED in ("connector", "perf"):
        expect(source in run.stderr, "stderr: %s", run.stderr)
        return
    run.check_begin_and_end()
    expect(run.status == 7, "status %s: %s", run.status, run.stderr)
    expect(len(run.truth) == 7, "the program: %s", run.truth)
    for fact in run.truth:
        end = run.end_of(fact["pid"])
        right = {"exit": fact.get("exit"), "signal": fact.get("signal")}
        expect({key: end[key] for key in right} == right,
               "%s by %s: expected %s, saw %s", fact["role"], source, right, end)
        # It lives on while a thread of it does.
        expect(fact["role"] != "leaderless" or end["lived_ns"] > .2e9,
               "%s by %s: %s", fact["role"], source, end)
    expect(run.events[-1]["bad"] == 6, "%s", run.events[-1])


def tree_that_runs_is_shown_and_followed(python):
    with fflive.Target([python, fflive.program("tree.py")], notes=4) as target:
        time.sleep(.3)
        run = Watch(["-p", target.pid, "-d", 1.2])
        end = time.monotonic() + 1
        while time.monotonic() < end:
            fflive.check_let_go([target.pids(role)[0] for role in
                                 ("root", "kid", "elder", "grandchild")],
                                run.process.pid)
            time.sleep(.002)
        run.wait()
        run.check_begin_and_end()
        expect(run.status == 0 and target.alive(), "status %s", run.status)
        for role, parent in (("root", None), ("kid", target.pid),
                             ("elder", target.pid),
                             ("grandchild", target.pids("elder")[0])):
            told = run.of(target.pids(role)[0])
            expect(len(told) == 1 and told[0]["event"] == "here" and
                   told[0]["parent"] == parent and
                   told[0]["python"] == text_of(python) and
                   .2e9 < told[0]["lived_ns"] < 20e9, "%s: %s", role, told)
        late = [one for one in run.events if one["event"] == "fork"]
        expect(len(late) >= 2 and {one["parent"] for one in late} ==
               {target.pids("elder")[0]} and
               {one["python"] for one in late} == {text_of(python)},
               "born meanwhile: %s", late)


def lines_come_as_it_happens():
    process = fflive.spawn(
        [fflive.FORKFLAME, "tree", "-o", "-", "--", "sh", "-c",
         "sh -c 'sleep .2; :' 'a\nb'; sleep 1; exit 3"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    lines = []
    for line in process.stdout:
        lines.append((time.monotonic() - begin, line))
    expect(process.wait(60) == 3, "status %s", process.returncode)
    text = "".join(line for _, line in lines)
    first = [when for when, line in lines
             if "status 0 after" in line and "sleep .2" in line]
    expect(len(first) == 2 and first[0] < 1, "the first end: %s in %s", first,
           text)
    for words in (" start ", " fork ", " exec ", "status 0 after", "sleep 1",
                  "status 3 after", "4 processes, 0 of them Python",
                  r"sleep .2; : a\nb"):
        expect(words in text, "%r is missing in: %s", words, text)
    expect("\033" not in text, "colours in a pipe: %r", text)


def every_python_of_the_machine_is_told():
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as before:
        run = Watch(["-a"])
        time.sleep(.7)
        with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                           notes=4) as during:
            time.sleep(.5)
        time.sleep(.3)
        os.kill(run.process.pid, signal.SIGINT)
        run.wait()
        run.check_begin_and_end()
        expect(run.status == 0, "status %s: %s", run.status, run.stderr)
        expect(run.of(before.pid)[0]["event"] == "here", "%s",
               run.of(before.pid))
        kinds = [one["event"] for one in run.of(during.pid)]
        expect(kinds[0] in ("fork", "found") and kinds[-1] == "exit" and
               run.end_of(during.pid)["signal"] == 9, "%s", kinds)
        expect(not run.of(run.process.pid), "forkflame itself: %s",
               run.of(run.process.pid))
        # Who is no Python, and was started by none, is not told.
        told = {one["serial"] for one in run.events if one.get("python")}
        for one in run.events[1:-1]:
            expect(one.get("python") or one["serial"] in told or
                   one["parent"] is not None, "a stranger: %s", one)


def reader_that_goes_away_ends_it():
    process = fflive.spawn([fflive.FORKFLAME, "tree", "-o", "-", "sh", "-c",
                            "for i in 1 2 3 4 5; do /bin/true; sleep .1; done"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    expect(process.wait(60) == 0, "the command's status: %s",
           process.returncode)
    expect(not without_notice(process.stderr.read().decode()), "standard error")


def without_notice(text):
    """Standard error, without the line that says where events come from."""
    return "".join(line for line in text.splitlines(True)
                   if "process events" not in line)


def output_of_a_command_is_its_own():
    command = [fflive.FORKFLAME, "tree"]
    done = subprocess.run(command + ["echo", "hallo"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=10)
    expect(done.stdout == "hallo\n" and " start " in done.stderr, "%r, %r",
           done.stdout, done.stderr)
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run(command + ["-o", file.name, "echo", "hallo"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=10)
        expect(done.stdout == "hallo\n" and not without_notice(done.stderr) and
               " start " in fflive.read_text(file.name), "%r", done.stderr)
    done = subprocess.run(command + ["-o", "/no/where", "true"],
                          stderr=subprocess.PIPE, text=True, timeout=10)
    expect(done.returncode == 5 and "/no/where" in done.stderr, "%d, %r",
           done.returncode, done.stderr)


def wrong_use_is_told():
    for args, status, word in (([], 2, "of what"), (["-p", "4194303"], 1,
                                                    "4194303"),
                               (["no-such-program"], 127, "no-such-program")):
        done = subprocess.run([fflive.FORKFLAME, "tree"] + args,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=10)
        expect(done.returncode == status and word in done.stderr, "%s: %d %r",
               args, done.returncode, done.stderr)


if __name__ == "__main__":
    def by_each_source():
        for source in SOURCES:
            every_end_is_told_with_its_status(source)

    by_each_source.__name__ = "every_end_is_told_with_its_status"
    fflive.main([programs_are_told_in_order,
                 tree_that_runs_is_shown_and_followed],
                [by_each_source, lines_come_as_it_happens,
                 every_python_of_the_machine_is_told,
                 reader_that_goes_away_ends_it,
                 output_of_a_command_is_its_own, wrong_use_is_told])
