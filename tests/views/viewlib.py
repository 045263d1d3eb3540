# SPDX-License-Identifier: Apache-2.0
"""What check_views.py's parts share: where the consumers are, running things,
what a recording really says, and the table of what was found."""
import collections
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "live"))
import fflive  # noqa: E402
from ffparse import Failure, expect  # noqa: E402

CACHE = os.environ.get("FORKFLAME_VIEWS",
                       os.path.expanduser("~/.cache/forkflame-views"))
MODULES = os.path.join(CACHE, "npm", "node_modules")
PROGRAMS = os.path.join(HERE, "programs")
sys.path.insert(0, PROGRAMS)  # what is right is told by the programs themselves

# Format, and how a file of it is called. (Not `.chrome.json`: speedscope takes
# every file of that name for one of the browser's own profiler.)
ENDINGS = {"collapsed": "folded", "svg": "svg", "html": "html",
           "speedscope": "speedscope.json", "pprof": "pb.gz",
           "chrome": "trace.json", "firefox": "firefox.json",
           "callgrind": "callgrind", "pstats": "pstats", "jsonl": "jsonl",
           "flamechart": "flamechart", "table": "txt"}


class Missing(Exception):
    """A consumer that this machine does not have."""


def module(*path):
    """A file of an npm package."""
    found = os.path.join(MODULES, *path)
    if not os.path.exists(found):
        raise Missing("no %s: run tests/views/install.sh" % path[0])
    return found


def node24():
    for entry in os.listdir(MODULES) if os.path.isdir(MODULES) else ():
        if entry.startswith("node-linux-"):
            return module(entry, "bin", "node")
    raise Missing("no Node 24: run tests/views/install.sh")


def tool(name, *places):
    for place in (shutil.which(name),) + places:
        if place and os.path.exists(place):
            return place
    raise Missing("no %s: run tests/views/install.sh" % name)


def call(command, limit=120, status=0, **how):
    """Output and messages, as text; the status must be @status."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=limit, **how)
    out = done.stdout.decode("utf-8", "surrogateescape")
    err = done.stderr.decode("utf-8", "surrogateescape")
    expect(done.returncode == status, "%s: status %d: %s", command[0],
           done.returncode, (err or out)[-600:])
    return out, err


Cost = collections.namedtuple("Cost", "seconds cpu_seconds peak_kb")


def measure(command, limit=300):
    """Run a program alone in a child, and tell what it cost."""
    script = ("import json, resource, subprocess, sys, time\n"
              "t = time.monotonic()\n"
              "s = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)\n"
              "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
              "print(json.dumps([s, time.monotonic() - t,"
              " u.ru_utime + u.ru_stime, u.ru_maxrss]))")
    out, err = call([sys.executable, "-c", script] + command, limit)
    status, *cost = json.loads(out.splitlines()[-1])
    expect(status == 0, "%s: status %d: %s", " ".join(command), status, err)
    return Cost(*cost)


class Truth:
    """What a recording says, read of its JSON lines.

    wall, cpu, gil, samples   of all
    processes, threads        that were sampled: Counters of wall_ns, by number
    pid                       wall_ns by pid
    own, total                wall_ns by (function, file); total once a stack
    lines                     the (function, file, line) of all frames
    depths                    wall_ns by the number of frames
    """

    def __init__(self, path):
        self.wall = self.cpu = self.gil = self.samples = 0
        self.stated = None
        self.processes, self.threads, self.pid, self.own, self.total, \
            self.thread_cpu, self.depths = (collections.Counter()
                                            for _ in range(7))
        self.frames, self.stacks, self.weights = {}, {}, collections.Counter()
        self.known = 0
        with open(path, encoding="utf-8") as file:
            for line in file:
                self.add(json.loads(line))
        for stack, weight in self.weights.items():
            self.add_stack(self.stacks[stack], weight)
        self.lines = set(self.frames.values())

    def add(self, one):
        kind = one["type"]
        if kind == "slice":
            self.add_slice(one)
        elif kind == "frame":
            self.frames[one["id"]] = (one["function"], one["file"],
                                      one["line"])
        elif kind == "stack":
            self.stacks[one["id"]] = one["frames"]
        elif kind == "process":
            self.known += 1
        elif kind == "summary":
            self.stated = one

    def add_slice(self, one):
        wall = one["wall_ns"]
        self.wall += wall
        self.cpu += one["cpu_ns"]
        self.samples += one["samples"]
        self.gil += wall if one["gil"] == "held" else 0
        self.processes[one["process"]] += wall
        self.threads[one["process"], one["tid"]] += wall
        self.thread_cpu[one["process"], one["tid"]] += one["cpu_ns"]
        self.pid[one["pid"]] += wall
        self.weights[one["stack"]] += wall

    def add_stack(self, frames, weight):
        places = [self.frames[frame][:2] for frame in frames]
        self.depths[len(places)] += weight
        if places:
            self.own[self.leaf(places)] += weight
        for place in set(places):
            self.total[place] += weight

    @staticmethod
    def leaf(places):
        """Frames are told the outermost first."""
        return places[-1]


class Recording:
    """A recording, its truth, and its views, each made when it is asked for."""

    def __init__(self, name, path, folder, run=None):
        self.name, self.path, self.run = name, path, run
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder, exist_ok=True)
        self.costs = {}
        self.truth = Truth(self.view("jsonl"))

    def view(self, form, *args, name="view"):
        """The file of a view; @args make another one, called @name."""
        target = os.path.join(self.folder, name + "." + ENDINGS[form])
        if not os.path.exists(target):
            self.costs[target] = measure([fflive.FORKFLAME, "report",
                                          self.path, "-o", target, *args])
        return target

    def read(self, form, *args, **how):
        with open(self.view(form, *args, **how), encoding="utf-8",
                  errors="surrogateescape", newline="") as file:
            return file.read()


Row = collections.namedtuple("Row", "form consumer recording outcome seconds "
                                    "note")


class Table:
    """What was found: a row a format, consumer and recording."""

    def __init__(self):
        self.rows = []

    def run(self, form, consumer, recording, test, *args):
        """Run a test; what it returns is a remark for the table."""
        begin = time.monotonic()
        try:
            note, outcome = test(*args) or "", "ok"
        except (Missing, fflive.Skip) as missing:
            note, outcome = str(missing), "not tested"
        except Failure as failure:
            note, outcome = str(failure), "FAILED"
        except subprocess.TimeoutExpired as late:
            note, outcome = "not done in %g s" % late.timeout, "FAILED"
        except Exception as error:  # of the consumer, or of the test
            traceback.print_exc()
            note, outcome = "%s: %s" % (type(error).__name__, error), "FAILED"
        row = Row(form, consumer, recording, outcome,
                  time.monotonic() - begin, note)
        self.rows.append(row)
        print("%-10s %-22s %-9s %-10s %6.2f s  %s" % row._replace(
            note=note.replace("\n", "\\n")[:400]), flush=True)

    def show(self):
        """The table at the end: consumers down, recordings across."""
        names = list(dict.fromkeys(row.recording for row in self.rows))
        cells, notes = {}, []
        for row in self.rows:
            cell = ("%.1f s" % row.seconds if row.outcome == "ok"
                    else row.outcome)
            cells.setdefault((row.form, row.consumer), {})[row.recording] = cell
            if row.outcome != "ok":
                notes.append("%s: %s, %s, %s: %s" % (
                    row.outcome, row.form, row.consumer, row.recording,
                    row.note.replace("\n", "\\n")[:600]))
        print("\nopened, checked, in so many seconds; -: not asked for")
        print("%-11s%-23s" % ("format", "consumer") +
              "".join("%-11s" % name for name in names))
        for (form, consumer), found in cells.items():
            print("%-11s%-23s" % (form, consumer) +
                  "".join("%-11s" % found.get(name, "-") for name in names))
        for note in dict.fromkeys(notes):
            print(note)

    def count(self, outcome):
        return sum(row.outcome == outcome for row in self.rows)


def limit_processes():
    """The run of a thousand processes wants as many at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY and soft < 4000:
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
