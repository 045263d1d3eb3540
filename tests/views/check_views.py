#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open every view of real recordings in the program that it is for.

	check_views.py [--quick] [--seconds N] [--processes N] [--keep FOLDER]
	               [--only PART]...

FORKFLAME       the program
MAKE_RECORDING  make_recording of this folder; without it, what is too long to
                be recorded is not tested
FORKFLAME_VIEWS where install.sh has put the consumers

--quick records 6 seconds and 200 processes instead of 60 and 1000. --keep keeps
recordings, views and pictures. PART is one of the recordings, scale, cut.

A consumer that is not here is "not tested", by name. The status is 1 when
anything failed.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

import viewlib
from viewlib import Missing, Recording, Table, measure
import fflive
from ffparse import expect, parse_collapsed
import browsers
import tools

SCALE = 10000000
SCALE_SECONDS, SCALE_KB = 3, 200 * 1024
SCALE_TRIES = 2
OPEN_SECONDS = 2
# No two of so many samples find one stack; what an open page may take of it.
STACKS, STACKS_SECONDS, STACK_KB = 100000, 1, 1
# Ten minutes of equal workers, 100 samples a second of each.
WORKERS, WORKERS_SAMPLES = 50, 50 * 600 * 100
GROWTH_KB = 2048


def record(name, folder, *command):
    """Run a program under forkflame, with the checks of every live test."""
    run = fflive.run(["-f", "ff"],
                     [fflive.newest(), os.path.join(viewlib.PROGRAMS,
                                                    command[0])] +
                     list(command[1:]), output="run.ff", timeout=300)
    fflive.check_run(run)
    kept = os.path.join(folder, name + ".ff")
    os.replace(run.path("run.ff"), kept)
    return Recording(name, kept, folder, run)


def make(name, folder, kind, number):
    program = os.environ.get("MAKE_RECORDING")
    if not program:
        raise Missing("no make_recording (set MAKE_RECORDING)")
    path = os.path.join(folder, name + ".ff")
    out, _ = viewlib.call([program, kind, str(number), path])
    half_kb, most_kb = map(int, out.split())
    return path, half_kb, most_kb


def in_tools(table, one):
    """Every format in what reads it without a window."""
    def run(form, consumer, test, *args):
        table.run(form, consumer, one.name, test, one, *args)

    run("jsonl", "read by ourselves", tools.jsonl_whole)
    run("jsonl", "jq", tools.jsonl_jq)
    run("collapsed", "read by ourselves", tools.collapsed_whole)
    run("collapsed", "flamegraph.pl", tools.flamegraph_pl)
    run("svg", "xmllint", tools.svg_xml)
    run("svg", "Python's XML parser", tools.svg_whole)
    run("speedscope", "its schema, by ajv", tools.speedscope_schema)
    run("speedscope", "read by ourselves", tools.speedscope_whole)
    run("pprof", "go tool pprof -top", tools.pprof_totals)
    run("pprof", "go tool pprof -tags", tools.pprof_tags)
    run("pprof", "go tool pprof -diff", tools.pprof_diff)
    run("pprof", "go tool pprof -raw", tools.pprof_names)
    run("firefox", "profiler-cli", tools.firefox_cli)
    run("firefox", "read by ourselves", tools.firefox_whole)
    run("chrome", "nesting, by ourselves", tools.chrome_nesting)
    run("chrome", "profiler-cli", tools.chrome_in_firefox)
    run("chrome", "Perfetto", not_here, "in no registry")
    run("callgrind", "callgrind_annotate", tools.callgrind)
    run("callgrind", "kcachegrind", not_here, "wants a screen")
    for version, path in tools.stats_pythons():
        run("pstats", "Python %d.%d" % version[:2], tools.pstats_in, path)
    run("flamechart", "flame-chart-json", tools.flamechart_lines)
    run("table", "read by ourselves", tools.table_whole)


def in_browsers(table, one, window):
    def run(form, consumer, test, *args):
        table.run(form, consumer, one.name, test, window, one, *args)

    run("speedscope", "speedscope", browsers.speedscope)
    for form in ("collapsed", "pprof", "callgrind", "chrome"):
        run(form, "speedscope", browsers.other_in_speedscope, form)
    run("svg", "Chromium", browsers.svg)
    run("html", "Chromium", browsers.page)


def not_here(_, why):
    raise Missing(why)


# What is known of single programs

def named(truth, function):
    return sum(wall for (name, _), wall in truth.total.items()
               if fflive.short_name(name) == function)


def names_are_whole(recording, seconds):
    import names
    truth = recording.truth
    for place in names.ODD:
        fflive.near("%.40r" % (place,), truth.total[place] / 1e9, seconds,
                    fflive.slack(seconds, share=.1))
    line = {line for function, _, line in truth.lines if function == "far"}
    expect(line == {names.FAR}, "`far` is at %s", line)


def recursion_counts_once(recording, seconds):
    truth = recording.truth
    for function in ("deep", "even", "odd"):
        fflive.near(function, named(truth, function) / 1e9, seconds,
                    fflive.slack(seconds))
    stacks = parse_collapsed(recording.read("collapsed", "-F", name="lines"))
    own = sum(one.weight for one in stacks if one.frames and
              fflive.short_name(one.frames[-1].function) == "burn")
    fflive.near("own time of burn", own / 1e6, 2 * seconds,
                fflive.slack(2 * seconds))
    return pprof_cumulative(recording, seconds)


def pprof_cumulative(recording, seconds):
    out = tools.Pprof(recording).ask("-top", "-unit=ns", "-nodecount=99",
                                     "-edgefraction=0", "-nodefraction=0")
    for function in ("deep", "even", "odd"):
        row = next(line.split() for line in out.splitlines()
                   if line.endswith(" " + function))
        fflive.near("pprof's %s" % function,
                    int(row[3].replace("ns", "")) / 1e9, seconds,
                    fflive.slack(seconds))


def tree_adds_up(recording, seconds):
    truth = recording.truth
    for form in ("process", "thread", "role", "all"):
        stacks = parse_collapsed(recording.read("collapsed", "--by", form,
                                                name=form))
        fflive.near("--by " + form, sum(one.weight for one in stacks) / 1e6,
                    truth.wall / 1e9, 1e-4)
    children = [one for one, wall in truth.processes.items()
                if sum(1 for process, _ in truth.threads if process == one) == 3]
    expect(len(children) == 2, "%d processes of three threads", len(children))
    for function in ("half_a", "half_b"):
        fflive.near(function, named(truth, function) / 1e9, 2 * seconds,
                    fflive.slack(2 * seconds))
    cpu = parse_collapsed(recording.read("collapsed", "--mode", "cpu",
                                         name="cpu"))
    idle = sum(one.weight for one in cpu if "half_b" in fflive.names(one))
    expect(idle < 5e4, "half_b sleeps, and has %d us of CPU", idle)


# Scale, and damage

def scale(folder, form):
    path = os.path.join(folder, "samples.ff")
    if not os.path.exists(path):
        make("samples", folder, "samples", SCALE)
    # Others who are at work here cost it time.
    tries = []
    while len(tries) < SCALE_TRIES:
        # Those that have events for each sample are gigabytes of text.
        cost = measure([fflive.FORKFLAME, "report", "-q", path, "-f", form,
                        "-o", "/dev/null"])
        tries.append("%.2f" % cost.cpu_seconds)
        if cost.cpu_seconds < SCALE_SECONDS:
            break
    said = "%s s of CPU, %.0f MB" % (", ".join(tries), cost.peak_kb / 1024)
    expect(cost.cpu_seconds < SCALE_SECONDS and cost.peak_kb < SCALE_KB,
           "%s: more than %g s or %d MB", said, SCALE_SECONDS,
           SCALE_KB // 1024)
    return said


def report_of(data, folder):
    """Status, stacks and messages of a report of these bytes."""
    path = os.path.join(folder, "damaged.ff")
    with open(path, "wb") as file:
        file.write(data)
    done = subprocess.run([fflive.FORKFLAME, "report", path, "-f",
                           "collapsed"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60)
    expect(done.returncode in (0, 1), "status %d: %s", done.returncode,
           done.stderr[-300:])
    return done


def damage(recording, folder):
    """Cut anywhere, or with a bit that fell over: what is read is a beginning."""
    dice = random.Random(4)
    with open(recording.path, "rb") as file:
        whole = file.read()
    right = sum(one.weight for one in
                parse_collapsed(recording.read("collapsed")))
    cuts = sorted(dice.sample(range(len(whole)), 200))
    before, read = 0, 0
    for cut in cuts:
        done = report_of(whole[:cut], folder)
        weight = sum(one.weight for one in parse_collapsed(
            done.stdout.decode("utf-8", "surrogateescape")))
        # Rounding to microseconds may take one from each of some processes.
        expect(weight + 50 >= before and weight <= right + 50,
               "cut at %d: %d us; before it %d, in all %d", cut, weight, before,
               right)
        expect(done.stderr, "cut at %d: nothing is said", cut)
        before, read = weight, read + (weight > 0)
    for _ in range(50):
        place = dice.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << dice.randrange(8)
        done = report_of(bytes(flipped), folder)
        expect(done.stderr, "flipped at %d: nothing is said", place)
    return "200 cuts, of which %d had stacks; 50 flips" % read


# All of it

def recordings(table, options, folder):
    """Those that are made by running a program, one after the other."""
    seconds = 6 if options.quick else options.seconds
    count = min(options.processes, 200) if options.quick else options.processes
    short = .3 if options.quick else 1
    for name, command, check in (
            ("names", ("names.py", short), names_are_whole),
            ("recursion", ("recursion.py", short), recursion_counts_once),
            ("tree", ("tree.py", 2 * short), tree_adds_up),
            ("pool", ("pool.py", 8, seconds), None),
            ("thousand", ("thousand.py", count, 20 if count > 500 else 4),
             None)):
        if options.only and name not in options.only:
            continue
        made = []
        table.run("record", command[0], name,
                  lambda: made.append(record(name, folder, *command)))
        if made and check:
            table.run("all", "right values", name, check, made[0], command[1])
        yield from made


def check_hours(table, window, folder):
    """A thousand processes and ten minutes. In what makes a picture of it: the
    views of others are long there, and their tools slow."""
    made = []

    def begin():
        path, _, _ = make("members", folder, "members", 1000)
        made.append(Recording("members", path, folder))

    table.run("record", "make_recording", "members", begin)
    for one in made:
        def run(form, consumer, test, *args):
            table.run(form, consumer, one.name, test, *args)

        run("html", "Chromium", browsers.page, window, one, OPEN_SECONDS)
        run("html", "scroll and zoom", browsers.page_moves, window, one)
        run("speedscope", "speedscope", browsers.speedscope, window, one)
        run("firefox", "profiler-cli", tools.firefox_cli, one)
        run("jsonl", "jq", tools.jsonl_jq, one)
        run("table", "read by ourselves", tools.table_whole, one)


def check_stacks(table, window, folder):
    """A hundred thousand stacks: what each costs to record, and the page."""
    made = []

    def begin():
        path, half_kb, most_kb = make("stacks", folder, "stacks", STACKS)
        each = (most_kb - half_kb) / (STACKS / 2)
        expect(each < STACK_KB, "%.2f kB of memory a stack", each)
        made.append(Recording("stacks", path, folder))
        expect(len(made[0].truth.stacks) == STACKS, "%d stacks",
               len(made[0].truth.stacks))
        return "%.2f kB of memory a stack, %.1f bytes of the recording" % (
            each, os.path.getsize(path) / STACKS)

    table.run("record", "make_recording", "stacks", begin)
    for one in made:
        table.run("html", "Chromium", one.name, browsers.page, window, one,
                  STACKS_SECONDS)
        table.run("html", "scroll and zoom", one.name, browsers.page_moves,
                  window, one)


def workers_recorded(folder):
    path, half_kb, most_kb = make("workers", folder, "workers", WORKERS)
    expect(most_kb - half_kb < GROWTH_KB, "%d kB after 5 minutes, %d kB after "
           "10", half_kb, most_kb)
    each = os.path.getsize(path) / WORKERS_SAMPLES
    expect(each < 4, "%.1f bytes a sample", each)
    return "%.1f bytes a sample, %d kB of memory" % (each, most_kb)


def workers_small(folder, form, most):
    path = os.path.join(folder, "workers.ff")
    view = os.path.join(folder, "workers." + viewlib.ENDINGS[form])
    cost = measure([fflive.FORKFLAME, "report", "-q", path, "-f", form, "-o",
                    view])
    size = os.path.getsize(view)
    said = "%.2f MB, made with %d MB" % (size / 1e6, cost.peak_kb / 1024)
    expect(size < most, "%s", said)
    if form == "collapsed":
        with open(view, encoding="utf-8") as file:
            whole = sum(one.weight for one in parse_collapsed(file.read()))
        expect(whole == WORKERS * 600 * 10 ** 6, "%d us", whole)
    return said


def check_workers(table, folder):
    """Neither memory nor views grow with the time that equal workers run."""
    table.run("record", "make_recording", "workers", workers_recorded, folder)
    # What has a place in time for each sample is left out.
    for form, most in (("collapsed", 1e6), ("svg", 4e6), ("pprof", 1e6),
                       ("callgrind", 1e6), ("pstats", 1e6), ("table", 1e5),
                       ("html", 8e6)):
        table.run(form, "small", "workers", workers_small, folder, form, most)


def check_all(table, options, folder):
    window = browsers.Window(folder)

    def wanted(part):
        return not options.only or part in options.only
    try:
        for one in recordings(table, options, folder):
            in_tools(table, one)
            in_browsers(table, one, window)
            if one.name == "pool" and wanted("cut"):
                table.run("ff", "cut and flipped", one.name, damage, one,
                          folder)
        if wanted("members"):
            check_hours(table, window, folder)
        if wanted("stacks"):
            check_stacks(table, window, folder)
        if wanted("workers"):
            check_workers(table, folder)
        if wanted("scale"):
            for form in viewlib.ENDINGS:
                table.run(form, "10^7 samples", "scale", scale, folder, form)
    finally:
        window.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--keep")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    expect(os.access(fflive.FORKFLAME, os.X_OK), "no program at %s (set "
           "FORKFLAME)", fflive.FORKFLAME)
    viewlib.limit_processes()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="forkflame-views-") as folder:
        if options.keep:
            folder = os.path.abspath(options.keep)
            os.makedirs(folder, exist_ok=True)
        check_all(table, options, folder)
    table.show()
    print("%d ok, %d failed, %d not tested" % tuple(
        table.count(one) for one in ("ok", "FAILED", "not tested")))
    return 1 if table.count("FAILED") else 0


if __name__ == "__main__":
    sys.exit(main())
