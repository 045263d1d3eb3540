#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample costs, on every interpreter of the farm; prints a table.

	tests/farm/costs.py [-i] [NAME ...]

-i    the interpreters that are installed on this machine only
NAME  only builds with this in their names

The target has one thread that never rests, twenty frames deep. Of all of forkflame,
for each sample that it took at 100 Hz: how often it entered the kernel, and by which
calls (in five seconds), and the microseconds of CPU (the least of three times two
seconds: what runs beside it makes it dearer). The calls are counted by perf trace -s
where it may, else by strace -c. The latter stops it at each call: a target that shares
its CPU runs on meanwhile, so that more is read again, and stopped. A shorter run is taken off, so
that the start and the end of a run do not count. What depends on the machine's other
processes are `events`, which tell of those that come and go, and most of `others`: now
and then all that there are are looked at.
FORKFLAME names the program under test.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import farm

FORKFLAME = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
RATE = 100
SHORT, LONG, COUNTED = .5, 2.5, 5.5  # seconds
ROUNDS = 3
SHOWN = {"readv": ("process_vm_readv",), "ptrace": ("ptrace", "waitid"),
         "pread": ("pread64",), "wait": ("epoll_pwait2", "epoll_wait"),
         "events": ("poll", "recvmmsg")}


class Wrong(Exception):
    """The measurement could not be made."""


def counter(where):
    """A command prefix that counts the calls of what follows, and a pattern for name
    and number in what it writes to the file; None, None when there is none."""
    perf = ["perf", "trace", "-s", "-o", where]
    if shutil.which("perf") and not subprocess.run(
            perf + ["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode:
        return perf, r"^ +(?P<name>[a-z]\w+) +(?P<n>\d+) +\d+ +[\d.]+ .*%$"
    if shutil.which("strace"):
        return (["strace", "-f", "-c", "-o", where],
                r"^ *[\d.]+ +[\d.]+ +\d+ +(?P<n>\d+)(?: +\d+)? +(?P<name>\w+)$")
    return None, None


class Run:
    """One run: samples, CPU seconds of forkflame, and its calls, when counted."""

    def __init__(self, pid, seconds, counted):
        with tempfile.TemporaryDirectory(prefix="fffarm-") as where:
            stats, calls = (os.path.join(where, name) for name in ("stats", "calls"))
            count, pattern = counter(calls) if counted else ([], None)
            command = count + [FORKFLAME, "record", "-r", str(RATE), "-d", str(seconds),
                        "-p", str(pid), "-f", "collapsed", "-o",
                        os.path.join(where, "out"), "--stats", stats]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            if status:
                raise Wrong("record -p: status %d" % status)
            with open(stats) as file:
                self.samples = json.load(file)["samples"]["taken"]
            self.seconds = usage.ru_utime + usage.ru_stime
            self.calls = collections.Counter()
            if counted:
                self.count(calls, pattern)

    def count(self, path, pattern):
        with open(path) as file:
            for row in re.finditer(pattern, file.read(), re.M):
                self.calls[row["name"]] += int(row["n"])
        self.calls.pop("total", 0)
        if not self.calls:
            raise Wrong("no calls were counted")


def difference(pid, seconds, counted):
    """(samples, CPU seconds, calls) of the part of a run that is no beginning."""
    first, last = (Run(pid, part, counted) for part in (SHORT, seconds))
    n = last.samples - first.samples
    if n < RATE * (seconds - SHORT) / 5:
        raise Wrong("only %d samples in %g s" % (n, seconds - SHORT))
    # Of what is called at the beginning alone, one may have more than the other.
    return n, last.seconds - first.seconds, last.calls - first.calls


def per_sample(pid):
    """({call: number}, microseconds); no calls where nothing counts them."""
    micros = min(seconds / n * 1e6 for n, seconds, _ in (
        difference(pid, LONG, False) for _ in range(ROUNDS)))
    if not counter(os.devnull)[0]:
        return {}, micros
    n, _, calls = difference(pid, COUNTED, True)
    return {name: number / n for name, number in calls.items()}, micros


def measure(build):
    target = farm.start(build.command("busy.py"), env=build.environment(),
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL)
    try:
        if target.stdout.readline() != b"busy\n":
            raise Wrong("busy.py ended")
        calls, micros = per_sample(target.pid)
    finally:
        farm.end(target)
        target.stdout.close()
    cells = [sum(calls.get(name, 0) for name in names) for names in SHOWN.values()]
    whole = sum(calls.values())
    return ["%.2f" % cell for cell in cells] + [
        "%.2f" % (whole - sum(cells)), "%.1f" % whole, "%.0f" % micros]


def main(args):
    names = [arg for arg in args if not arg.startswith("-")]
    found = [build for build in farm.builds("-i" in args)[0]
             if not names or any(name in build.name for name in names)]
    form = "%-25s %-8s" + " %7s" * (len(SHOWN) + 3)
    print(form % tuple(["build", "version"] + list(SHOWN) + ["others", "calls", "us"]))
    status = 0
    for build in found:
        try:
            cells = measure(build)
        except (Wrong, OSError, ValueError, subprocess.SubprocessError) as error:
            cells, status = ["WRONG: %s" % error] + [""] * (len(SHOWN) + 2), 1
        print((form % tuple([build.name, build.text()] + cells)).rstrip(), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
