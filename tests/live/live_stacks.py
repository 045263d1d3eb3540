#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No stack is put together from two moments.

At 1000 Hz two call chains take quick turns. A callee under the other's caller,
a function on a line that is not its own, or a root that is none: each of these
would be a stack that never existed.
"""
import fflive
from fflive import expect, must, near

FAST = 1000
SECONDS = 60 if fflive.LONG else 2.5


def possible_stacks():
    roots = ["<module>", "timed", "main"]
    calls = [[], ["hot_a"], ["hot_a", "leaf_a"], ["hot_b"], ["hot_b", "leaf_b"]]
    return [roots[:n] for n in (1, 2)] + [roots + call for call in calls]


def lines_of(kind):
    def at(mark):
        return (fflive.line_of("alternating.py", mark),)
    first, last = at("main begins")[0], at("main ends")[0]
    return {"leaf_a": at("leaf_a"), "leaf_b": at("leaf_b"),
            "hot_a": at(kind + " hot_a"), "hot_b": at(kind + " hot_b"),
            "main": range(first, last + 1)}


def check_stack(stack, lines):
    """Only of stacks with a function of ours; the others are of the start-up."""
    names = fflive.names(stack)
    # The start-up has a function called main as well (in site).
    ours = {frame.function for frame in stack.frames
            if frame.file.endswith(("alternating.py", "truth.py"))}
    if not {fflive.short_name(name) for name in ours} & (set(lines) | {"timed"}):
        return
    # What was gone before a look has no name (--sampler=kernel): what called it has.
    if "[freed function]" in names:
        names = names[:names.index("[freed function]")]
        must(any(names == possible[:len(names)] for possible in possible_stacks()),
             "impossible stack: %s", stack)
        return
    # The program notes down its times before and after; that takes a moment.
    must(names in possible_stacks() or names[:3] == ["<module>", "timed", "note"],
         "impossible stack: %s", stack)
    for frame in stack.frames:
        right = lines.get(fflive.short_name(frame.function))
        must(not right or frame.line in right, "impossible line: %s", stack)


def check_balance(run, main):
    a, b = run.weigh(function="hot_a"), run.weigh(function="hot_b")
    # Where it was kept waiting for a CPU, the stack of each turn stood for long, and
    # there are as many independent samples as turns, of some 4 ms.
    n = min(run.stats["samples"]["taken"], run.stats["cpu_ns"] / 4e6
            if run.stats["cpu_ns"] < .9 * run.stats["wall_ns"] else 1e9)
    near("share of hot_a", a / (a + b), .5, max(.03, 3 * (.25 / n) ** .5 + .01))
    right = main["end"] - main["begin"]
    fflive.lasts("time in main", run.weigh(function="main"), right,
                 fflive.slack(right))


def check_dropped(run, share):
    dropped = sum(run.stats["dropped"].values())
    expect(dropped <= share * run.stats["attempts"], "%d of %d dropped: %s",
           dropped, run.stats["attempts"], run.stats["dropped"])


def check_alternation(python, kind, rate, seconds):
    run = fflive.run(["-r", rate],
                     [python, fflive.program("alternating.py"), kind, seconds])
    fflive.check_run(run)
    lines = lines_of(kind)
    for stack in run.stacks:
        check_stack(stack, lines)
    main = run.spans("main")[0]
    check_balance(run, main)
    check_dropped(run, .01)
    return run.stats["samples"]["taken"] / (main["end"] - main["begin"])


def calls_never_mix(python):
    per_second = check_alternation(python, "calls", FAST, SECONDS)
    # A loaded machine may not give us the CPU for more in a short run.
    least = 500 if fflive.LONG else 200
    expect(per_second >= least, "%.0f samples a second", per_second)


def generators_never_mix(python):
    check_alternation(python, "generators", FAST, SECONDS)


def calls_never_mix_at_the_usual_rate():
    check_alternation(fflive.newest(), "calls", 100, 3)


def nonblocking_stops_nobody():
    """Stacks that never were are possible then, and rare."""
    run = fflive.run(["-r", FAST, "--nonblocking"],
                     [fflive.newest(), fflive.program("alternating.py"), "calls",
                      SECONDS])
    fflive.check_run(run)
    expect(run.stats["samples"]["stopped"] == 0 and
           run.stats["held"]["stops"] == 0, "stops: %s", run.stats["held"])
    samples = run.stats["samples"]
    expect(samples["unstopped"] + samples["kernel"] > 100, "samples: %s", samples)
    lines, wrong = lines_of("calls"), 0
    for stack in run.stacks:
        try:
            check_stack(stack, lines)
        except fflive.Failure:
            wrong += stack.weight / 1e6
    expect(wrong < .02 * run.weigh(function="main"),
           "%.3f s of stacks that never were", wrong)
    check_dropped(run, .4)


if __name__ == "__main__":
    fflive.main([calls_never_mix, generators_never_mix],
                [calls_never_mix_at_the_usual_rate,
                 nonblocking_stops_nobody])
