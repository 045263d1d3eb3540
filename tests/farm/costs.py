#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample costs, on every interpreter of the farm; prints a table.

	tests/farm/costs.py [-i] [NAME ...]

-i    the interpreters that are installed on this machine only
NAME  only builds with this in their names

The target has one thread that never rests, twenty frames deep. Of all of forkflame,
for each sample that it took at 100 Hz in five seconds: how often it entered the
kernel, and by which calls (by strace -c), and the microseconds of CPU. A shorter run
is taken off, so that the start and the end of a run do not count.
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
import time

import farm

FORKFLAME = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
RATE, SHORT, LONG = 100, .5, 5.5  # seconds
SHOWN = ("process_vm_readv", "ptrace", "pread64", "read", "epoll_wait",
         "timerfd_settime")


class Wrong(Exception):
    """The measurement could not be made."""


class Run:
    """One run: samples, CPU seconds of forkflame, and its calls, when counted."""

    def __init__(self, pid, rate, seconds, counted):
        with tempfile.TemporaryDirectory(prefix="fffarm-") as where:
            stats, calls = (os.path.join(where, name) for name in ("stats", "calls"))
            command = ["strace", "-f", "-c", "-o", calls] if counted else []
            command += [FORKFLAME, "record", "-r", str(rate), "-d", str(seconds),
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
                self.count(calls)

    def count(self, path):
        with open(path) as file:
            rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+)(?: +\d+)? +(\w+)$",
                              file.read(), re.M)
        for number, name in rows:
            self.calls[name] += int(number)
        if not self.calls.pop("total", 0):
            raise Wrong("strace says nothing")


def per_sample(pid, rate=RATE, short=SHORT, long=LONG):
    """({call: number}, microseconds) of a sample; no calls without a strace."""
    figures = []
    for counted in (False, True):
        if counted and not shutil.which("strace"):
            return {}, figures[0]
        first, last = (Run(pid, rate, seconds, counted) for seconds in (short, long))
        n = last.samples - first.samples
        if n < rate * (long - short) / 5:
            raise Wrong("only %d samples in %g s" % (n, long - short))
        if counted:
            last.calls.subtract(first.calls)
            return {name: number / n for name, number in last.calls.items()
                    }, figures[0]
        figures.append((last.seconds - first.seconds) / n * 1e6)


def measure(build):
    target = subprocess.Popen(build.command("busy.py"), env=build.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        time.sleep(1.5)
        calls, micros = per_sample(target.pid)
        if target.poll() is not None:
            raise Wrong("busy.py ended")
    finally:
        farm.end(target)
    others = sum(calls.values()) - sum(calls.get(name, 0) for name in SHOWN)
    return ["%.2f" % calls.get(name, 0) for name in SHOWN] + [
        "%.2f" % others, "%.1f" % sum(calls.values()), "%.0f" % micros]


def main(args):
    names = [arg for arg in args if not arg.startswith("-")]
    found = [build for build in farm.builds("-i" in args)[0]
             if not names or any(name in build.name for name in names)]
    form = "%-25s %-8s" + " %7s" * (len(SHOWN) + 3)
    print(form % ("build", "version", "readv", "ptrace", "pread", "read", "epoll",
                  "timerfd", "others", "calls", "us"))
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
