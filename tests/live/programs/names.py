# -*- coding: utf-8 -*-
# SPDX-License-Identifier: Apache-2.0
"""names.py SECONDS: names of all widths of characters, and names that are none."""
import sys

from burner import burn, mono, note

SECONDS = float(sys.argv[1])


def nap():
    begin = mono()
    burn(SECONDS)
    note(span=sys._getframe(1).f_code.co_name[:40], begin=begin, end=mono())


def plain():
    nap()


def café():
    nap()


def кириллица():
    nap()


def 函数():
    nap()


def 𐐀𐐁():  # beyond the characters of two bytes
    nap()


def run(source, name):
    exec(compile(source, name, "exec"), {"nap": nap})


for work in (plain, café, кириллица, 函数, 𐐀𐐁):
    work()
run("def no_file(): nap()\nno_file()", "")
run("def in_string(): nap()\nin_string()", "<string>")
run("\n" * 99999 + "def far_down(): nap()\nfar_down()", "far.py")
longest = (lambda: nap())
longest.__code__ = longest.__code__.replace(co_filename="/" + "x" * 5000 + ".py",
                                            co_name="n" * 3000)
longest()
odd = (lambda: nap())
odd.__code__ = odd.__code__.replace(co_name="spaces ; and\nnewline")
odd()
