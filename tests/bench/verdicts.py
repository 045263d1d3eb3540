# SPDX-License-Identifier: Apache-2.0
"""Which stacks the programs of targets/stacks.py can have, below the function that
is named as the program. Each function here tells whether some is impossible."""
from profilers import INVALID

CHAIN = tuple("d%03d" % level for level in range(200))


def alternating(names):
    return names not in ((), ("hot_a",), ("hot_b",), ("hot_a", "leaf_a"),
                         ("hot_b", "leaf_b"))


def recursion(names):
    return names != CHAIN[:len(names)]


def churn(names):
    if not names:
        return False
    if names[0] == "make":  # and, below it, what compiles and runs the definition
        return len(names) > 2 or names[1:] not in ((), ("<module>",))
    if not names[0].startswith("holder_"):
        return True
    if len(names) == 1:
        return False
    return (len(names) > 2 or not names[1].startswith("made_") or
            int(names[1][5:]) % 64 != int(names[0][7:]))


def judge(program, stacks):
    """Samples of the program at work, and of these those that cannot be, those
    without their root, and those that the profiler itself marked; a wrong one."""
    count = dict.fromkeys(("n", "impossible", "rootless", "flagged"), 0)
    wrong = None
    for stack in stacks:
        names = stack.names
        # Before the order and after it there is no such stack to judge. A stack
        # that has lost its root is one of the program by what is left of it.
        ours = program in names or any(
            name.startswith(("hot_", "leaf_", "d0", "d1", "holder_", "made_"))
            for name in names)
        if not ours:
            continue
        count["n"] += stack.count
        if INVALID in names:
            count["flagged"] += stack.count
        elif program not in names or names[0] != "<module>":
            count["rootless"] += stack.count
            wrong = names
        elif (names[:names.index(program)] != ("<module>", "serve", "work") or
              globals()[program](names[names.index(program) + 1:])):
            count["impossible"] += stack.count
            wrong = names
    if wrong:
        count["example"] = " ".join(wrong if len(wrong) < 9 else
                                    wrong[:4] + ("...",) + wrong[-3:])
    return count
