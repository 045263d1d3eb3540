# SPDX-License-Identifier: Apache-2.0
"""stacks.py alternating|recursion|churn: programs that have few possible stacks.

Order: SECONDS. Which stacks are possible is in ../verdicts.py.

alternating	hot_a calls leaf_a alone, hot_b leaf_b
recursion	down a chain of 200 functions, d000 calls d001, ..., and up again
churn		made_K is made, called by holder_(K % 64) alone, and thrown away
"""
import sys

from common import clock, serve


def leaf_a():
    return sum(range(50))


def leaf_b():
    return sum(range(50))


def hot_a():
    return leaf_a()


def hot_b():
    return leaf_b()


def alternating(end):
    while clock() < end:
        hot_a()
        hot_b()


def make(name, body, scope):
    exec("def %s(%s):\n%s\n" % (name, "f" if name[0] == "h" else "", body), scope)
    return scope[name]


def recursion(end):
    while clock() < end:
        chain["d000"]()


def churn(end):
    k = 0
    while clock() < end:
        made = make("made_%d" % k, " s = 0\n for i in range(9000):\n  s += i * i", {})
        holders[k % 64](made)
        k += 1


def work(seconds):
    begin = clock()
    globals()[sys.argv[1]](begin + seconds)
    return {"wall": clock() - begin}


chain = {}
for level in range(200):
    make("d%03d" % level, " sum(range(20))\n%s\n sum(range(20))" %
         (" d%03d()" % (level + 1) if level < 199 else ""), chain)
holders = [make("holder_%d" % k, " return f()", {}) for k in range(64)]
serve(work)
