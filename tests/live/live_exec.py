#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An exec in mid-run: one process, two images, nothing mixed."""
import os

import fflive
from fflive import expect, near

SECONDS = 1.0
LINKS = 100 if fflive.LONG else 30


def run_exec(python, successor, *more):
    run = fflive.run([], [python, fflive.program("exec_first.py"), SECONDS,
                          successor, *more])
    fflive.check_run(run)
    expect(len(run.stats["members"]) == 1, "expected one process, saw %s",
           run.stats["members"])
    images = run.stats["members"][0]["images"]
    expect(len(images) == 2, "expected two images, saw %s", images)
    return run, images


def check_halves(run):
    """Each half has its own functions, under its own command line."""
    for stack in run.stacks:
        names = fflive.names(stack)
        expect(not ("before_exec" in names and "after_exec" in names),
               "mixed stack: %s", stack)
        for name, file in (("before_exec", "exec_first.py"),
                           ("after_exec", "exec_second.py")):
            expect(name not in names or file in stack.command,
                   "%s under the wrong command line: %s", name, stack)
    first, second = run.spans("before_exec")[0], run.spans("after_exec")[0]
    for span in (first, second):
        run.check_span(span["span"])
    # Two samples may be lost at the seam.
    share = ((first["end"] - first["begin"]) /
             (first["end"] - first["begin"] + second["end"] - second["begin"]))
    before = run.weigh(function="before_exec")
    seen = before / (before + run.weigh(function="after_exec"))
    near("share of before_exec", seen, share, .05)


def text_of(python):
    """As far as an interpreter tells it: the patch level is in it since 3.11."""
    version = fflive.version_of(python)
    return ".".join(map(str, version if version >= (3, 11) else version[:2]))


def check_versions(images, *pythons):
    seen = [image["python"] for image in images]
    right = [text_of(python) for python in pythons]
    expect(seen == right, "versions: expected %s, saw %s", right, seen)


def exec_of_the_same_python(python):
    run, images = run_exec(python, python)
    check_halves(run)
    check_versions(images, python, python)


def exec_by_another_thread(python):
    """It takes the place of the first one, and its number."""
    run, images = run_exec(python, python, "thread")
    check_halves(run)
    check_versions(images, python, python)


def exec_of_another_python(python):
    others = [one.path for one in fflive.pythons() if one.path != python]
    for other in others[:1]:
        run, images = run_exec(python, other)
        check_halves(run)
        check_versions(images, python, other)


def exec_of_a_program_that_is_not_python():
    run, images = run_exec(fflive.newest(), "sleep")
    run.check_span("before_exec")
    expect(images[1]["verdict"] == "not_python" and images[1]["python"] is None,
           "the second image: %s", images[1])
    strange = [stack for stack in run.stacks
               if stack.frames and "exec_first.py" not in stack.command]
    expect(not strange, "Python stacks of a sleep: %s", strange[:3])
    lines = len(run.stderr.splitlines())
    expect(lines < 40, "%d lines on stderr", lines)


def in_order(run, process, programs):
    """One that went on before it was asked has the name of the next, or none. Who
    looks every 10 ms misses some; the last stays."""
    images = process["images"]
    if run.stats["events"] in ("children", "scan"):
        seen = [os.path.basename(image["command"].strip("[]").split(" ")[0])
                for image in images]
        rest = iter(programs)
        expect(seen and seen[-1] == programs[-1] and
               all(word in rest for word in seen), "expected %s, saw %s",
               programs, seen)
        return
    expect(len(images) == len(programs), "expected %s, saw %s", programs, images)
    for number, image in enumerate(images):
        word = os.path.basename(image["command"].strip("[]").split(" ")[0])
        expect(word in programs[number:] + [""], "%d: expected %s, saw %s",
               number, programs[number], images)


def launchers_are_images_in_their_order():
    """A shell that becomes env, which becomes timeout, whose child becomes nice, a
    Python, another one, and the first one again."""
    first, second = fflive.newest(), fflive.pythons()[-1].path
    run = fflive.run([], ["sh", "-c", "exec env A=b timeout 60 nice -n 0 '%s' '%s'"
                          " 2 '%s' '%s'" % (first, fflive.program("exec_chain.py"),
                                            first, second)])
    fflive.check_run(run, stdout=b"the end of the chain\n")
    root, child = run.stats["members"]
    names = [os.path.basename(path) for path in (first, second, first)]
    in_order(run, root, ["sh", "env", "timeout"])
    in_order(run, child, ["nice"] + names)
    verdicts = [one["verdict"] for one in child["images"]][-3:]
    expect(root["verdict"] == "not_python" and child["verdict"] == "sampled" and
           verdicts == ["sampled"] * 3, "verdicts: %s", verdicts)
    versions = [one["python"] for one in child["images"][-3:]]
    expect(versions == [text_of(first), text_of(second), text_of(first)],
           "versions: %s", versions)
    expect(run.weigh(child["pid"], "burn") > .06, "time in burn: %.3f s",
           run.weigh(child["pid"], "burn"))


def execs_inside_samples_do_no_harm():
    pythons = [one.path for one in fflive.pythons()[:2]]
    run = fflive.run(["-r", 1000], [pythons[0], fflive.program("exec_chain.py"),
                                    LINKS] + pythons)
    fflive.check_run(run, stdout=b"the end of the chain\n")
    expect(len(run.stats["members"]) == 1, "expected one process, saw %s",
           run.pids())
    images = run.stats["members"][0]["images"]
    # Of two execs between two looks, who looks sees one.
    looks = run.stats["events"] in ("children", "scan")
    expect((.8 if looks else 1) * (LINKS + 1) <= len(images) <= LINKS + 1,
           "expected %d images, saw %d", LINKS + 1, len(images))
    right = (LINKS + 1) * .03
    fflive.lasts("time in burn", run.weigh(function="burn"), right, .15 * right)


if __name__ == "__main__":
    fflive.main([exec_of_the_same_python, exec_by_another_thread,
                 exec_of_another_python],
                [launchers_are_images_in_their_order, exec_of_a_program_that_is_not_python,
                 execs_inside_samples_do_no_harm])
