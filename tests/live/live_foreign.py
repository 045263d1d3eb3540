#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interpreters that are not known here, beside one that is: counted, named once, and
nothing else of the run suffers."""
import os
import struct
import subprocess

import ffplaces
import fflive
from fflive import expect, near

SECONDS = 1


def tree_with(python, commands):
    """A CPython that works while each of the commands runs as its sibling."""
    work = "'%s' '%s' %g" % (python, fflive.program("placed.py"), SECONDS)
    script = "".join(command + " & " for command in commands)
    run = fflive.run([], ["sh", "-c", script + work + "; wait"], timeout=60)
    expect(run.status == 0, "status %s: %s", run.status, run.stderr)
    fflive.check_run(run)
    span = run.spans("placed")[0]
    near("time in placed", run.weigh(None, "placed"), span["end"] - span["begin"],
         .15)
    return run


def check_named(run, kind, n):
    """@n of that kind were counted, and one line tells of them."""
    unknown = [one for one in run.stats["members"]
               if one["verdict"] == "unknown_python"]
    told = [image["python"] for one in unknown for image in one["images"]
            if image["python"]]
    expect(len(unknown) == n and set(told) == {kind}, "expected %d of %s, saw %s", n,
           kind, told)
    lines = [line for line in run.stderr.splitlines() if "not known here" in line]
    expect(len(lines) == 1 and kind in lines[0], "lines: %s", lines)
    pids = {one["pid"] for one in unknown}
    expect(not [stack for stack in run.stacks if stack.pid in pids],
           "one that is not known has stacks")


def version_to_come_is_named():
    with ffplaces.Folder() as folder:
        program = ffplaces.build(folder + "/python3.16", "-rdynamic",
                                 fflive.program("strange_kin.c"))
        run = tree_with(fflive.newest(), [program, program, program])
    check_named(run, "3.16.0", 3)


def program_of_32_bits_is_named():
    """As small as can be: pause() in a loop, by the way of the 80386."""
    code = bytes([0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7])
    base = 0x8048000
    header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\1\1\1", 2, 3, 1, base + 84,
                         52, 0, 0, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 0, base, base, 84 + len(code), 84 + len(code),
                          5, 4096)
    with ffplaces.Folder() as folder:
        path = folder + "/python3.9"
        with open(path, "wb") as file:
            file.write(header + segment + code)
        os.chmod(path, 0o755)
        probe = subprocess.run(["timeout", "0.2", path], stderr=subprocess.PIPE)
        if probe.returncode not in (124,):
            raise fflive.Skip("no programs of 32 bits")
        run = tree_with(fflive.newest(), ["timeout 1.5 " + path])
    check_named(run, "32-bit", 1)


def texts_of_an_interpreter_make_none():
    with ffplaces.Folder() as folder:
        program = ffplaces.build(folder + "/tool", "-DTEXTS",
                                 fflive.program("strange_kin.c"))
        run = tree_with(fflive.newest(), [program])
    others = [one for one in run.stats["members"] if one["verdict"] != "sampled"]
    expect({one["verdict"] for one in others} == {"not_python"}, "%s", others)
    expect("not known here" not in run.stderr, "%s", run.stderr)


def find_pypy():
    root = os.environ.get("FORKFLAME_PYPY", "")  # a root where it was unpacked
    for path in (root + "/usr/bin/pypy3", root + "/usr/bin/pypy"):
        if os.path.exists(path):
            return path
    return None


def pypy_and_perl_stand_beside():
    pypy = find_pypy()
    commands = ["perl -e 'sleep 1'"]
    if pypy:
        commands += ["%s -c 'import time; time.sleep(1)'" % pypy] * 2
    else:
        print("  note: PyPy is not installed; not tried")
    run = tree_with(fflive.newest(), commands)
    if pypy:
        check_named(run, "PyPy", 2)
    names = [one["images"][-1]["command"] for one in run.stats["members"]
             if one["verdict"] == "not_python"]
    expect(any("perl" in name for name in names), "perl: %s", names)


def those_of_another_root_are_named():
    with ffplaces.Root() as root:
        for path, kind in (("/usr/bin/micropython", "MicroPython"),
                           ("/usr/bin/pypy3", "PyPy")):
            if not root or not root.has(path):
                print("  note: no %s in another root; not tried" % kind)
                continue
            command = "chroot '%s' %s -c 'import time; time.sleep(1)'" % (root.dir,
                                                                          path)
            run = tree_with(fflive.newest(), [command, command])
            check_named(run, kind, 2)


def only_one_that_is_not_known_is_an_error():
    with ffplaces.Folder() as folder:
        program = ffplaces.build(folder + "/python3.16", "-rdynamic",
                                 fflive.program("strange_kin.c"))
        target = fflive.spawn([program])
        run = fflive.run(["-p", target.pid, "-d", "0.5"])
    expect(run.status not in (0, None) and "3.16.0" in run.stderr,
           "status %s: %s", run.status, run.stderr)
    expect(sum(run.stats["dropped"].values()) == 0, "%s", run.stats["dropped"])


def free_threaded_builds_are_sampled(python):
    """Two that are busy are so at the same time."""
    run = fflive.run([], [python, fflive.program("namespace.py"), SECONDS])
    fflive.check_run(run)
    for name in ("busy_one", "asleep"):
        ffplaces.check_time(run, name)
    told = {image["python"] for one in run.stats["members"]
            for image in one["images"]}
    expect(all(version.endswith("t") for version in told), "version: %s", told)


def main():
    outcomes = [fflive.attempt(test) for test in (
        version_to_come_is_named, program_of_32_bits_is_named,
        texts_of_an_interpreter_make_none, pypy_and_perl_stand_beside,
        those_of_another_root_are_named,
        only_one_that_is_not_known_is_an_error)]
    found = ffplaces.free_threaded()
    if not found:
        print("note: no free-threaded build is here; not tested")
    outcomes += [fflive.attempt(free_threaded_builds_are_sampled, python)
                 for python in found]
    ffplaces.finish(outcomes)


if __name__ == "__main__":
    main()
