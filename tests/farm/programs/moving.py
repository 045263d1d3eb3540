# SPDX-License-Identifier: Apache-2.0
"""moving.py SECONDS: calls that never rest, of which each stack tells by itself
whether it can be. For Python 2.7 as for 3.

Four chains of functions take turns, in two threads: plain calls, generators, calls
through C (sorted), and methods of which each makes an object. The function
CHAIN_DEPTH is called by CHAIN_DEPTH-1 and by nothing else, always from the third
of its six lines, which begin at line 100 * CHAIN's number + 10 * DEPTH.
"""
import sys
import threading
import time

DEPTH = 8
FILE = "<moving>"

CALLS = """\
def calls_%(n)d(r):
  for i in r: i * i
  calls_%(next)d(r)
  for i in r: i * i
  i = 0
  return i
"""
YIELDS = """\
def yields_%(n)d(r):
  for i in r: i * i
  for x in yields_%(next)d(r):
    for i in r: i * i
    yield x
  i = 0
"""
SORTS = """\
def sorts_%(n)d(r):
  for i in r: i * i
  sorted((r,), key=sorts_%(next)d)
  for i in r: i * i
  i = 0
  return i
"""
MAKES = """\
class Makes_%(n)d(object): __slots__ = (); exec('def __init__(self, r): makes_%(n)d(r)')
def makes_%(n)d(r):
  for i in r: i * i
  Makes_%(next)d(r)
  for i in r: i * i
  i = 0
  return i
"""
LAST = {"calls": "def calls_8(r): return 0\n",
        "yields": "def yields_8(r):\n yield 1\n yield 2\n",
        "sorts": "def sorts_8(r): return 0\n",
        "makes": "class Makes_8(object):\n def __init__(self, r): pass\n"}


def build(space):
    for number, (name, text) in enumerate([("calls", CALLS), ("yields", YIELDS),
                                           ("sorts", SORTS), ("makes", MAKES)], 1):
        for n in range(DEPTH):
            # The class stands one line before the function.
            first = 100 * number + 10 * n - (name == "makes")
            source = "\n" * (first - 1) + text % {"n": n, "next": n + 1}
            exec(compile(source, FILE, "exec"), space)
        exec(compile("\n" * 899 + LAST[name], FILE, "exec"), space)


def turns(space, end):
    r = (1, 2, 3)
    while time.time() < end:
        for _ in range(20):
            space["calls_0"](r)
            for x in space["yields_0"](r):
                pass
            space["sorts_0"](r)
            space["makes_0"](r)


def main(seconds):
    space = {}
    build(space)
    end = time.time() + seconds
    other = threading.Thread(target=turns, args=(space, end))
    other.start()
    turns(space, end)
    other.join()


main(float(sys.argv[1]))
