# SPDX-License-Identifier: Apache-2.0
"""Execs again and again, so that some execs fall inside a sample.

	exec_chain.py TIMES INTERPRETER [INTERPRETER]

The interpreters take turns.
"""
import os
import sys

from truth import burn, note

times = int(sys.argv[1])
note(link=times)
burn(.03)
if times:
    turn = sys.argv[3:] + sys.argv[2:3]
    os.execv(turn[0], [turn[0], __file__, str(times - 1)] + turn)
print("the end of the chain")
