#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Children made by fork alone are in the profile, each from its birth on."""
import fflive
from fflive import expect, near


def stack_is_own(stack, own):
    """<module> at the fork, spawn, timed, wK, burn: what a fork inherits."""
    # 3.12 and newer have no frame for the list comprehension.
    names = [name for name in fflive.names(stack) if name != "<listcomp>"]
    whole = ["<module>", "spawn", "timed", own, "burn"]
    return own not in names or names in (whole[:4], whole)


def check_child(run, root, span):
    pid, own = span["pid"], span["span"]
    member = run.member(pid)
    expect(member["parent"] == root, "parent of %s: %s", own, member)
    expect(member["status"] in (0, None), "status of %s: %s", own, member)
    # Who looks for children does so seldomer where a look takes long.
    told = run.stats["events"] in ("connector", "perf")
    expect(member["first_sample_ns"] is not None and
           member["first_sample_ns"] <= (20e6 if told else 200e6),
           "%s: first sample %s ns after the birth", own, member["first_sample_ns"])
    for other in {"w0", "w1", "w2"} - {own}:
        near(other + " in the child of " + own, run.weigh(pid, other), 0, 0)
    strange = [stack for stack in run.stacks
               if stack.pid == pid and not stack_is_own(stack, own)]
    expect(not strange, "strange stacks in %s: %s", own, strange[:3])
    in_burn = run.weigh(pid, own, lambda stack: stack.frames[-1].line in
                        fflive.burn_lines() and fflive.names(stack)[-1] == "burn")
    expect(in_burn >= .95 * run.weigh(pid, own), "%s: only %.2f s inside burn",
           own, in_burn)


def check_parent(run, root):
    for name in ("w0", "w1", "w2"):
        near(name + " in the parent", run.weigh(root, name), 0, 0)
    line = fflive.line_of("forked.py", "wait")
    wait = run.spans("wait")[0]
    right = wait["end"] - wait["begin"]
    seen = run.weigh(root, where=lambda stack: bool(stack.frames) and
                     stack.frames[-1].line == line and
                     stack.frames[-1].file.endswith("forked.py"))
    fflive.lasts("waitpid line of the parent", seen, right, fflive.slack(right))


def forked_children_are_sampled_from_birth_to_exit(python):
    run = fflive.run([], [python, fflive.program("forked.py"), 1.2])
    fflive.check_run(run)
    root = run.roles("root")[0]
    expect(run.stats["processes"]["seen"] == 4 and len(run.pids()) == 4,
           "expected 4 sampled of 4 seen: %s", run.stats["processes"])
    for name in ("w0", "w1", "w2"):
        run.check_span(name)
        check_child(run, root, run.spans(name)[0])
    check_parent(run, root)


if __name__ == "__main__":
    fflive.main([forked_children_are_sampled_from_birth_to_exit])
