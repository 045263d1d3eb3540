#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What frames say: lines of statements of several lines, functions of thousands of
lines, names of all kinds, C between Python, and recursion of any depth; on each
version that is here."""
import collections
import re
import shutil

import ffplaces
import fflive
from fflive import expect, near

SECONDS = .8
NAP = .05


def last_of(stack, file):
    """The innermost frame of a program."""
    own = [frame for frame in stack.frames if frame.file.endswith(file)]
    return own[-1] if own else None


def is_right_to_the_line(python):
    """programs/lines.py notes what the interpreter says of each nap."""
    run = fflive.run([], [python, fflive.program("lines.py"), NAP])
    fflive.check_run(run)
    naps = [fact["naps"] for fact in run.truth if "naps" in fact][0]
    seen = collections.Counter()
    for stack in run.stacks:
        names = fflive.names(stack)
        if "nap" not in names:
            continue
        caller = stack.frames[names.index("nap") - 1]
        seen["%s:%d" % (fflive.short_name(caller.function), caller.line)] += \
            stack.weight / 1e6
    expect(set(seen) == set(naps), "lines: expected %s, saw %s", sorted(naps),
           sorted(seen))
    for key, right in naps.items():
        near("time at " + key, seen[key], right, .04 + .1 * right)


def huge_function_keeps_its_lines(python):
    with ffplaces.Folder() as folder:
        run = fflive.run([], [python, fflive.program("huge_function.py"),
                              2 * SECONDS, folder])
    fflive.check_run(run)
    at = collections.Counter()
    for stack in run.stacks:
        for frame in stack.frames:
            if frame.function == "huge" and "burn" in fflive.names(stack):
                at[frame.line] += stack.weight / 1e6
    expect(set(at) == {8003, 8004}, "lines of huge: %s", at)
    ffplaces.check_share("the first nap", at[8003], SECONDS, 2 * SECONDS)


def c_between_python_leaves_no_frame(python):
    run = fflive.run(["-r", 500], [python, fflive.program("through_c.py"), SECONDS])
    fflive.check_run(run)
    for stack in run.stacks:
        names = fflive.names(stack)
        if "burn" not in names:
            continue
        fflive.must(names == ["<module>"] + 61 * ["f"] + ["burn"], "stack: %s", names)
    ffplaces.check_time(run, "burn")


def callers_and_callees_have_met(python):
    # CPU time: whoever waits for a CPU on a full machine waits in one of the two.
    run = fflive.run(["-r", 500, "--mode", "cpu"],
                     [python, fflive.program("two_callers.py"), SECONDS])
    fflive.check_run(run)
    time_in = {"a": 0., "b": 0.}
    for stack in run.stacks:
        text = " ".join(fflive.names(stack))
        if {frame.file.rpartition("/")[2] for frame in stack.frames} != \
                {"two_callers.py"}:
            continue
        fflive.must(
            re.match(r"<module>( main( hot_a( leaf_a)?| hot_b( leaf_b)?)?)?$", text),
            "impossible: %s", text)
        for name in time_in:
            if "hot_" + name in text:
                time_in[name] += stack.weight / 1e6
    whole = sum(time_in.values())
    # Nearer than chance by much on a free machine: the two take turns.
    expect(abs(time_in["a"] / whole - .5) < .12, "shares: %s", time_in)
    # On its way out it has no memory any more, for as long as that takes.
    dropped = sum(run.stats["dropped"].values()) - run.stats["dropped"]["gone"]
    expect(dropped <= .01 * run.stats["attempts"] + 2, "dropped: %s",
           run.stats["dropped"])


NAMES = ["plain", "café", "кириллица", "函数", "𐐀𐐁", "no_file", "in_string",
         "far_down"]


def check_names(run):
    for name in NAMES:
        ffplaces.check_time(run, name)
    frames = {frame for stack in run.stacks for frame in stack.frames}
    files = {fflive.short_name(frame.function): frame for frame in frames}
    expect(files["no_file"].file == "" and files["in_string"].file == "<string>",
           "files: %s, %s", files["no_file"], files["in_string"])
    expect(files["far_down"].line == 100000, "line: %s", files["far_down"])
    # Whole, or cut and still told apart.
    longest = [frame for frame in frames if frame.file.startswith("/xxxx")]
    expect(len(longest) == 1 and len(longest[0].file) > 1000, "long: %s",
           [len(frame.file) for frame in longest])


def names_are_shown_as_they_are(python):
    run = fflive.run([], [python, fflive.program("names.py"), SECONDS / 4])
    fflive.check_run(run)
    check_names(run)
    with ffplaces.Folder() as folder:
        name = folder + "/zażółć-𐐀.py"
        shutil.copy(fflive.program("names.py"), name)
        shutil.copy(fflive.program("burner.py"), folder)
        run = fflive.run([], [python, name, SECONDS / 4])
    fflive.check_run(run)
    check_names(run)
    expect(any(last_of(stack, "/zażółć-𐐀.py") for stack in run.stacks),
           "the file's name is not there")


def recursion_is_shown_whole(python):
    run = fflive.run([], [python, fflive.program("deep.py"), 900, SECONDS])
    fflive.check_run(run)
    run.check_span("leaf_here", share=.1)
    for stack in run.stacks:
        names = fflive.names(stack)
        if "burn" in names:
            first = names.index("root_here")
            expect(names[first:] == ["root_here"] + 901 * ["down"] +
                   ["leaf_here", "burn"], "stack of %d: %s", len(names), names[:9])


def deepest_recursion_keeps_both_ends(python):
    run = fflive.run([], [python, fflive.program("deep.py"), 50000, 3 * SECONDS],
                     timeout=180)
    fflive.check_run(run)
    places = set()
    for stack in run.stacks:
        names = fflive.names(stack)
        if "leaf_here" not in names:
            continue
        # Who was about to begin or end is in the same place, less one.
        expect("root_here" in names, "the root is lost: %s", names[:5])
        marks = [name for name in names if "frames left out" in name]
        expect(len(marks) == 1 and re.search(r"\d", marks[0]), "marks: %s", marks)
        places.add(marks[0])
    expect(len(places) == 1, "places: %s", places)
    span = run.spans("leaf_here")[0]
    near("time in leaf_here", run.weigh(None, "leaf_here"),
         span["end"] - span["begin"], .3)
    held = run.stats["held"]
    expect(held["mean_ns"] < 20e6, "held for %.1f ms on average",
           held["mean_ns"] / 1e6)
    print("  note: at 50000 frames held for %.2f ms on average, %.1f at most; "
          "%.2f s of CPU in %.1f s" %
          (held["mean_ns"] / 1e6, held["longest_ns"] / 1e6,
           run.stats["profiler_cpu_ns"] / 1e9, run.stats["duration_ns"] / 1e9))


def main():
    outcomes = []
    for test in (is_right_to_the_line, huge_function_keeps_its_lines,
                 c_between_python_leaves_no_frame, callers_and_callees_have_met):
        outcomes += ffplaces.each(test)
    outcomes += ffplaces.each(names_are_shown_as_they_are,
                              lambda version: version >= (3, 8))
    outcomes += ffplaces.each(recursion_is_shown_whole)
    outcomes += ffplaces.each(deepest_recursion_keeps_both_ends,
                              lambda version: version >= (3, 11))
    ffplaces.finish(outcomes)


if __name__ == "__main__":
    main()
