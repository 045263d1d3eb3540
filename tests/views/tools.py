# SPDX-License-Identifier: Apache-2.0
"""Views in tools of the command line: each function opens one view of a
recording in one consumer, and compares what that says with the recording."""
import collections
import decimal
import json
import os
import re
import xml.etree.ElementTree

import fflive
from ffparse import expect, parse_collapsed, unescape
from viewlib import Missing, call, module, node24, tool

FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
MANY = 50  # processes beyond which not each one is asked about


def same(what, seen, right, slack=0):
    expect(abs(seen - right) <= slack, "%s: %s, the recording has %s", what,
           seen, right)


def odd_names(recording):
    """The hostile names that the program of this recording has, as
    (function, file); no other recording has any."""
    if recording.name != "names":
        return []
    import names
    return names.ODD


# Collapsed stacks

def collapsed_whole(recording):
    """Read back as the manual page says: the same stacks, names and weights."""
    truth = recording.truth
    stacks = parse_collapsed(recording.read("collapsed"))
    images = len({(one.pid, one.command) for one in stacks})
    same("microseconds", sum(one.weight for one in stacks), truth.wall / 1000,
         images)
    by_pid, total, depths = (collections.Counter() for _ in range(3))
    for one in stacks:
        by_pid[one.pid] += one.weight
        depths[len(one.frames)] += one.weight
        for place in {(frame.function, frame.file) for frame in one.frames}:
            total[place] += one.weight
    for pid, wall in truth.pid.items():
        same("pid %d" % pid, by_pid[pid], wall / 1000, 20)
    for place, wall in truth.total.items():
        same("%s in %s" % place, total[place], wall / 1000, len(stacks))
    same("kinds of depths", len(+depths),
         sum(1 for wall in truth.depths.values() if wall > 1e6), 5)
    return "%d stacks" % len(stacks)


def flamegraph_pl(recording):
    perl = tool("flamegraph.pl", FLAMEGRAPH)
    right = sum(int(line.rpartition(" ")[2]) for line in
                recording.read("collapsed").split("\n") if line)
    out, err = call(["perl", perl, "--minwidth=0", "--hash",
                     recording.view("collapsed")], 300)
    expect(not err, "it said: %s", err[:300])
    root = xml.etree.ElementTree.fromstring(out)
    titles = [one.text for one in root.iter("{http://www.w3.org/2000/svg}title")]
    whole = [one for one in titles if one and one.startswith("all (")]
    expect(len(whole) == 1, "%d blocks are all of it", len(whole))
    same("its total", int(re.search(r"\(([\d,]+) samples, 100%", whole[0])
                          .group(1).replace(",", "")), right)
    return "%d blocks" % len(titles)


# speedscope's schema

AJV = """
const Ajv = require(process.argv[1]).default;
const fs = require("fs");
const ajv = new Ajv({ strict: false });
const validate = ajv.compile(JSON.parse(fs.readFileSync(process.argv[2])));
const ok = validate(JSON.parse(fs.readFileSync(process.argv[3])));
if (!ok) { console.error(JSON.stringify(validate.errors)); process.exit(1); }
"""


def speedscope_schema(recording):
    schema = module("speedscope", "dist", "release", "file-format-schema.json")
    call([tool("node"), "-e", AJV, module("ajv"), schema,
          recording.view("speedscope")])


def speedscope_whole(recording):
    truth = recording.truth
    view = json.loads(recording.read("speedscope"))
    frames = view["shared"]["frames"]
    weights = [sum(weight for stack, weight in
                   zip(one["samples"], one["weights"]) if stack)
               for one in view["profiles"]]
    for one in view["profiles"]:
        expect(len(one["samples"]) == len(one["weights"]), "%s: not as many "
               "weights as samples", one["name"])
    same("profiles", len(weights), len(truth.threads))
    same("nanoseconds", sum(weights), truth.wall)
    expect(sorted(weights) == sorted(truth.threads.values()),
           "threads weigh %s", sorted(weights)[:9])
    names = {(one["name"], one.get("file", "")) for one in frames}
    for place in odd_names(recording):
        expect(place in names, "no %r in %r", *place)


# Chrome's trace events

def number(text):
    return decimal.Decimal(text)


def chrome_nesting(recording):
    """By their beginnings, as viewers sort them, each event of a thread lies
    wholly within the one that is open; self times are the recording's."""
    truth = recording.truth
    trace = json.loads(recording.read("chrome"), parse_float=number)
    threads = collections.defaultdict(list)
    total = collections.Counter()
    for event in trace["traceEvents"]:
        expect({"ph", "name", "pid", "tid"} <= set(event), "incomplete: %s",
               event)
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
            for key, weight in event["args"].items():
                if key.startswith("self_"):
                    total[key] += weight
        else:
            expect(event["ph"] in "Mi", "what is %s?", event["ph"])
    same("threads", len(threads), len(truth.threads))
    same("processes", len({pid for pid, _ in threads}), len(truth.processes))
    same("wall time", total["self_wall_us"] * 1000, truth.wall)
    same("CPU time", total["self_cpu_us"] * 1000, truth.cpu)
    same("samples", total["self_samples"], truth.samples)
    for who, events in threads.items():
        check_nesting(who, events)
    names = {(event["name"], event["args"].get("file", ""))
             for events in threads.values() for event in events}
    for place in odd_names(recording):
        expect(place in names, "no %r in %r", *place)
    return "%d events" % len(trace["traceEvents"])


def check_nesting(who, events):
    ends = []
    # Of one moment, a caller stands before what it calls.
    for event in sorted(events, key=lambda event: event["ts"]):
        begin, end = event["ts"], event["ts"] + event["dur"]
        expect(event["dur"] >= 0, "%s: ends before %s", who, begin)
        while ends and ends[-1] <= begin:
            ends.pop()
        expect(not ends or end <= ends[-1], "%s: %s overlaps its caller at %s",
               who, event["name"], begin)
        ends.append(end)


# The Firefox Profiler

class Session:
    """A profile that profiler-cli has loaded."""

    def __init__(self, path, name):
        self.folder = os.path.join(os.path.dirname(path), "profiler-cli")
        self.command = [node24(), module("@firefox-devtools", "profiler-cli",
                                         "dist", "profiler-cli.js")]
        self.name = name
        # On a busy machine `load` gives up on its own daemon, which then
        # answers all the same.
        try:
            self.ask("load", path, limit=300)
        except fflive.Failure as failure:
            self.wait(failure)

    def wait(self, failure):
        for _ in range(20):
            try:
                return self.ask("status")
            except fflive.Failure:
                fflive.time.sleep(.5)
        raise failure

    def ask(self, *words, limit=120):
        out, _ = call(self.command + list(words) + ["--session", self.name],
                      limit)
        return out

    def json(self, *words):
        return json.loads(self.ask(*words, "--json"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call(self.command + ["stop", self.name])


def firefox_cli(recording):
    truth = recording.truth
    with Session(recording.view("firefox"), "ff-" + recording.name) as session:
        info = session.json("profile", "info", "--all")
        same("threads", info["threadCount"], len(truth.threads))
        same("processes", info["processCount"], len(truth.processes))
        listed = session.json("thread", "list", "--limit", "0")["threads"] \
            if len(truth.threads) <= MANY else []
        cpu = sum(one["cpuMs"] for one in listed)
        if listed:
            same("CPU, ms", cpu, truth.cpu / 1e6, .01 * len(listed))
        wall = 0
        for one in listed[:MANY]:
            session.ask("thread", "select", one["threadHandle"])
            samples = session.json("thread", "samples", "--include-idle")
            wall += samples["categoryBreakdown"]["totalSamples"]
        if listed and len(listed) <= MANY:
            same("wall, ms", wall, truth.wall / 1e6, .01)
    return "%d threads across %d processes" % (info["threadCount"],
                                               info["processCount"])


def firefox_whole(recording):
    truth = recording.truth
    view = json.loads(recording.read("firefox"), parse_float=number)
    wall, cpu = 0, 0
    for thread in view["threads"]:
        samples = thread["samples"]
        for key in ("stack", "time", "weight", "threadCPUDelta"):
            same("rows of " + key, len(samples[key]), samples["length"])
        expect(samples["time"] == sorted(samples["time"]), "%s: not in order",
               thread["name"])
        wall += sum(samples["weight"])
        cpu += sum(samples["threadCPUDelta"])
    same("wall, ns", wall * 1000000, truth.wall)
    same("CPU, ns", cpu, truth.cpu)
    strings = set(view["shared"]["stringArray"])
    for function, file in odd_names(recording):
        expect(function in strings and (not file or file in strings),
               "no %r in %r", function, file)


def chrome_in_firefox(recording):
    truth = recording.truth
    with Session(recording.view("chrome"), "ch-" + recording.name) as session:
        info = session.json("profile", "info", "--all")
    # Those without samples have a name and an end in the trace as well.
    expect(len(truth.threads) <= info["threadCount"] <=
           len(truth.threads) + truth.known, "%d threads of %d",
           info["threadCount"], len(truth.threads))
    same("processes", info["processCount"], truth.known, truth.known -
         len(truth.processes))
    return "%d threads across %d processes" % (info["threadCount"],
                                               info["processCount"])


# pprof

class Pprof:
    def __init__(self, recording):
        self.recording = recording
        self.go = tool("go", "/usr/local/go/bin/go")

    def ask(self, *args, files=1, index="wall"):
        path = self.recording.view("pprof")
        out, err = call([self.go, "tool", "pprof", "-sample_index=" + index,
                         *args] + [path] * files,
                        env=dict(os.environ, PPROF_TMPDIR=os.path.dirname(path)))
        return out

    def total(self, *args, **how):
        out = self.ask("-top", "-nodecount=5", *args, **how)
        found = re.search(r"Showing nodes accounting for \S+, \S+ of (\d+)",
                          out)
        expect(found, "no total in: %s", out[:400])
        return int(found.group(1))


    def shown(self, *args):
        """The sum of what it shows, when it leaves nothing out."""
        out = self.ask("-top", "-unit=ns", "-nodecount=1000000",
                       "-nodefraction=0", "-edgefraction=0", *args)
        found = re.search(r"accounting for (\d+)(?:ns)?, ", out)
        expect(found, "no total in: %s", out[:400])
        return int(found.group(1))


def pprof_totals(recording):
    truth, pprof = recording.truth, Pprof(recording)
    for index, right in (("wall", truth.wall), ("cpu", truth.cpu)):
        if right:
            same(index, pprof.total("-unit=ns", index=index), right)
    same("samples", pprof.total(index="samples"), truth.samples)
    if truth.gil:
        same("gil", pprof.total("-unit=ns", index="gil"), truth.gil)
    same("two merged", pprof.total("-unit=ns", files=2), 2 * truth.wall)


def pprof_tags(recording):
    truth, pprof = recording.truth, Pprof(recording)
    out = pprof.ask("-tags")
    found = dict(re.findall(r"^ *(\w+): Total (\S+) of", out, re.MULTILINE))
    expect({"pid", "process", "thread", "tid", "host"} <= set(found),
           "tags: %s", found)
    pids = [pid for pid, wall in truth.pid.items() if wall]
    for pid in pids[:MANY]:
        if len(pids) <= MANY:
            expect(re.search(r": %d$" % pid, out, re.MULTILINE),
                   "no tag of pid %d", pid)
    for pid in pids[:3] + pids[-2:]:
        seen = pprof.shown("-tagfocus=pid=%d" % pid)
        same("pid %d" % pid, seen, truth.pid[pid])
    roots = pprof.ask("-top", "-tagroot=process", "-nodecount=5")
    expect("flat%" in roots, "-tagroot: %s", roots[:200])


def pprof_diff(recording):
    pprof = Pprof(recording)
    out = pprof.ask("-top", "-unit=ns",
                    "-diff_base=" + recording.view("pprof"))
    expect("accounting for 0, 0%" in out, "of itself: %s", out[:400])


def pprof_names(recording):
    # Control characters are escaped in it: it is printed on terminals.
    out = unescape(Pprof(recording).ask("-raw"))
    for function, file in odd_names(recording):
        expect(function in out and file in out, "no %r in %r", function, file)


# callgrind

def callgrind(recording):
    truth = recording.truth
    for more in (), ("--inclusive=yes",), ("--tree=both",):
        out, err = call(["perl", tool("callgrind_annotate"), "--threshold=100",
                         "--auto=no", *more, recording.view("callgrind")], 300)
        expect(not err.strip(), "it said: %s", err[:300])
        line = next((one for one in out.splitlines()
                     if one.endswith("PROGRAM TOTALS")), "")
        found = [int(one.replace(",", "")) for one in
                 re.findall(r"([\d,]+) \(100\.0%\)", line)]
        right = [truth.wall // 1000, truth.cpu // 1000, truth.samples]
        for what, seen, told in zip(("wall", "CPU", "samples"), found, right):
            same(what, seen, told, len(truth.processes) + 1)
        expect(len(found) >= sum(map(bool, right)), "totals: %r", line)
        # It takes blanks off the beginning of a function.
        rows = unescape(out)
        for function, file in odd_names(recording):
            row = "%s:%s" % (file.rpartition("/")[2] or "???", function.lstrip())
            expect(row in rows, "no %r in %r", function, file)


# pstats

STATS = r"""
import io, json, pstats, sys
stream = io.StringIO()
stats = pstats.Stats(sys.argv[1], stream=stream)
tell = {"total": stats.total_tt, "calls": stats.total_calls,
        "own": sum(one[2] for one in stats.stats.values()),
        "rows": [[list(key), value[2], value[3]]
                 for key, value in stats.stats.items()]}
stats.sort_stats("cumulative").print_stats(50)
stats.print_callers(20)
stats.print_callees(20)
stats.add(sys.argv[1])
tell["twice"] = stats.total_tt
stats.strip_dirs()
json.dump(tell, sys.stdout)
"""


def pstats_in(recording, python):
    truth = recording.truth
    out, _ = call([python, "-c", STATS, recording.view("pstats")], 300)
    tell = json.loads(out)
    for key, right in (("total", 1), ("own", 1), ("twice", 2)):
        same(key + ", seconds", tell[key], right * truth.wall / 1e9, 1e-3)
    total = collections.Counter()
    for (file, _, function), _, cumulative in tell["rows"]:
        total[unescape(function), unescape(file)] = cumulative
        expect(cumulative <= truth.wall / 1e9 + 1e-3, "%s: %s s of %s",
               function, cumulative, truth.wall / 1e9)
    for place in odd_names(recording):
        place = (place[0], place[1] or "~")
        expect(place in total, "no %r in %r", *place)
    return "%d functions" % len(tell["rows"])


def stats_pythons():
    """The oldest and the newest Python 3 here."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = fflive.glob.glob(os.path.join(root, "versions", "*", "bin",
                                          "python3"))
    found = sorted((fflive.version_of(path), path)
                   for path in paths + ["/usr/bin/python3"]
                   if fflive.version_of(path))
    return [found[0], found[-1]] if len(found) > 1 else found


# SVG, JSON lines, the manner of Pyflame, and the table

def svg_xml(recording):
    path = recording.view("svg")
    _, err = call([tool("xmllint"), "--noout", "--nonet", path])
    expect(not err, "it said: %s", err[:300])


def svg_whole(recording):
    truth = recording.truth
    root = xml.etree.ElementTree.fromstring(recording.read("svg").encode())
    same("its total", int(root.get("data-total")), truth.wall / 1000,
         len(truth.processes) + 1)
    space = "{http://www.w3.org/2000/svg}"
    titles = {one.text.split("\n")[0] for one in root.iter(space + "title")}
    for function, _ in odd_names(recording):
        plain = function.isprintable() and len(function) < 100
        if plain and "\\" not in function:
            expect(function.strip() in {one.strip() for one in titles},
                   "no %r in it", function)


def jsonl_jq(recording):
    out, _ = call([tool("jq"), "-n", "-c",
                   "reduce (inputs | select(.type == \"slice\")) as $s "
                   "([0, 0, 0]; [.[0] + $s.wall_ns, .[1] + $s.cpu_ns, "
                   ".[2] + $s.samples])", recording.view("jsonl")])
    truth = recording.truth
    expect(json.loads(out) == [truth.wall, truth.cpu, truth.samples],
           "jq adds up %s", out)


def jsonl_whole(recording):
    """What it says of itself, and what the run's --stats said."""
    truth = recording.truth
    for key, right in (("wall_ns", truth.wall), ("cpu_ns", truth.cpu),
                       ("samples", truth.samples), ("gil_ns", truth.gil)):
        same("its own " + key, truth.stated[key], right)
    stats = recording.run.stats if recording.run else None
    if stats:
        same("--stats, wall", stats["wall_ns"], truth.wall)
        same("--stats, CPU", stats["cpu_ns"], truth.cpu)
        same("--stats, samples", stats["samples"]["taken"], truth.samples)
        same("--stats, seen", stats["processes"]["seen"], truth.known)
    names = {one[:2] for one in truth.lines}
    for place in odd_names(recording):
        expect(place in names, "no %r in %r", *place)


def flamechart_lines(recording):
    """A moment, then a stack: no other program reads it any more."""
    lines = recording.read("flamechart").split("\n")
    expect(lines.pop() == "" and len(lines) % 2 == 0, "an odd end")
    moments = lines[::2]
    expect(all(re.match(r"\d+$", one) for one in moments), "no moment")
    for stack in lines[1::2]:
        expect(stack, "an empty line")
    raise Missing("no consumer is to be had (Pyflame's is in no registry); "
                  "read by ourselves: %d stacks" % len(moments))


def table_whole(recording):
    text = recording.read("table")
    found = re.search(r"hottest functions by wall time \(([\d.]+) s\)", text)
    expect(found, "no total: %s", text[:300])
    same("seconds", float(found.group(1)), recording.truth.wall / 1e9, .0051)
    expect("\x1b" not in text and "\x01" not in text, "control characters")
    for own, total in re.findall(r"^ +([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+ +\S",
                                 text.partition("\nprocesses (")[0],
                                 re.MULTILINE):
        expect(float(own) <= float(total) <= 100, "%s and %s %% of all", own,
               total)
