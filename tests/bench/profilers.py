# SPDX-License-Identifier: Apache-2.0
"""How each profiler is started, and what it wrote, as stacks of one kind."""
import collections
import glob
import json
import os
import re
import sys

from mojo import read_mojo

# names are those of functions, without their classes, root first. count is how many
# samples these are, seconds the time that the profile says they stand for.
Stack = collections.namedtuple("Stack", "pid names count seconds")

HERE = os.path.dirname(os.path.abspath(__file__))

INVALID = "(invalid)"  # a frame that the profiler itself says it could not read


def short(name):
    return name.rpartition(".")[2]


class Profiler:
    """start() makes the command that profiles process @pid at @hz into file @out:
    with its children; with threads that sleep (idle); weighing in samples (counts).
    All of them end by SIGINT, and write their profile then at the latest."""

    most = 1000        # no larger pool is asked of it
    slow = 0           # how many times the others' time it needs with children
    blind = False      # it has no profile
    in_root = False    # its targets run Debian sid's Python 3.15
    name = command = None

    def python(self, bench):
        return bench.rooted if self.in_root else bench.python

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        raise NotImplementedError

    def stacks(self, out, hz, root):
        """The Stacks of the file; @root is the pid that it was attached to."""
        raise NotImplementedError

    def says(self, out, log):
        """What it says of itself: dropped, and more."""
        return {}


class Forkflame(Profiler):
    most = 10000

    def __init__(self, command, name="forkflame", flags=(), in_root=False):
        self.command, self.name = [command], name
        self.flags, self.in_root = list(flags), in_root

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        return (self.command + ["record", "-q", "-r", str(hz), "-f", "collapsed",
                                "-o", out, "--stats", out + ".stats"] +
                ["--counts"] * counts + self.flags + ["-p", str(pid)])

    def stacks(self, out, hz, root):
        stats = self.stats(out)
        per_sample = 1e6 / hz if stats.get("mode") == "samples" else None
        for line in open(out, errors="replace"):
            stack, _, weight = line.rpartition(" ")
            process, *frames = stack.split(";")
            names = tuple(short(frame.split(":")[-2]) for frame in frames
                          if frame.count(":") >= 2)
            weight = int(weight)
            yield Stack(int(re.match(r"\d+", process).group()), names,
                        weight if per_sample else weight * hz / 1e6,
                        weight * (per_sample or 1) / 1e6)

    @staticmethod
    def stats(out):
        with open(out + ".stats") as file:
            return json.load(file)

    def says(self, out, log):
        stats = self.stats(out)
        ticks = stats["ticks"]
        return {"dropped": sum(stats["dropped"].values()),
                "taken": stats["samples"]["taken"],
                "stopped": stats["samples"]["stopped"],
                "held_us": stats["held"]["mean_ns"] / 1000,
                "missed_pct": 100 * ticks["missed"] /
                max(1, ticks["done"] + ticks["missed"])}


class PySpy(Profiler):
    def __init__(self, command, name="py-spy", flags=()):
        self.command, self.name, self.flags = command, name, list(flags)

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        return (self.command + ["record", "-r", str(hz), "-f", "raw", "-o", out] +
                ["--subprocesses"] * children + ["--idle"] * idle + self.flags +
                ["-p", str(pid)])

    def stacks(self, out, hz, root):
        for line in open(out, errors="replace"):
            stack, _, count = line.rpartition(" ")
            pid, names = root, []
            for frame in stack.split(";"):
                process = re.match(r"process (\d+):", frame)
                if process:  # its ancestors come first, it is the last
                    pid = int(process.group(1))
                else:
                    names.append(short(re.sub(r" \([^()]*\)$", "", frame)))
            yield Stack(pid, tuple(names), int(count), int(count) / hz)

    def says(self, out, log):
        said = re.search(r"Errors: (\d+)", log)
        return {"dropped": int(said.group(1))} if said else {}


class Austin(Profiler):
    """Austin 4. Its profiles are a binary stream, see mojo.py."""

    def __init__(self, command):
        self.command, self.name = command, "austin"

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        return (self.command + ["-P", "-i", str(round(1e6 / hz)), "-o", out] +
                ["-C"] * children + ["-p", str(pid)])

    def stacks(self, out, hz, root):
        with open(out, "rb") as file:
            samples, _ = read_mojo(file.read(), INVALID)
        for pid, names, microseconds in samples:
            yield Stack(pid, tuple(short(name) for name in names), 1,
                        microseconds / 1e6)

    def says(self, out, log):
        with open(out, "rb") as file:
            _, facts = read_mojo(file.read(), INVALID)
        errors = facts.get("errors", "").partition("/")[0]
        return {"dropped": int(errors)} if errors.isdigit() else {}


class Sampling(Profiler):
    """profiling.sampling of Python 3.15: a file, and a profiler, for each process."""

    in_root, most, slow = True, 20, 8

    def __init__(self, command, name="sampling", flags=()):
        self.command, self.name, self.flags = command, name, list(flags)

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        return (self.command + ["-m", "profiling.sampling", "attach", "-a",
                                "-r", str(hz), "--collapsed", "-o", out + ".txt"] +
                ["--subprocesses"] * children + self.flags + [str(pid)])

    def stacks(self, out, hz, root):
        for path in glob.glob(glob.escape(out) + "*.txt"):
            child = re.search(r"_(\d+)\.txt$", path)
            for line in open(path, errors="replace"):
                stack, _, count = line.rpartition(" ")
                names = tuple(short(frame.split(":")[-2])
                              for frame in stack.split(";")[1:]
                              if frame.count(":") >= 2)
                yield Stack(int(child.group(1)) if child else root, names,
                            int(count), int(count) / hz)

    def says(self, out, log):
        said = re.search(r"Error rate: ([\d.]+)", log)
        return {"dropped_pct": float(said.group(1))} if said else {}


class Clock(Profiler):
    """The interrupts alone that frames from the kernel are read in."""

    blind, name = True, "clock"

    def start(self, pid, hz, out, children=False, idle=False, counts=False):
        return [sys.executable, os.path.join(HERE, "clock.py"), str(hz)]


def profilers(forkflame, had, rooted, quick):
    """Those that are to be measured. @had tells which peers there are, as
    install.bring() does; @rooted is the command of Python 3.15, or None."""
    found = [Forkflame(forkflame),
             Forkflame(forkflame, "forkflame-stop", ["--sampler=stop"])]
    if not quick:
        found.append(Forkflame(forkflame, "forkflame-kernel", ["--sampler=kernel"]))
    if "py-spy" in had:
        found.append(PySpy(had["py-spy"][0]))
        if not quick:
            found.append(PySpy(had["py-spy"][0], "py-spy-nb", ["--nonblocking"]))
    if "austin" in had:
        found.append(Austin(had["austin"][0]))
    if rooted:
        found.append(Sampling(rooted))
        if not quick:
            found.append(Sampling(rooted, "sampling-b", ["--blocking"]))
        # On the same Python as that one, to compare the two.
        found.append(Forkflame(forkflame, "forkflame-3.15", in_root=True))
    return found


def refused_perf(one):
    """forkflame as it is where the kernel refuses perf."""
    return Forkflame(one.command[0], "forkflame-noperf", ["--oncpu", "runcounts"])


def one_sampler(one):
    """forkflame as it is with one CPU for itself."""
    return Forkflame(one.command[0], "forkflame-1",
                     ["--samplers=1", "--sampler=stop"])


def environment():
    """Ours, without what makes a peer slower than its users see it."""
    env = dict(os.environ, AUSTIN_NO_LOGGING="1", PYTHONHASHSEED="0")
    for name in ("PYTHONDONTWRITEBYTECODE", "RUST_BACKTRACE", "FORKFLAME_DEBUG"):
        env.pop(name, None)
    return env
