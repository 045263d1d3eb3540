# SPDX-License-Identifier: Apache-2.0
"""A tree in which most processes are not Python.

	mixed.py SECONDS TRUES
"""
import os
import subprocess
import sys

from truth import burn, note, timed

SECONDS, TRUES = float(sys.argv[1]), int(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
SLEEP = str(SECONDS + .5)


def py_parent():
    burn(SECONDS)


note(role="py_parent")
children = [
    subprocess.Popen(["sleep", SLEEP]),
    subprocess.Popen(["sh", "-c", "sleep %s; :" % SLEEP]),
    subprocess.Popen([sys.executable, os.path.join(HERE, "mixed_child.py"),
                      str(SECONDS)]),
]
for _ in range(TRUES):
    subprocess.call(["/bin/true"])
timed(py_parent)
for child in children:
    child.wait()
