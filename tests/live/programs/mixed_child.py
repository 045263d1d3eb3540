# SPDX-License-Identifier: Apache-2.0
"""The one Python child of mixed.py."""
import sys

from truth import burn, timed


def py_child():
    burn(float(sys.argv[1]))


timed(py_child)
