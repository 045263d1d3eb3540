#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quick part of the farm's tests, on each interpreter that is installed: stacks
that a program tells of itself, and functions that are thrown away. All of it, and
on more interpreters: make check-farm."""
import os
import sys

import fflive

sys.path.insert(0, os.path.join(os.path.dirname(fflive.HERE), "farm"))
import check_farm  # noqa: E402
import farm  # noqa: E402

_builds, _missing = farm.builds(only_installed=True)
_by_path = {build.words[0]: build for build in _builds}


def stacks_are_as_the_program_tells(path):
    check_farm.test_stacks(_by_path[path])


def no_function_has_the_name_of_one_thrown_away(path):
    check_farm.test_reuse(_by_path[path], 1)


def main():
    fflive.expect(_by_path, "no Python is here")
    outcomes = [fflive.attempt(test, path) for path in _by_path
                for test in (stacks_are_as_the_program_tells,
                             no_function_has_the_name_of_one_thrown_away)]
    for name, why in _missing.items():
        print("%s: not tested: %s" % (name, why))
    raise SystemExit(1 if "FAIL" in outcomes else 0)


if __name__ == "__main__":
    main()
