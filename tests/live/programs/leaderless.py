# SPDX-License-Identifier: Apache-2.0
"""leaderless.py SECONDS: the main thread ends, as the kernel sees it, and another
one works on."""
import ctypes
import os
import sys
import threading

from burner import burn, note, mono

SYS_EXIT = {"x86_64": 60, "aarch64": 93}[os.uname()[4]]
before_it_ends = threading.Event()


def lives_on():
    burn(float(sys.argv[1]))


def other():
    before_it_ends.wait()
    begin = mono()
    lives_on()
    note(span="lives_on", begin=begin, end=mono())
    os._exit(0)


def main():
    threading.Thread(target=other).start()
    burn(.2)
    note(role="leader")
    before_it_ends.set()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)


main()
