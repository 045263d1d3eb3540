#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A view is there whole or not at all, whatever ends its writing.

The first INT ends a run, and its view is written. A second one ends forkflame at
once. What was in the file before is there still, and nothing else is left; the
target runs on.
"""
import array
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import termios
import time

import fflive
from fflive import expect

TRIES = 60 if fflive.LONG else 12
BEFORE = "what was here before\n"


def is_forkflame(pid):
    """And no more what starts it, which ends in its own way."""
    try:
        return "forkflame" in os.path.basename(os.readlink("/proc/%d/exe" % pid))
    except FileNotFoundError:  # it has ended
        return False


def holds_back(pid, number):
    """Does forkflame; a shell script that starts it may, for a moment, too."""
    if not is_forkflame(pid):
        return False
    text = fflive.read_text("/proc/%d/status" % pid)
    blocked = next(line.split()[1] for line in text.splitlines()
                   if line.startswith("SigBlk:"))
    return int(blocked, 16) >> (number - 1) & 1


class Case:
    """A target of four threads, and a folder in which nothing but one file is."""

    def __init__(self):
        self.target = fflive.Target([fflive.newest(),
                                     fflive.program("many_threads.py"), "3",
                                     "120"])
        self.folder = tempfile.mkdtemp(prefix="fflive-")
        self.path = os.path.join(self.folder, "view.html")
        self.beside = 0
        self.write_before()

    def write_before(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(BEFORE)

    def start(self, *args):
        return fflive.spawn([fflive.FORKFLAME] + list(args) + ["-q"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)

    def record(self, *args):
        """One that waits for signals, and has sampled for a while."""
        profiler = self.start("record", "-p", str(self.target.pid), *args)
        fflive.wait_until(lambda: holds_back(profiler.pid, signal.SIGINT), 10,
                          "a profiler that waits for signals")
        time.sleep(.4)
        return profiler

    def check(self, why):
        """The file is whole, old or new. Is it new?

        One that replaces another has a name beside it for a moment, and whatever
        comes just then leaves both: whole, too.
        """
        left = os.listdir(self.folder)
        for name in left:
            text = fflive.read_text(os.path.join(self.folder, name))
            expect(text.endswith("</html>\n") or name == "view.html" and
                   text == BEFORE, "%s: half a page of %d bytes, %s", why,
                   len(text), name)
            if name != "view.html":
                self.beside += 1
                os.unlink(os.path.join(self.folder, name))
        expect("view.html" in left, "%s: it is not there", why)
        expect(self.beside < 4, "%s: %d times there was one beside it: %s", why,
               self.beside, left)
        text = fflive.read_text(self.path)
        expect(self.target.alive(), "%s: the target has gone", why)
        fflive.check_let_go([self.target.pid])
        return text != BEFORE

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.target.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)


class Fifo:
    """One whose reader does not read."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fflive-")
        self.path = os.path.join(self.folder, "view")
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self.fd, 1031, 4096)  # F_SETPIPE_SZ: for one write

    def bytes(self):
        count = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, count)
        return count[0]

    def fill(self, profiler):
        """Wait until the profiler waits for the reader."""
        fflive.wait_until(self.bytes, 60, "something in the FIFO")
        time.sleep(.1)
        expect(profiler.poll() is None, "it has ended with %s",
               profiler.returncode)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        os.close(self.fd)
        shutil.rmtree(self.folder, ignore_errors=True)


def second_int_ends_what_waits_for_its_reader():
    with Case() as case, Fifo() as fifo:
        for number in (signal.SIGINT, signal.SIGTERM):
            profiler = case.record("-f", "html", "-o", fifo.path)
            profiler.send_signal(signal.SIGINT)
            fifo.fill(profiler)
            profiler.send_signal(number)
            status = profiler.wait(60)
            expect(status == 128 + number, "status %s", status)
            case.check("a full FIFO")
            os.read(fifo.fd, 1 << 20)


def seconds_to_write(case):
    profiler = case.record("-o", case.path)
    begin = time.monotonic()
    profiler.send_signal(signal.SIGINT)
    expect(profiler.wait(60) == 0, "status %s", profiler.returncode)
    took = time.monotonic() - begin
    expect(case.check("one INT"), "one INT: no view")
    return min(took, .2)


def view_is_whole_or_as_it_was_whenever_a_second_signal_comes():
    with Case() as case:
        longest = seconds_to_write(case)
        for count in range(TRIES):
            number = signal.SIGKILL if count % 3 == 2 else signal.SIGINT
            case.write_before()
            profiler = case.record("-o", case.path)
            profiler.send_signal(signal.SIGINT)
            time.sleep(random.uniform(0, longest))
            profiler.send_signal(number)
            status = profiler.wait(60)
            expect(status in (0, 130, -signal.SIGKILL), "status %s", status)
            new = case.check("%s after INT" % number.name)
            expect(new or status, "status 0, and no view")


def new_view_is_there_whole_or_not_at_all():
    with Case() as case:
        path = os.path.join(case.folder, "new.html")
        longest = seconds_to_write(case)
        for count in range(TRIES):
            profiler = case.record("-o", path)
            profiler.send_signal(signal.SIGINT)
            time.sleep(random.uniform(0, longest))
            profiler.send_signal(signal.SIGKILL if count % 2 else signal.SIGINT)
            status = profiler.wait(60)
            left = set(os.listdir(case.folder)) - {"view.html"}
            expect(left <= {"new.html"}, "there is %s", left)
            expect(left or status, "status 0, and no view")
            if left:
                expect(fflive.read_text(path).endswith("</html>\n"), "half")
                os.unlink(path)


def recording_keeps_what_was_flushed_before_a_second_signal():
    with Case() as case:
        path = os.path.join(case.target.dir, "run.ff")
        profiler = case.record("-f", "ff", "-o", path)
        time.sleep(1.2)
        profiler.send_signal(signal.SIGINT)
        profiler.send_signal(signal.SIGTERM)  # two of a kind may become one
        status = profiler.wait(60)
        expect(status in (0, 130, 143), "status %s", status)
        done = subprocess.run([fflive.FORKFLAME, "report", path, "-f", "jsonl"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=30)
        expect(done.returncode == 0, "report: status %d, %s", done.returncode,
               done.stderr)
        slices = [one for one in map(json.loads, done.stdout.splitlines())
                  if one["type"] == "slice"]
        expect(slices, "nothing is in it: %s", done.stderr)


def interrupted_report_leaves_the_file_as_it_was():
    with Case() as case, Fifo() as fifo:
        path = os.path.join(case.target.dir, "run.ff")
        profiler = case.record("-f", "ff", "-o", path, "-d", "0.5")
        expect(profiler.wait(60) == 0, "status %s", profiler.returncode)
        profiler = case.start("report", path, "-f", "html", "-o", fifo.path)
        fifo.fill(profiler)
        profiler.send_signal(signal.SIGINT)
        expect(profiler.wait(60) == -signal.SIGINT, "status %s",
               profiler.returncode)
        for _ in range(TRIES):
            profiler = case.start("report", path, "-o", case.path)
            fflive.wait_until(lambda: is_forkflame(profiler.pid) or
                              profiler.poll() is not None, 30, "a report")
            time.sleep(random.uniform(0, .03))
            profiler.send_signal(signal.SIGINT)
            status = profiler.wait(30)
            expect(status in (0, -signal.SIGINT), "status %s", status)
            case.check("INT of a report")


if __name__ == "__main__":
    fflive.main(once=[
        second_int_ends_what_waits_for_its_reader,
        view_is_whole_or_as_it_was_whenever_a_second_signal_comes,
        new_view_is_there_whole_or_not_at_all,
        recording_keeps_what_was_flushed_before_a_second_signal,
        interrupted_report_leaves_the_file_as_it_was,
    ])
