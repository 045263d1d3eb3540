# SPDX-License-Identifier: Apache-2.0
"""lines.py: the line tables of the standard library, and what this interpreter
itself says of each instruction. For Python 2.7 as for 3.

The format is that of tests/data/record-lines.py. The truth is PyCode_Addr2Line;
where there is no ctypes, co_lines() from 3.10 on, and dis.findlinestarts() before.
"""
from __future__ import print_function

import binascii
import dis
import os
import sys
import types

STEP = 2 if sys.version_info >= (3, 6) else 1
SKIP = {"site-packages", "dist-packages", "test", "tests", "__pycache__"}

try:
    import ctypes
    addr2line = ctypes.pythonapi.PyCode_Addr2Line
    addr2line.restype = ctypes.c_int
    addr2line.argtypes = [ctypes.py_object, ctypes.c_int]
except Exception:
    addr2line = None


def codes_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            for inner in codes_of(const):
                yield inner


def add(out, n, line):
    if out and out[-1][1] == line:
        out[-1][0] += n
    else:
        out.append([n, line])


def runs(code):
    out = []
    if addr2line:
        for at in range(0, len(code.co_code), STEP):
            add(out, 1, max(addr2line(code, at), 0))
    elif sys.version_info >= (3, 10):
        for begin, end, line in code.co_lines():
            if end > begin:
                add(out, (end - begin) // STEP, line or 0)
    else:
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for at in range(0, len(code.co_code), STEP):
            line = starts.get(at, line)
            add(out, 1, line)
    return ",".join("%dx%d" % (n, line) for n, line in out)


def sources():
    # A bundle has no sources.
    top = os.environ.get("FARM_LIBRARY", os.path.dirname(os.__file__))
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - SKIP)
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


def main():
    for path in sources():
        with open(path, "rb") as source:
            text = source.read()
        try:
            module = compile(text, path, "exec", 0, True)
        except (SyntaxError, ValueError, UnicodeError):
            continue
        for code in codes_of(module):
            table = getattr(code, "co_linetable", None)
            if table is None or sys.version_info < (3, 10):
                table = code.co_lnotab
            if code.co_code:
                print("code", code.co_firstlineno,
                      binascii.hexlify(table).decode() or "-", runs(code))


main()
