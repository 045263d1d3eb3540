# SPDX-License-Identifier: Apache-2.0
"""What the tests of hard places share: all interpreters that are here, programs
of C that are built for a test, and dumps of what runs.

Environment: CC; FORKFLAME_FARM, a directory of more interpreters, each in a
directory of its own (tests/farm makes one).
"""
import functools
import glob
import json
import os
import shutil
import subprocess
import tempfile

import fflive
from fflive import expect

FARM = os.environ.get("FORKFLAME_FARM",
                      os.path.expanduser("~/.cache/forkflame-farm"))


@functools.lru_cache()
def every_python():
    """Paths of all interpreters that are here, 2.7 and 3.6 to 3.15; and versions."""
    named = os.environ.get("FORKFLAME_PYTHONS")
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = named.split() if named else (
        sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python"))) +
        ["/usr/bin/python3"] + free_threaded())
    found = {}
    for path in paths:
        version = os.path.exists(path) and fflive.version_of(path)
        if version and (version >= (3, 6) or version[:2] == (2, 7)):
            found[path] = version
    return found


def free_threaded():
    return sorted(glob.glob(os.path.join(FARM, "*", "bin", "python3.??t")))


def one_of_each_kind():
    """Of those that are much alike one, and all in a long run."""
    kinds = {}
    for path, version in every_python().items():
        alike = (3, 8) if version[:2] in ((3, 8), (3, 9)) else version[:2]
        kinds.setdefault((alike, path in free_threaded()), path)
    return list(every_python()) if fflive.LONG else list(kinds.values())


def each(test, wanted=lambda version: True):
    """Outcomes of a test of each kind of interpreter that is here and wanted."""
    return [fflive.attempt(test, path) for path in one_of_each_kind()
            if wanted(every_python()[path])]


def finish(outcomes):
    expect(outcomes, "nothing was tried")
    if "FAIL" in outcomes:
        raise SystemExit(1)
    raise SystemExit(77 if "SKIP" in outcomes else 0)


class Root:
    """The farm's root directory of another system, with the programs of the tests in
    it. `with Root() as root` gives None where there is none, or we are not root."""

    def __enter__(self):
        self.dir = os.path.join(FARM, "sid")
        self.programs = None
        if os.geteuid() or not os.path.isdir(self.dir + "/tmp"):
            return None
        self.programs = tempfile.mkdtemp(prefix="fflive-", dir=self.dir + "/tmp")
        for path in glob.glob(fflive.PROGRAMS + "/*.py"):
            shutil.copy(path, self.programs)
        os.chmod(self.programs, 0o755)
        return self

    def __exit__(self, *what):
        if self.programs:
            shutil.rmtree(self.programs)

    def has(self, path):
        return os.path.exists(self.dir + path)

    def command(self, python, program, *args):
        inside = self.programs[len(self.dir):]
        return ["chroot", self.dir, python, inside + "/" + program] + \
            [str(arg) for arg in args]


def build(target, *args):
    """Compile a program of the tests. Returns the path of what came out."""
    compiler = os.environ.get("CC", "cc").split()
    done = subprocess.run(compiler + ["-O1", "-w", "-o", target] +
                          [str(arg) for arg in args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    expect(done.returncode == 0, "cc: %s", done.stdout[-800:])
    return target


class Folder:
    """A directory for the time of a test."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="fflive-")
        return self.dir.name

    def __exit__(self, *what):
        self.dir.cleanup()


def prefix_of(python):
    code = "import sys; print(sys.prefix)"
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def config_of(python, *names):
    code = ("import sys, sysconfig as s; print('\\n'.join("
            "str(s.get_config_var(n) or '') for n in sys.argv[1:]))")
    done = subprocess.run([python, "-c", code] + list(names), check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.split("\n")[:len(names)]


def dump(*pids):
    """The processes of a dump, by pid."""
    argv = [fflive.FORKFLAME, "dump", "--json"]
    for pid in pids:
        argv += ["-p", str(pid)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    expect(done.returncode == 0, "dump: status %d, %s", done.returncode,
           done.stderr.decode())
    return {one["pid"]: one for one in json.loads(done.stdout)["processes"]}


def functions(thread):
    """Of a thread of a dump, innermost first."""
    return [fflive.short_name(frame["function"]) for frame in thread["frames"]]


def check_time(run, name, where=None):
    """The time in a function is what the program noted: on a full machine that is
    more than it was told to take."""
    right = sum(span["end"] - span["begin"] for span in run.spans(name))
    fflive.near("time in " + name, run.weigh(None, name, where), right,
                .06 * right + .06 + by_run_counts(run, right))


def by_run_counts(run, right):
    """Without switch records, who sleeps is looked at again after a fifth of the time
    that he has slept so far: his waking is known to half of that."""
    return .1 * right if run.stats["oncpu"] == "runcounts" else 0


def check_share(what, seen, right, whole):
    """3 sigma of a share of as many samples as that time has, and 1 %."""
    n = max(1., whole * fflive.RATE)
    share = right / whole
    slack = 3 * (share * (1 - share) / n) ** .5 + .01
    expect(abs(seen / whole - share) <= slack,
           "%s: expected a share of %.3f +- %.3f, saw %.3f", what, share, slack,
           seen / whole)
