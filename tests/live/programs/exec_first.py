# SPDX-License-Identifier: Apache-2.0
"""Replaces itself in mid-run.

	exec_first.py SECONDS sleep|INTERPRETER [thread]

With a third word the exec is by a thread that is not the first, while that one waits.
"""
import os
import sys
import threading

from truth import burn, note, timed

SECONDS, NEXT = sys.argv[1:3]
BY_THREAD = len(sys.argv) > 3
HERE = os.path.dirname(os.path.abspath(__file__))


def before_exec():
    burn(float(SECONDS))


def replace():
    if NEXT == "sleep":
        os.execv("/bin/sleep", ["sleep", SECONDS])
    os.execv(NEXT, [NEXT, os.path.join(HERE, "exec_second.py"), SECONDS])


note(role="root")
timed(before_exec)
if BY_THREAD:
    thread = threading.Thread(target=replace)
    thread.start()
    thread.join()
replace()
