#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each version of CPython that is here, from 2.7 on: names, lines, the version.

programs/versions.py is of both languages. A forked child in it has the thread
that sleeps in its interpreter's list (2.7, 3.6), but not in its life.
"""
import glob
import os

import fflive
from fflive import expect, lasts, near

PROGRAM = "versions.py"
SECONDS = .9


def here():
    """(path, version) of all that are here; fflive's are of 3.8 and newer."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python")))
    paths.append("/usr/bin/python3")
    named = os.environ.get("FORKFLAME_PYTHONS")
    if named:
        paths = named.split()
    found = {}
    for path in paths:
        version = os.path.exists(path) and fflive.version_of(path)
        if version and (version >= (3, 6) or version[:2] == (2, 7)):
            found[path] = version
    return found


def check_told(run, version):
    told = {image["python"] for one in run.stats["members"]
            for image in one["images"]}
    # Up to 3.10 no interpreter tells its patch release.
    right = "%d.%d.%d" % version if version >= (3, 11) else "%d.%d" % version[:2]
    expect(told in ({right}, {right + "t"}), "version: expected %s, saw %s", right,
           told)


def right_lines(version):
    at = {name: fflive.line_of(PROGRAM, name)
          for name in ("busy begins", "busy ends", "first", "rest", "child")}
    # Of a call over several lines the first one, from 3.8; before, the last that
    # has an argument.
    second = fflive.line_of(PROGRAM, "second ends") - (version >= (3, 8))
    return {"busy": range(at["busy begins"] - 1, at["busy ends"] + 1),
            "first": [at["first"]], "second": [second], "rest": [at["rest"]],
            "child": [at["child"]]}


def check_stack(stack, lines):
    own = [frame for frame in stack.frames if frame.file.endswith(PROGRAM)]
    names = [fflive.short_name(frame.function) for frame in own]
    for name, frame in zip(names, own):
        if name in ("<module>", "main"):
            continue
        fflive.must(name in lines, "no function of the program: %s", stack)
        # One that has just been called may be before its first line.
        begins = frame is own[-1] and frame.line == lines[name][0] - 1
        fflive.must(frame.line in lines[name] or begins, "wrong line: %s", stack)
    if "busy" in names:
        fflive.must(names[:2] == ["<module>", "main"] and
                    names[2:] in (["first", "busy"], ["second", "busy"]),
                    "impossible stack: %s", stack)


def check_times(run):
    half = SECONDS / 2
    pids = run.pids()
    expect(len(pids) == 2, "sampled: %s", pids)
    root = [pid for pid in pids if run.weigh(pid, "busy")][0]
    other = [pid for pid in pids if pid != root][0]
    for caller in ("first", "second"):
        lasts("time in busy under " + caller,
             run.weigh(root, "busy", lambda stack: caller in fflive.names(stack)),
             half, fflive.slack(half))
    lasts("time in rest", run.weigh(root, "rest"), SECONDS, fflive.slack(SECONDS))
    lasts("time of the child", run.weigh(other, "child"), half, fflive.slack(half))
    # It may be seen before the interpreter knows that it was forked.
    near("time of the parent's thread in the child", run.weigh(other, "rest"), 0,
         .001)


def is_known_by_names_and_lines(python):
    version = here()[python]
    run = fflive.run([], [python, fflive.program(PROGRAM), SECONDS])
    fflive.check_run(run)
    check_told(run, version)
    lines = right_lines(version)
    for stack in run.stacks:
        check_stack(stack, lines)
    check_times(run)


def main():
    outcomes = [fflive.attempt(is_known_by_names_and_lines, python)
                for python in here()]
    expect(outcomes, "no Python is here")
    if "FAIL" in outcomes:
        raise SystemExit(1)
    raise SystemExit(77 if "SKIP" in outcomes else 0)


if __name__ == "__main__":
    main()
