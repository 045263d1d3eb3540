#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All live tests, with something that the kernel refuses to forkflame.

	check_refused.py [--refuse NAME[,NAME...]] TEST.py...

One after another: the connector, perf, ptrace and readv (see programs/refuse.py for
what they are), by a seccomp filter that forkflame and what it starts inherit. Without
the connector or perf, something else takes its place, and the tests must pass.
Without ptrace those who run cannot be read, and without process_vm_readv nobody:
there it has to hold that nothing crashes or hangs, nobody is left stopped, targets end
as they would, and all processes and attempts are accounted for (fflive.check_sound).
At the end comes a table: what is refused, test, result, of how many parts.

Environment: as for the live tests.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("connector", "perf", "ptrace", "readv")

# Nothing of these is about what may be refused; or they refuse things themselves.
LEFT_OUT = ("live_page.py", "live_refused.py")
WRAPPER = """#!/bin/sh
LD_LIBRARY_PATH='%s'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec '%s' -E '%s' %s '%s' "$@"
"""


def copies(directory):
    """The program, its library and the filter where everybody may read them, as
    some tests run it as another user."""
    real = os.environ["FORKFLAME"]
    here = os.path.dirname(real)
    for libs in (os.path.join(here, ".libs"),
                 os.path.join(os.path.dirname(here), ".libs")):
        for path in glob.glob(os.path.join(libs, "*.so.*")):
            shutil.copy(path, directory)
    shutil.copy(real, os.path.join(directory, "forkflame"))
    shutil.copy(os.path.join(HERE, "programs", "refuse.py"), directory)
    os.chmod(directory, 0o755)


def wrap(directory, name):
    """A program in place of forkflame, which is it under the filter."""
    path = os.path.join(directory, "forkflame-without-" + name)
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        python = sys.executable
    with open(path, "w") as file:
        file.write(WRAPPER % (directory, python,
                              os.path.join(directory, "refuse.py"), name,
                              os.path.join(directory, "forkflame")))
    os.chmod(path, 0o755)
    return path


def run(test, name, forkflame):
    """The lines of a test, and its exit status."""
    env = dict(os.environ, FORKFLAME=forkflame, FORKFLAME_REFUSED=name)
    done = subprocess.run(["timeout", "-k", "10", "600", sys.executable, test],
                          env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.stdout, done.returncode


def attempt(test, name, forkflame):
    begin = time.monotonic()
    text, status = run(test, name, forkflame)
    parts = [line.split(":")[0] for line in text.splitlines()]
    counts = ["%d %s" % (parts.count(word), word)
              for word in ("ok", "maimed", "SKIP", "FAIL") if word in parts]
    bad = status not in (0, 77) or "FAIL" in parts
    if bad:
        print(text)
    row = (name, os.path.basename(test), "FAILED" if bad else "ok",
           ", ".join(counts), "%.0f s" % (time.monotonic() - begin))
    print("%-10s %-22s %-7s %-28s %s" % row, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--refuse", default=",".join(NAMES))
    parser.add_argument("tests", nargs="+")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        copies(directory)
        for name in args.refuse.split(","):
            forkflame = wrap(directory, name)
            rows += [attempt(test, name, forkflame) for test in args.tests
                     if os.path.basename(test) not in LEFT_OUT]
    print()
    for row in rows:
        print("%-10s %-22s %-7s %-28s %s" % row)
    failed = sum(row[2] == "FAILED" for row in rows)
    print("%d passed, %d failed" % (len(rows) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
