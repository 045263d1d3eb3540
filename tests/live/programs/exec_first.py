# SPDX-License-Identifier: Apache-2.0
"""Replaces itself in mid-run.

	exec_first.py SECONDS sleep|INTERPRETER
"""
import os
import sys

from truth import burn, note, timed

SECONDS, NEXT = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))


def before_exec():
    burn(float(SECONDS))


note(role="root")
timed(before_exec)
if NEXT == "sleep":
    os.execv("/bin/sleep", ["sleep", SECONDS])
os.execv(NEXT, [NEXT, os.path.join(HERE, "exec_second.py"), SECONDS])
