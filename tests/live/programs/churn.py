# SPDX-License-Identifier: Apache-2.0
"""churn.py SECONDS: functions, made and thrown away within microseconds at the same few
addresses, each with a name, a file and a first line that tell the same number. One in
63 lives for longer. Those of odd numbers spend their time further down."""
import sys
import time
import types

from truth import timed

END = time.monotonic() + float(sys.argv[1])


def even(n):
    total = 0
    for i in range(n):
        total += i
    return total


def odd(n):
    total = 1 if n < 0 else 0
    total += 1 if n < 1 else 0
    total += 1 if n < 2 else 0
    total += 1 if n < 3 else 0
    total += 1 if n < 4 else 0
    total += 1 if n < 5 else 0
    total += 1 if n < 6 else 0
    total += 1 if n < 7 else 0
    for i in range(n):
        total += i
    return total


def make(number):
    changes = {"co_name": "churned_%d" % number,
               "co_filename": "/churned/%d.py" % number,
               "co_firstlineno": 1 + number % 1000}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = changes["co_name"]
    pattern = odd if number % 2 else even
    return types.FunctionType(pattern.__code__.replace(**changes), {"range": range})


def churning():
    number = 0
    while time.monotonic() < END:
        make(number)(300 if number % 63 else 100000)
        number += 1


timed(churning)
