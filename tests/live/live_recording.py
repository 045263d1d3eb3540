#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recording: views of it agree, and what was written survives."""
import collections
import json
import os
import signal
import subprocess
import time

import fflive
from fflive import expect, near
from ffparse import parse_collapsed

FORMATS = {"html": "html", "svg": "svg", "folded": "collapsed",
           "json": "speedscope", "pb.gz": "pprof", "firefox.json": "firefox",
           "chrome.json": "chrome", "callgrind": "callgrind",
           "pstats": "pstats", "jsonl": "jsonl", "flamechart": "flamechart",
           "txt": "table"}


def report(*args, status=0):
    """Output and messages of `forkflame report`."""
    done = subprocess.run([fflive.FORKFLAME, "report"] +
                          [str(arg) for arg in args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    expect(done.returncode == status, "report %s: status %d, %s",
           " ".join(map(str, args)), done.returncode, done.stderr)
    return done.stdout, done.stderr.decode()


def stacks(*args):
    return parse_collapsed(report(*args, "-f", "collapsed")[0].decode())


def seconds(found, function=None):
    return sum(stack.weight for stack in found
               if function is None or function in fflive.names(stack)) / 1e6


def record_pool(*args):
    """A pool, recorded, and the run."""
    run = fflive.run(["-f", "ff", *args],
                     [fflive.newest(), fflive.program("pool.py"), 4, 24, .02],
                     output="run.ff")
    fflive.check_run(run, stdout=b"the pool is done\n")
    return run, run.path("run.ff")


def views_of_a_recording_add_up():
    run, path = record_pool()
    right = run.stats["wall_ns"] / 1e9
    by_pid = collections.Counter()
    for stack in stacks(path):
        by_pid[stack.pid] += stack.weight / 1e6
    near("collapsed", sum(by_pid.values()), right, 1e-4)
    for member in run.stats["members"]:
        near("process %d" % member["pid"], by_pid[member["pid"]],
             member["wall_ns"] / 1e9, 1e-5)
    lines = [json.loads(line) for line in
             report(path, "-f", "jsonl")[0].splitlines()]
    for key in ("wall_ns", "cpu_ns"):
        near("jsonl, " + key, sum(line[key] for line in lines
                                  if line["type"] == "slice"),
             run.stats[key], 0)
    for how in (["--by", "thread"], ["--by", "role"], ["--by", "all"], ["-F"],
                ["--file"]):
        near(" ".join(how), seconds(stacks(path, *how)), right, 1e-4)
    busy = seconds(stacks(path, "--no-idle"))
    expect(0 < busy < right, "not idle: %.2f s of %.2f", busy, right)


def each_format_is_written_by_its_name():
    _, path = record_pool()
    out = os.path.dirname(path)
    for ending, name in FORMATS.items():
        target = os.path.join(out, "view." + ending)
        report(path, "-o", target)
        with open(target, "rb") as file:
            by_name = file.read()
        expect(by_name, "%s is empty", ending)
        expect(report(path, "-f", name)[0] == by_name, "%s and -f %s differ",
               ending, name)


def a_part_of_it_is_shown():
    run, path = record_pool()
    worker = run.roles("worker")[0]
    expect({stack.pid for stack in stacks(path, "-p", worker)} == {worker},
           "-p shows others")
    tree = {stack.pid for stack in stacks(path, "--tree", run.roles("parent")[0])}
    expect(len(tree) == 5, "--tree: %s", tree)
    whole = run.stats["duration_ns"] / 1e9
    first = seconds(stacks(path, "--until", whole / 2))
    second = seconds(stacks(path, "--since", whole / 2))
    near("both halves", first + second, run.stats["wall_ns"] / 1e9, .01)
    only = stacks(path, "--include", ":large$")
    expect(only and all("large" in fflive.names(stack) for stack in only),
           "--include shows others")
    without = stacks(path, "--exclude", ":task$")
    expect("task" not in {name for stack in without
                          for name in fflive.names(stack)}, "--exclude")
    near("--exclude keeps the time", seconds(without),
         run.stats["wall_ns"] / 1e9, 1e-4)


def comparison_shows_what_changed():
    _, before = record_pool()
    _, after = record_pool()
    text = report(after, "--diff", before, "-f", "collapsed")[0].decode()
    for line in text.splitlines():
        base, new = line.split()[-2:]
        expect(base.isdigit() and new.isdigit(), "no two weights: %s", line)
    for form in ("svg", "html", "table"):
        report(after, "--diff", before, "-f", form)


def a_killed_profiler_leaves_what_it_saw():
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as tree:
        run = fflive.start(["-p", tree.pid, "-f", "ff"], output="run.ff")
        time.sleep(3.3)
        run.signal(signal.SIGKILL)
        run.process.wait()
        fflive.check_let_go(tree.pids("kid") + [tree.pid])
        out, err = report(run.path("run.ff"), "-f", "collapsed")
        expect("not ended in order" in err, "said: %s", err)
        found = parse_collapsed(out.decode())
        for function in ("kid_work", "root_sleeps"):
            told = seconds(found, function)
            expect(1.5 < told < 3.5, "%s: %.2f s", function, told)


def a_cut_recording_reads_to_its_last_block():
    _, path = record_pool()
    with open(path, "rb") as file:
        whole = file.read()
    for share in (.1, .5, .9, .99):
        with open(path, "wb") as file:
            file.write(whole[:int(share * len(whole))])
        out, err = report(path, "-f", "jsonl")
        expect("has lost its end" in err or "not ended" in err, "said: %s", err)
        for line in out.splitlines():
            json.loads(line)
    with open(path, "wb") as file:
        file.write(b"GIF89a")
    _, err = report(path, status=1)
    expect("no recording" in err, "said: %s", err)


def usr1_writes_a_view_and_goes_on():
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as tree:
        run = fflive.start(["-p", tree.pid])
        time.sleep(2.2)
        run.signal(signal.SIGUSR1)
        fflive.wait_until(lambda: os.path.exists(run.path("out.txt")), 10,
                          "the view")
        with open(run.path("out.txt")) as file:
            early = seconds(parse_collapsed(file.read()), "kid_work")
        expect(.5 < early < 3, "kid_work by then: %.2f s", early)
        run.signal(signal.SIGINT)
        run.wait(60)
        fflive.check_run(run)
        expect(run.weigh(None, "kid_work") > early, "it did not go on")


def rotated_recordings_add_up():
    run, path = record_pool("--rotate", "1")
    files = [path]
    while os.path.exists(path.replace(".ff", ".%d.ff" % len(files))):
        files.append(path.replace(".ff", ".%d.ff" % len(files)))
    if run.stats["duration_ns"] > 2.5e9:
        expect(len(files) > 1, "it was not rotated")
    for file in files:
        report(file, "-f", "svg")
    near("all files", seconds(stacks(*files)), run.stats["wall_ns"] / 1e9, .01)


def full_disk_is_said_and_the_rest_is_kept():
    """A file system of 64 KiB, in a mount namespace of its own."""
    script = ("mount -t tmpfs -o size=64k none /mnt && cd /mnt && "
              "head -c 60000 /dev/zero >filler && "
              '"$0" record -p "$1" -d 8 -r 1000 --sampler=stop -o /mnt/run.ff; s=$?; '
              '"$0" report /mnt/run.ff -f collapsed | wc -l; exit $s')
    if subprocess.run(["unshare", "-m", "true"],
                      stderr=subprocess.DEVNULL).returncode:
        raise fflive.Skip("no mount namespace")
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as tree:
        done = subprocess.run(["unshare", "-m", "sh", "-c", script,
                               fflive.FORKFLAME, str(tree.pid)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60)
        err = done.stderr.decode()
        expect(done.returncode == 5, "status %d: %s", done.returncode, err)
        expect("No space left" in err, "said: %s", err)
        expect(tree.alive(), "the target has gone")


def broken_pipe_is_said():
    with fflive.Target([fflive.newest(), fflive.program("tree.py")],
                       notes=4) as tree:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([fflive.FORKFLAME, "record", "-p", str(tree.pid),
                               "-d", "3", "-o", "-", "-f", "ff"],
                              stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        expect(done.returncode == 5 and b"Broken pipe" in done.stderr,
               "status %d: %s", done.returncode, done.stderr)


def read_only_place_is_said_before_anything_starts():
    done = subprocess.run([fflive.FORKFLAME, "record", "-o",
                           "/proc/no/such/run.ff", "--", "/bin/sh", "-c",
                           "echo ran"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30)
    expect(done.returncode == 5 and b"ran" not in done.stdout and
           b"/proc/no/such" in done.stderr, "status %d: %s %s",
           done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    fflive.main([], [views_of_a_recording_add_up,
                     each_format_is_written_by_its_name,
                     a_part_of_it_is_shown,
                     comparison_shows_what_changed,
                     a_killed_profiler_leaves_what_it_saw,
                     a_cut_recording_reads_to_its_last_block,
                     usr1_writes_a_view_and_goes_on,
                     rotated_recordings_add_up,
                     full_disk_is_said_and_the_rest_is_kept,
                     broken_pipe_is_said,
                     read_only_place_is_said_before_anything_starts])
