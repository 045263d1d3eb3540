#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure forkflame against its peers, side by side.

	tests/bench/bench.py [--quick] [--cases A,B] [--profilers A,B] [--json FILE]

Every round of a case runs every profiler once on every variant, in turn, so that
what the machine does meanwhile meets them all. Prints medians and standard errors,
and how many times forkflame's each peer's figure is. Absolute times are those of this
machine at this time; ratios and counts are what is to be compared.

Environment: FORKFLAME, the program under test; FORKFLAME_BENCH, where the peers are
(see install.py). Exit status 0: measured, whatever came out; 1: some run of forkflame
itself gave no figures; 2: the command line.
"""
import argparse
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import cases
import cases_truth
import install
import table
from harness import Late, NotTested, Trouble, spawn
from profilers import profilers

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = [cases.Slowdown, cases.Workers, cases.Cost, cases_truth.Kids, cases.Pool, cases_truth.Stacks,
         cases_truth.Births, cases_truth.Attach, cases_truth.Interrupted,
         cases_truth.Signals]


def find_python():
    """A Python that all peers know."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for minor in (12, 13, 11):
        name = "python3.%d" % minor
        found = sorted(glob.glob("%s/versions/3.%d.*/bin/%s" % (root, minor, name)))
        found += ["/usr/bin/" + name]
        for path in found:
            if os.path.exists(path):
                return path
    return os.path.realpath(sys.executable)


class Bench:
    """What the cases need of the run."""

    def __init__(self, options):
        self.quick, self.long = options.quick, options.seconds
        self.settle = .8 if options.quick else 2
        self.scratch = os.path.join(install.cache(), "scratch")
        # Behind a chroot, too: so they are one folder, always the same.
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.targets = os.path.join(self.scratch, "targets")
        shutil.copytree(os.path.join(HERE, "targets"), self.targets)
        self.python = [options.python]
        self.runs = 0
        self.native = self.compile()
        forkflame = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
        if not os.access(forkflame, os.X_OK):
            sys.exit("bench: no program at %s (set FORKFLAME)" % forkflame)
        had, self.missing = install.bring()
        self.versions = {name: version for name, (_, version) in had.items()}
        self.rooted = self.enter(had["sampling"][0]) if "sampling" in had else None
        self.asked = options.profilers
        self.profilers = profilers(forkflame, had, self.rooted,
                                   self.quick and not self.asked)
        if self.asked:
            self.profilers = [one for one in self.profilers
                              if one.name in ["forkflame"] + options.profilers]

    def enter(self, root):
        """Python 3.15 in its root: a command, or None."""
        holder = spawn(install.hold(root, [self.scratch]), stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE)
        if holder.stdout.readline() != b"ready\n":
            self.missing["sampling"] = "its root could not be entered"
            return None
        return install.enter(root, holder.pid) + ["python3.15"]

    def compile(self):
        library = os.path.join(self.scratch, "native.so")
        words = os.environ.get("CC", "cc").split() + [
            "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-pthread", "-o", library,
            os.path.join(self.targets, "native.c")]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return library if done.returncode == 0 else None

    def out(self):
        """A name for the next profile."""
        self.runs += 1
        return os.path.join(self.scratch, "profile-%d" % self.runs)

    def clear(self):
        for path in glob.glob(os.path.join(self.scratch, "profile-*")):
            os.unlink(path)


def one_run(case, variant, profiler, row):
    """Returns the figures, or None."""
    usual = case.bench.settle
    for again in (False, True):
        # Once more: on a busy machine, it may only have come too late.
        case.bench.settle = 3 * usual if again else usual
        try:
            figures = case.measure(variant, profiler)
            row.runs.append(figures)
            return figures
        except NotTested as why:
            row.not_tested.append(str(why))
            return None
        except Trouble as trouble:
            if not again and not isinstance(trouble, Late):
                continue
            row.troubles.append(str(trouble))
            print("# %s %s %s: %s" % (case.name, variant, profiler.name if profiler
                                      else "none", trouble), file=sys.stderr, flush=True)
            return None
        finally:
            case.bench.settle = usual
            case.bench.clear()


def taking_part(case, variant, bench):
    found = [None] if case.none else []
    for one in case.profilers(variant):
        if one.name == "forkflame-3.15" and bench.quick and not case.both:
            continue
        found.append(one)
    return found


def run_case(case, bench, options, record):
    """Returns variant -> name -> Row. @record takes each single run."""
    found = {}
    for number in range(options.rounds or case.rounds[0 if bench.quick else 1]):
        try:
            for variant in case.variants(bench.quick):
                if options.variants and table.name_of(variant) not in options.variants:
                    continue
                rows = found.setdefault(variant, {})
                part = taking_part(case, variant, bench)
                for one in part:
                    rows.setdefault(one.name if one else "none", table.Row())
                turn = number % len(part)
                for profiler in part[turn:] + part[:turn]:
                    name = profiler.name if profiler else "none"
                    if time.monotonic() > options.until:
                        rows[name].not_tested.append("no time was left")
                        continue
                    at = time.time()
                    figures = one_run(case, variant, profiler, rows[name])
                    record({"case": case.name, "variant": variant, "profiler": name,
                            "round": number, "at": at, "figures": figures})
        finally:
            case.close()
    return found


def machine():
    return {"kernel": " ".join(os.uname()[i] for i in (0, 2, 4)),
            "cpus": os.cpu_count(), "load": os.getloadavg(),
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Cases: %s." % ", ".join(case.name for case in CASES))
    parser.add_argument("--quick", action="store_true", help="some 5 minutes")
    parser.add_argument("--cases", metavar="A,B", help="only these")
    parser.add_argument("--variants", metavar="A,B",
                        help="only these, as the table has them (20 1000 busy)")
    parser.add_argument("--profilers", metavar="A,B", help="forkflame and these")
    parser.add_argument("--rounds", type=int, metavar="N")
    parser.add_argument("--seconds", type=float, metavar="S",
                        help="of each run of stacks")
    parser.add_argument("--python", default=find_python(), help="for the targets")
    parser.add_argument("--json", metavar="FILE", help="all of it; else bench.json")
    parser.add_argument("--limit", type=float, metavar="MINUTES",
                        help="what is not done by then is not tested")
    options = parser.parse_args()
    names = options.cases.split(",") if options.cases else [one.name for one in CASES]
    for name in set(names) - {one.name for one in CASES}:
        parser.error("no case is called " + name)
    options.cases = [one for one in CASES if one.name in names]
    options.variants = options.variants.split(",") if options.variants else []
    options.profilers = options.profilers.split(",") if options.profilers else []
    limit = options.limit or (15 if options.quick else 180)
    options.until = time.monotonic() + 60 * limit
    return options


def show_end(bench, results, not_tested):
    print("\nWanted\n======")
    for text, good in table.goals(results):
        print("%s  %s" % ("ok    " if good else "not so", text))
    found = table.behind(results)
    print("\nAhead of forkflame: %s" % ("nobody, nowhere" if not found else ""))
    for text in found:
        print("  " + text)
    for name, why in not_tested.items():
        print("not tested: %s: %s" % (name, why))


def main():
    options = parse()
    # So that what is at work is ended, at exit.
    signal.signal(signal.SIGTERM, lambda *ignored: sys.exit(143))
    os.makedirs(install.cache(), exist_ok=True)
    turn = open(os.path.join(install.cache(), "turn"), "w")
    try:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("bench: another one is running; two would measure each other")
    bench = Bench(options)
    told = {"machine": machine(), "quick": options.quick, "python": options.python,
            "versions": bench.versions, "not_tested": bench.missing, "runs": []}
    results = []
    try:
        for kind in options.cases:
            case = kind(bench)
            begin = time.monotonic()
            found = run_case(case, bench, options, told["runs"].append)
            table.show_case(case, found)
            print("[%.0f s]" % (time.monotonic() - begin), flush=True)
            results += table.as_json(case, found)
            told.update(results=results, goals=table.goals(results))
            with open(options.json or "bench.json", "w") as out:
                json.dump(told, out, indent=1)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    show_end(bench, results, bench.missing)
    sys.exit(1 if any(one["troubles"] for one in results
                      if one["profiler"] == "forkflame") else 0)


if __name__ == "__main__":
    main()
