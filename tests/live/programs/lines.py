# SPDX-License-Identifier: Apache-2.0
"""lines.py NAP: naps in statements of several lines, each of which notes the line
that the interpreter itself gives it. For Python 2.7 as for 3."""
import os
import sys
import time

from burner import mono, note

NAP = float(sys.argv[1])
truth = {}


def nap():
    frame = sys._getframe(1)
    key = "%s:%d" % (frame.f_code.co_name, frame.f_lineno)
    begin = mono()
    time.sleep(NAP)
    truth[key] = truth.get(key, 0) + mono() - begin
    return 1


def decorator(unused):
    return lambda function: function


def call():
    return max(
        nap(),
        2 + nap(
        ),
        *[nap()
          for _ in (1,)],
        **{}
    )


def definition():
    @decorator(nap())
    @decorator(
        nap())
    def inner(a=nap(),
              b=nap()):
        pass
    return [
        nap()
        for a in (1, 2)
        if nap()
    ]


def chain():
    x = (nap() or 0) + \
        nap()
    assert nap(), \
        "never"
    with open(os.devnull) as f, \
         open(os.devnull) as g:
        nap()
    try:
        raise ValueError(
            nap())
    except ValueError if nap() else OSError:
        return (lambda:
                nap())()


class Body:
    a = nap()
    b = [nap()
         for _ in (1,)]


call()
definition()
chain()
note(naps=truth)
