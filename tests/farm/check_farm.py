#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every interpreter of the farm, in every test of the truth; prints a table.

	tests/farm/check_farm.py [-t TEST,...] [-i] [NAME ...]

-t  of: lines, stacks, reuse, moving, shares, cost (all)
-i  the interpreters that are installed on this machine only
NAME  only builds with this in their names

Tests:
  lines   of each instruction of each code object of the standard library: our
          reader of line tables against the interpreter's own
  stacks  programs/held.py says what its stacks are at some fifty points, and
          `forkflame dump` has to say the same, all names and lines
  reuse   functions that are made and thrown away at the same addresses: no name,
          file or line of one in a stack of another; how many were seen
  moving  two threads that call, yield and make objects without a rest, at 1000 Hz:
          no stack that cannot be; how many samples
  shares  a program whose shares of the time are 50 : 30 : 15 : 5 and known has
          them in its profile, within three standard deviations
  cost    system calls (by strace -c) and microseconds of CPU for each sample, of
          one busy thread twenty frames deep
FORKFLAME names the program under test, FORKFLAME_LINES the one made of lines.c.
Exit status 1 when anything is wrong; what was not tested is named.
"""
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import farm

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "live"))
from ffparse import Failure, expect, parse_collapsed, short_name  # noqa: E402

FORKFLAME = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
LINES = os.path.abspath(os.environ.get("FORKFLAME_LINES", "lines"))
SHOWN = 6  # differences that are printed of one test
LIMIT = 120  # seconds for a program


def show(text):
    print("  " + text, flush=True)


def spawn(build, program, *args, **how):
    return subprocess.Popen(build.command(program, *args), env=build.environment(),
                            stderr=subprocess.PIPE, **how)


def finish(process):
    """End it; what it has said on its error output."""
    if process.poll() is None:
        process.kill()
    err = process.stderr.read().decode(errors="replace")
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    process.wait()
    return err.strip()


def forkflame(*args):
    done = subprocess.run([FORKFLAME] + [str(arg) for arg in args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT)
    expect(done.returncode == 0, "forkflame %s: status %d, %s", args[0],
           done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout


# lines

def test_lines(build):
    target = spawn(build, "lines.py", stdout=subprocess.PIPE)
    ours = subprocess.Popen([LINES, build.text()], stdin=target.stdout,
                            stdout=subprocess.PIPE)
    out = ours.communicate(timeout=3 * LIMIT)[0].decode().splitlines()
    target.wait()
    err = finish(target)
    expect(target.returncode == 0, "lines.py: %s", err[-500:])
    codes, instructions, wrong = [int(n) for n in out[-1].split()]
    for line in out[:-1]:
        show(line)
    expect(not wrong and codes, "%d of %d lines are wrong", wrong, instructions)
    return "%.2f M" % (instructions / 1e6)


# stacks

def read_line(process):
    """One line of its output; b"" when it has ended."""
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], LIMIT)
        expect(ready, "the target says nothing for %d s", LIMIT)
        more = process.stdout.readline()
        if not more:
            break
        line += more
    return line


def wait_held(pid, tid):
    """Until the thread waits in its read of the standard input."""
    end = time.monotonic() + 10
    while True:
        with open("/proc/%d/task/%d/syscall" % (pid, tid)) as file:
            if file.read().startswith("0 0x0 "):
                return
        expect(time.monotonic() < end, "the target does not stand still")
        time.sleep(.001)


def dumped_stacks(root, pid):
    """{tid: [(function, file, line), ...]} of one process of the tree of another."""
    told = json.loads(forkflame("dump", "--json", "-p", root).decode(),
                      strict=False)
    found = [one for one in told["processes"] if one["pid"] == pid]
    expect(len(found) == 1, "process %d is %d in the dump", pid, len(found))
    threads = {}
    for thread in found[0]["threads"]:
        threads[thread["tid"]] = [
            (frame["function"].encode("utf-8", "surrogateescape"),
             frame["file"].encode("utf-8", "surrogateescape"), frame["line"])
            for frame in thread["frames"]]
    return found[0]["python"], threads


def noted_stacks(truth):
    return {int(tid): [(bytes.fromhex(name) or b"<no name>", bytes.fromhex(file),
                        line)
                       for name, file, line in frames]
            for tid, frames in truth["threads"].items()}


def compare_stacks(point, seen, right):
    """Returns how many threads are wrong."""
    wrong = 0
    for tid in sorted(set(seen) | set(right)):
        ours, true = seen.get(tid), right.get(tid)
        if ours == true:
            continue
        wrong += 1
        if ours is None or true is None:
            show("%s: thread %d is %s" % (point, tid, "missing" if ours is None
                                          else "one too many: %r" % ours[:2]))
            continue
        at = next((i for i, (a, b) in enumerate(zip(ours, true)) if a != b),
                  min(len(ours), len(true)))
        show("%s: %d frames, should be %d; frame %d: saw %.200r, should be %.200r"
             % (point, len(ours), len(true), at, ours[at:at + 2], true[at:at + 2]))
    return wrong


def test_stacks(build):
    target = spawn(build, "held.py", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    points = frames = wrong = 0
    ended = False
    try:
        while True:
            line = read_line(target)
            if line == b"end\n":
                ended = True
                continue
            if not line:
                break
            truth = json.loads(line.decode())
            wait_held(truth["pid"], truth["tid"])
            python, seen = dumped_stacks(target.pid, truth["pid"])
            expect(python == build.told(), "version: saw %s, should be %s", python,
                   build.told())
            right = noted_stacks(truth)
            points += 1
            frames += sum(len(stack) for stack in right.values())
            wrong += bool(compare_stacks(truth["point"], seen, right))
            target.stdin.write(b"\n")
            target.stdin.flush()
        target.wait(10)
    finally:
        err = finish(target)
    expect(ended and not target.returncode, "held.py ended early, after %d points: "
           "%s", points, err[-800:])
    expect(not wrong, "%d of %d points are wrong", wrong, points)
    return "%d" % points


# record

class Record:
    """One `forkflame record` of a program of ours."""

    def __init__(self, build, rate, program, *args):
        self.dir = tempfile.mkdtemp(prefix="fffarm-")
        try:
            self.run(build, rate, program, *args)
        finally:
            shutil.rmtree(self.dir)

    def run(self, build, rate, program, *args):
        out, stats = (os.path.join(self.dir, name) for name in ("out", "stats"))
        command = [FORKFLAME, "record", "-r", str(rate), "-f", "collapsed", "-o", out,
                   "--stats", stats, "--"] + build.command(program, *args)
        done = subprocess.run(command, env=build.environment(), timeout=LIMIT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        err = done.stderr.decode(errors="replace")
        expect(done.returncode == 0, "status %d: %s", done.returncode, err[-500:])
        self.said = done.stdout.decode()
        with open(stats) as file:
            self.stats = json.load(file)
        with open(out, encoding="utf-8", errors="surrogateescape") as file:
            self.stacks = parse_collapsed(file.read())


# reuse

def wrong_of_made(frames):
    """What is wrong with the stack's frames of made functions, or None."""
    made = [(frame, re.match(r"(outer|inner)_(\d{5})$", short_name(frame.function)))
            for frame in frames]
    made = [(frame, match) for frame, match in made if match]
    numbers = {match.group(2) for _, match in made}
    if len(numbers) > 1 or len(made) > 2:
        return "functions of %s in one stack" % sorted(numbers)
    for i, (frame, match) in enumerate(made):
        first = int(match.group(2)) % 40 + 1
        right = {"outer": (first, first + 1), "inner": (first + 2, first + 3)}
        if frame.file != "<made %s>" % match.group(2):
            return "%s of file %s" % (match.group(0), frame.file)
        if frame.line not in right[match.group(1)]:
            return "%s at line %s" % (match.group(0), frame.line)
        if (match.group(1) == "inner") != (i == 1):
            return "%s at place %d" % (match.group(0), i)
    return None


def test_reuse(build, seconds=3):
    run = Record(build, 1000, "reuse.py", str(seconds))
    seen, wrong = set(), 0
    for stack in run.stacks:
        fault = wrong_of_made(stack.frames)
        if fault:
            wrong += 1
            if wrong <= SHOWN:
                show("%s: %s" % (fault, stack))
        seen |= {frame.function for frame in stack.frames
                 if "inner_" in frame.function}
    expect(not wrong, "%d wrong stacks", wrong)
    expect(len(seen) > 20, "only %d made functions were seen", len(seen))
    return "%d" % len(seen)


# moving

CHAINS = {"calls": 100, "yields": 200, "sorts": 300, "makes": 400}


def wrong_of_moving(frames):
    """What cannot be of a stack of programs/moving.py, or None."""
    chain, depth, above = None, -1, 0
    for i, frame in enumerate(frames):
        match = re.match(r"(calls|yields|sorts|makes)_(\d)$",
                         short_name(frame.function))
        if not match:
            if depth < 0 or frame.function.endswith("__init__"):
                continue
            return "%s is called by %s_%d" % (frame.function, chain, depth)
        if chain not in (None, match.group(1)) or int(match.group(2)) != depth + 1:
            return "%s is called by %s_%d" % (frame.function, chain, depth)
        chain, depth = match.group(1), depth + 1
        if frame.file != "<moving>":
            return "%s is of file %s" % (frame.function, frame.file)
        line = frame.line - CHAINS[chain] - 10 * depth
        is_leaf = i == len(frames) - 1
        if is_leaf and not frame.line:  # an instruction without one
            continue
        if depth < 8 and not (0 <= line <= 5 if is_leaf else line == 2):
            return "%s is at line %d" % (frame.function, frame.line)
        if depth == 8 and not 900 <= frame.line <= 902:
            return "%s is at line %d" % (frame.function, frame.line)
    return None


def test_moving(build, seconds=3):
    run = Record(build, 1000, "moving.py", str(seconds))
    wrong, good = 0, 0
    for stack in run.stacks:
        fault = wrong_of_moving(stack.frames)
        good += any(frame.file == "<moving>" for frame in stack.frames)
        wrong += bool(fault)
        if fault and wrong <= SHOWN:
            show("%s: %s" % (fault, stack))
    expect(not wrong, "%d of %d stacks cannot be", wrong, len(run.stacks))
    expect(good > 100, "only %d different stacks", good)
    dropped = sum(run.stats["dropped"].values())
    expect(dropped * 10 < run.stats["attempts"], "%d of %d samples dropped: %s",
           dropped, run.stats["attempts"], run.stats["dropped"])
    return "%d" % run.stats["samples"]["taken"]


# shares

def off_by(build, seconds):
    """(sigmas, what it is of) of the share that is furthest off."""
    run = Record(build, 500, "shares.py", str(seconds))
    had = json.loads(run.said)
    whole = sum(had.values())
    weights = {name: sum(stack.weight for stack in run.stacks
                         if any(short_name(frame.function) == name
                                for frame in stack.frames)) for name in had}
    seen = sum(weights.values())
    n = run.stats["samples"]["taken"]
    expect(n > 100 * seconds, "only %d samples in %d s", n, seconds)
    worst = (0, "")
    for name, time_had in had.items():
        right = time_had / whole
        off = abs(weights[name] / seen - right) / (right * (1 - right) / n) ** .5
        worst = max(worst, (off, "share of %s: saw %.4f, should be %.4f, by %d "
                            "samples" % (name, weights[name] / seen, right, n)))
    return worst


def test_shares(build):
    off, what = off_by(build, 4)
    expect(off <= 3, "%.1f sigma, %s", off, what)
    return "%.1f sigma" % off


# cost

def record_for(pid, seconds, under=()):
    """(samples, CPU seconds of forkflame) of a run at 250 Hz."""
    with tempfile.TemporaryDirectory(prefix="fffarm-") as where:
        stats = os.path.join(where, "stats")
        command = list(under) + [FORKFLAME, "record", "-r", "250", "-d", str(seconds),
                                 "-p", str(pid), "-f", "collapsed",
                                 "-o", os.path.join(where, "out"), "--stats", stats]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        expect(status == 0, "record -p: status %d", status)
        with open(stats) as file:
            samples = json.load(file)["samples"]["taken"]
    return samples, usage.ru_utime + usage.ru_stime


def calls_for(pid, seconds):
    """(samples, system calls) of a run."""
    with tempfile.NamedTemporaryFile(prefix="fffarm-") as out:
        samples, _ = record_for(pid, seconds, ["strace", "-f", "-c", "-o", out.name])
        text = out.read().decode()
    total = re.search(r"^100\.00.*?(\d+)(?:\s+\d+)?\s+total$", text, re.M)
    expect(total, "strace: %s", text[-300:])
    return samples, int(total.group(1))


def per_sample(measure, pid):
    """What comes with each sample: the start and the end of a run do not count."""
    short, long = measure(pid, .5), measure(pid, 2.5)
    expect(long[0] - short[0] > 40, "only %d samples in 2 s", long[0] - short[0])
    return (long[1] - short[1]) / (long[0] - short[0])


def test_cost(build):
    target = spawn(build, "busy.py", stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    try:
        time.sleep(.7)
        micros = per_sample(record_for, target.pid) * 1e6
        calls = "no strace here"
        if shutil.which("strace"):
            calls = "%.1f calls" % per_sample(calls_for, target.pid)
        expect(target.poll() is None, "busy.py ended")
    finally:
        finish(target)
    return "%s, %.0f us" % (calls, micros)


TESTS = {"lines": test_lines, "stacks": test_stacks, "reuse": test_reuse,
         "moving": test_moving,
         "shares": test_shares, "cost": test_cost}


def is_refused(name, command, told):
    """An interpreter that is no CPython is named, once, and leaves no stacks."""
    target = subprocess.Popen(command + ["-c", "import time; time.sleep(60)"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
    try:
        time.sleep(1)
        dump = json.loads(forkflame("dump", "--json", "-p", target.pid).decode())
        one = dump["processes"][0]
        expect(target.poll() is None, "%s does not run here", name)
        expect(not one["threads"] and one["python"] == told, "%s: saw %s", name, one)
        print("%s: refused, as %s" % (name, told or "no Python"))
    except (Failure, OSError, ValueError, subprocess.SubprocessError) as failure:
        show("%s: %s" % (name, failure))
        return False
    finally:
        finish(target)
    return True


def attempt(build, name):
    """(what stands in the table, is it right)"""
    try:
        return TESTS[name](build), True
    except (Failure, OSError, ValueError, KeyError, IndexError,
            subprocess.SubprocessError) as failure:
        show("%s, %s: %s: %s" % (build.name, name, type(failure).__name__, failure))
        return "WRONG", False


def row(cells, widths):
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def chosen(args):
    names = [arg for arg in args if not arg.startswith("-")]
    tests = list(TESTS)
    if "-t" in args:
        tests = args[args.index("-t") + 1].split(",")
        names.remove(args[args.index("-t") + 1])
    found, missing = farm.builds("-i" in args)
    if names:
        found = [build for build in found
                 if any(name in build.name for name in names)]
        missing = {}
    return tests, found, missing, names or "-i" in args


def main(args):
    tests, found, missing, only = chosen(args)
    head = ["build", "version"] + tests + ["s"]
    rows, good = [], bool(found)
    for build in found:
        print("%s (%s)" % (build.name, build.text()), flush=True)
        begin = time.monotonic()
        cells = [build.name, build.text()]
        for name in tests:
            cell, right = attempt(build, name)
            cells.append(cell)
            good &= right
        rows.append(cells + ["%.0f" % (time.monotonic() - begin)])
    if not only:
        good &= all([is_refused(*other) for other in farm.others()])
    widths = [max(len(cells[i]) for cells in rows + [head])
              for i in range(len(head))]
    print("\n" + row(head, widths))
    for cells in rows:
        print(row(cells, widths))
    for name, why in sorted(missing.items()):
        print("%s: not tested: %s" % (name, why))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
