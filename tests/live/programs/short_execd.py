# SPDX-License-Identifier: Apache-2.0
"""The exec'd child of short_children.py. Started with -S, to be up soon."""
from truth import burn, timed


def tiny_exec():
    burn(.05)


timed(tiny_exec)
