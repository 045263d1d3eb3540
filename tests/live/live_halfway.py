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


class Case:
    """A target of four threads, and a folder in which nothing but one file is."""

    def __init__(self):
        self.target = fflive.Target([fflive.newest(),
                                     fflive.program("many_threads.py"), "3",
                                     "120"])
        self.folder = tempfile.mkdtemp(prefix="fflive-")
        self.path = os.path.join(self.folder, "view.html")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(BEFORE)

    def start(self, *args):
        return fflive.spawn([fflive.FORKFLAME] + list(args) + ["-q"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)

    def record(self, *args):
        """One that has sampled for a while."""
        profiler = self.start("record", "-p", str(self.target.pid), *args)
        time.sleep(.4)
        return profiler

    def check(self, why):
        """The file is whole, old or new. Is it new?"""
        left = os.listdir(self.folder)
        expect(left == ["view.html"], "%s: there is %s", why, left)
        text = fflive.read_text(self.path)
        expect(text == BEFORE or text.endswith("</html>\n"),
               "%s: half a page of %d bytes", why, len(text))
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
        fflive.wait_until(self.bytes, 10, "something in the FIFO")
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
            status = profiler.wait(5)
            expect(status == 128 + number, "status %s", status)
            case.check("a full FIFO")
            os.read(fifo.fd, 1 << 20)


def seconds_to_write(case):
    profiler = case.record("-o", case.path)
    begin = time.monotonic()
    profiler.send_signal(signal.SIGINT)
    expect(profiler.wait(10) == 0, "status %s", profiler.returncode)
    took = time.monotonic() - begin
    expect(case.check("one INT"), "one INT: no view")
    return min(took, .2)


def view_is_whole_or_as_it_was_whenever_a_second_signal_comes():
    with Case() as case:
        longest = seconds_to_write(case)
        for count in range(TRIES):
            number = signal.SIGKILL if count % 3 == 2 else signal.SIGINT
            with open(case.path, "w", encoding="utf-8") as file:
                file.write(BEFORE)
            profiler = case.record("-o", case.path)
            profiler.send_signal(signal.SIGINT)
            time.sleep(random.uniform(0, longest))
            profiler.send_signal(number)
            status = profiler.wait(5)
            expect(status in (0, 130, -signal.SIGKILL), "status %s", status)
            new = case.check("%s after INT" % number.name)
            expect(new or status, "status 0, and no view")


def recording_keeps_what_was_flushed_before_a_second_signal():
    with Case() as case:
        path = os.path.join(case.target.dir, "run.ff")
        profiler = case.record("-f", "ff", "-o", path)
        time.sleep(1.2)
        profiler.send_signal(signal.SIGINT)
        profiler.send_signal(signal.SIGTERM)  # two of a kind may become one
        status = profiler.wait(5)
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
        expect(profiler.wait(10) == 0, "status %s", profiler.returncode)
        profiler = case.start("report", path, "-f", "html", "-o", fifo.path)
        fifo.fill(profiler)
        profiler.send_signal(signal.SIGINT)
        expect(profiler.wait(5) == -signal.SIGINT, "status %s",
               profiler.returncode)
        for _ in range(TRIES):
            profiler = case.start("report", path, "-o", case.path)
            time.sleep(random.uniform(0, .03))
            profiler.send_signal(signal.SIGINT)
            status = profiler.wait(5)
            expect(status in (0, -signal.SIGINT), "status %s", status)
            case.check("INT of a report")


if __name__ == "__main__":
    fflive.main(once=[
        second_int_ends_what_waits_for_its_reader,
        view_is_whole_or_as_it_was_whenever_a_second_signal_comes,
        recording_keeps_what_was_flushed_before_a_second_signal,
        interrupted_report_leaves_the_file_as_it_was,
    ])
