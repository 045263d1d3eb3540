# SPDX-License-Identifier: Apache-2.0
"""other_user.py UID: busy; then another user, and busy again."""
import os
import sys
import time


def burn(seconds):
    while time.process_time() < seconds:
        sum(range(400))


def before():
    burn(.7)


def secret():
    burn(1.6)


before()
os.setresuid(*[int(sys.argv[1])] * 3)
secret()
