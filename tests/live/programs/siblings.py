# SPDX-License-Identifier: Apache-2.0
"""The root makes children with CLONE_PARENT: to the kernel they are its siblings.

	siblings.py SECONDS [wait]

wait: until it gets SIGUSR1, before it makes any.

root - copy (CLONE_PARENT)
       - child_of_copy (an ordinary child)
     - program (CLONE_PARENT, and becomes another program at once)
"""
import ctypes
import os
import platform
import signal
import sys

from truth import burn, note, timed

CLONE_PARENT, SIGCHLD = 0x8000, 17
CLONE = {"x86_64": 56, "aarch64": 220}


def copy():
    burn(SECONDS)


def child_of_copy():
    burn(SECONDS / 2)


def program():
    burn(SECONDS)


def sibling():
    return ctypes.CDLL(None).syscall(CLONE[platform.machine()],
                                     CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    note(role="root")
    if sys.argv[2:] == ["wait"]:
        signal.sigwait({signal.SIGUSR1})
    # The end of file on this pipe says that the last descendant has gone.
    gone, alive = os.pipe()
    os.set_inheritable(alive, True)
    if sibling() == 0:
        if os.fork() == 0:
            timed(child_of_copy)
            os._exit(0)
        timed(copy)
        os._exit(0)
    if sibling() == 0:
        os.execv(sys.executable, [sys.executable, __file__, sys.argv[1],
                                  "program"])
    os.close(alive)
    os.read(gone, 1)


SECONDS = float(sys.argv[1])
if sys.argv[2:] == ["program"]:
    timed(program)
else:
    main()
