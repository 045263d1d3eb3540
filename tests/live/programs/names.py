# -*- coding: utf-8 -*-
# SPDX-License-Identifier: Apache-2.0
"""names.py SECONDS: names of all widths of characters, and names that are none."""
import sys

from burner import burn

SECONDS = float(sys.argv[1])


def plain():
    burn(SECONDS)


def café():
    burn(SECONDS)


def кириллица():
    burn(SECONDS)


def 函数():
    burn(SECONDS)


def 𐐀𐐁():  # beyond the characters of two bytes
    burn(SECONDS)


def run(source, name):
    exec(compile(source, name, "exec"), {"burn": burn, "SECONDS": SECONDS})


for work in (plain, café, кириллица, 函数, 𐐀𐐁):
    work()
run("def no_file(): burn(SECONDS)\nno_file()", "")
run("def in_string(): burn(SECONDS)\nin_string()", "<string>")
run("\n" * 99999 + "def far_down(): burn(SECONDS)\nfar_down()", "far.py")
longest = (lambda: burn(SECONDS))
longest.__code__ = longest.__code__.replace(co_filename="/" + "x" * 5000 + ".py",
                                            co_name="n" * 3000)
longest()
odd = (lambda: burn(SECONDS))
odd.__code__ = odd.__code__.replace(co_name="spaces ; and\nnewline")
odd()
