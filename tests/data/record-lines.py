# SPDX-License-Identifier: Apache-2.0
"""Record line tables, with what the interpreter itself says of them.

	python3.X tests/data/record-lines.py > tests/data/lines/3.X

Run by each version that src/python/linetable.c is to understand (2.7 leaves out
the samples of a later syntax); test_linetable compares. A line a code object: its
name, first line, table in hexadecimal, and the line of each instruction, two
bytes apart, as COUNTxLINE where it repeats; 0 is none. The truth is
PyCode_Addr2Line.
"""
from __future__ import print_function

import binascii
import ctypes
import sys
import types

addr2line = ctypes.pythonapi.PyCode_Addr2Line
addr2line.restype = ctypes.c_int
addr2line.argtypes = [ctypes.py_object, ctypes.c_int]

# What has led line tables into their corners: calls over many lines, lines that
# go back, handlers and `with` (instructions without a line), gaps above 127
# lines, ranges above 255 bytes, lines above 65535, code before its first line.
SAMPLES = [
    "def plain(a):\n    b = a\n    return b\n",
    "def calls(f):\n    return f(\n        1,\n        f(\n            2,\n"
    "            x=3,\n        ),\n    )\n",
    "def loops(n):\n    t = 0\n    for i in range(n):\n        while i:\n"
    "            i -= 1\n            if i == 3:\n                continue\n"
    "            t += i\n        else:\n            t -= 1\n    return t\n",
    "def handlers(f):\n    try:\n        with f() as a, f() as b:\n"
    "            return a + b\n    except (ValueError,\n            KeyError) as e:\n"
    "        raise RuntimeError from e\n    finally:\n        f(\n            0)\n",
    "def comprehensions(n):\n    return [\n        (i, j)\n        for i in n\n"
    "        if i\n        for j in {\n            k: v\n            for k, v in n\n"
    "        }\n    ]\n",
    "@staticmethod\n@property\n\n\ndef decorated(\n    a=1,\n    *,\n    b=2\n):\n"
    "    c = lambda: (\n        a,\n        b)\n    return c\n",
    "class Klass(object):\n    '''words'''\n    x = 1\n\n    def method(self):\n"
    "        return super().method()\n",
    "async def coroutine(a):\n    async with a as b:\n        async for c in b:\n"
    "            yield await c\n    await a(\n        b)\n",
    "def generator(a):\n    yield\n    x = yield from a\n    return x\n",
    "def backwards(a):\n    x = (\n        a\n        + a[\n            0\n        ]\n"
    "        * 2\n    )\n    assert x, (\n        'no', x)\n",
    "def gap():\n    a = 1\n" + "\n" * 126 + "    b = 2\n" + "\n" * 127 + "    c = 3\n"
    + "\n" * 400 + "    return a + b + c\n",
    "def wide():\n    return (" + " + ".join("a%d" % i for i in range(150)) + ")\n",
    "def wide_then(f):\n    f(" + ", ".join("f.x%d" % i for i in range(120)) + ",\n"
    + "\n" * 300 + "      f)\n    return 1\n",
    "\n" * 70000 + "def far(a):\n    return a\n",
    "def one_line(a): return a and a[0] or a(1)\n",
    "def nested():\n    def inner():\n        def innermost():\n            nonlocal x\n"
    "            x += 1\n        return innermost\n    x = 0\n    return inner\n",
    "def early(a):\n    if not a:\n        return\n    elif a > 1:\n        pass\n"
    "    del a\n    global g\n    g = f'{a!r:>{a}}'\n",
    "import os\nif os:\n    from os import (\n        path,\n        sep)\nelse:\n    pass\n",
    "",
]


def codes_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            for inner in codes_of(const):
                yield inner


def library():
    """Some real code, different in each version."""
    import json.decoder
    import textwrap
    import heapq
    import inspect

    for module in json.decoder, textwrap, heapq:
        source = inspect.getsource(module)
        for code in codes_of(compile(source, module.__name__, "exec", 0, True)):
            if len(code.co_code) < 800:
                yield code


def table_of(code):
    if sys.version_info >= (3, 10):
        return code.co_linetable
    return code.co_lnotab


def runs(code):
    out = []
    for at in range(0, len(code.co_code), 2):
        line = max(addr2line(code, at), 0)
        if out and out[-1][1] == line:
            out[-1][0] += 1
        else:
            out.append([1, line])
    return ",".join("%dx%d" % (n, line) if n > 1 else "%d" % line for n, line in out)


def record(code):
    print(code.co_name, code.co_firstlineno, binascii.hexlify(table_of(code)).decode() or "-",
          runs(code))


def main():
    print("# CPython %d.%d.%d: name, first line, table, lines" % sys.version_info[:3])
    for source in SAMPLES:
        try:
            module = compile(source, "sample", "exec", 0, True)
        except SyntaxError:
            if sys.version_info >= (3,):
                raise
            continue
        for code in codes_of(module):
            record(code)
    for code in library():
        record(code)


main()
