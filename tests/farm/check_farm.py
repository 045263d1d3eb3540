#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every interpreter of the farm, in every test of the truth; prints a table.

	tests/farm/check_farm.py [-t TEST,...] [-i] [-j JOBS] [NAME ...]

-t  of: lines, stacks, reuse, moving, shares (all)
-i  the interpreters that are installed on this machine only
-j  so many builds at once (1)
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
What a sample costs on each: costs.py.
FORKFLAME names the program under test, FORKFLAME_LINES the one made of lines.c.
Exit status 1 when anything is wrong; what was not tested is named.
"""
import concurrent.futures
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import farm

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "live"))
from ffparse import Failure, expect, parse_collapsed, short_name  # noqa: E402

FORKFLAME = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
LINES = os.path.abspath(os.environ.get("FORKFLAME_LINES", "lines"))
SHOWN = 6  # differences that are printed of one test
LIMIT = 120  # seconds for a program


beside = threading.local()  # the build that this thread tests


def show(text):
    print("  %s: %s" % (getattr(beside, "build", "here"), text), flush=True)


def spawn(build, program, *args, **how):
    return farm.start(build.command(program, *args), env=build.environment(),
                      stderr=subprocess.PIPE, **how)


def finish(process):
    """End it, and its children; what it has said on its error output."""
    farm.end(process)
    err = process.stderr.read().decode(errors="replace")
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
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
        command = [FORKFLAME, "record", "-r", str(rate), "--sampler=stop", "-f",
                   "collapsed", "-o", out, "--stats", stats, "--"]
        command += build.command(program, *args)
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


TESTS = {"lines": test_lines, "stacks": test_stacks, "reuse": test_reuse,
         "moving": test_moving, "shares": test_shares}


def is_refused(name, command, told):
    """An interpreter that is no CPython is named, once, and leaves no stacks."""
    beside.build = name
    target = farm.start(command + ["-c", "import time; time.sleep(60)"],
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE)
    try:
        time.sleep(1)
        dump = json.loads(forkflame("dump", "--json", "-p", target.pid).decode())
        one = dump["processes"][0]
        expect(target.poll() is None, "%s does not run here", name)
        expect(not one["threads"] and one["python"] == told, "%s: saw %s", name, one)
        run = subprocess.run([FORKFLAME, "record", "-p", str(target.pid), "-d", "1",
                              "-o", os.devnull, "-f", "collapsed"], timeout=LIMIT,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        lines = [line for line in run.stderr.decode().splitlines() if told in line]
        expect(run.returncode and len(lines) == 1 and b" 0 taken" in run.stderr,
               "%s: status %d, %s", name, run.returncode, run.stderr.decode())
        print("%s: refused, as %s" % (name, told))
    except (Failure, OSError, ValueError, subprocess.SubprocessError) as failure:
        show(failure)
        return False
    finally:
        finish(target)
    return True


def attempt(build, name):
    """What stands in the table."""
    beside.build = build.name
    try:
        return TESTS[name](build)
    except (Failure, OSError, ValueError, KeyError, IndexError,
            subprocess.SubprocessError) as failure:
        show("%s: %s: %s" % (name, type(failure).__name__, failure))
        return "WRONG"


def row(cells, widths):
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def total(cells):
    numbers = [cell.split() for cell in cells if cell != "WRONG"]
    return " ".join(["%g" % sum(float(words[0]) for words in numbers)] +
                    numbers[0][1:] if numbers else ["none"])


def word_of(args, flag, default):
    """The word behind @flag, which is taken out of @args."""
    if flag not in args:
        return default
    at = args.index(flag)
    word = args[at + 1]
    del args[at:at + 2]
    return word


def check(build, tests):
    """A row of the table."""
    begin = time.monotonic()
    cells = [attempt(build, name) for name in tests]
    cells += ["%.0f" % (time.monotonic() - begin)]
    print("%s (%s): %s" % (build.name, build.text(), ", ".join(cells)), flush=True)
    return [build.name, build.text()] + cells


def main(args):
    tests = word_of(args, "-t", ",".join(TESTS)).split(",")
    jobs = int(word_of(args, "-j", "1"))
    names = [arg for arg in args if not arg.startswith("-")]
    found, missing = farm.builds("-i" in args)
    if names:
        found = [build for build in found
                 if any(name in build.name for name in names)]
        missing = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(lambda build: check(build, tests), found))
    good = bool(found) and not any("WRONG" in cells for cells in rows)
    if not names and "-i" not in args:
        good &= all([is_refused(*other) for other in farm.others()])
    head = ["build", "version"] + tests + ["s"]
    widths = [max(len(cells[i]) for cells in rows + [head])
              for i in range(len(head))]
    print("\n" + row(head, widths))
    for cells in rows:
        print(row(cells, widths))
    print("in all, of what is right: %s" % ", ".join(
        "%s %s" % (name, total([cells[2 + i] for cells in rows]))
        for i, name in enumerate(tests) if name != "shares"))
    for name, why in sorted(missing.items()):
        print("%s: not tested: %s" % (name, why))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
