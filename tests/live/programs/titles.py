# SPDX-License-Identifier: Apache-2.0
"""Processes that write a title over their arguments, as setproctitle does.

	titles.py SECONDS NAMED PADDING

The root calls itself "fftitle: master", its two workers "fftitle: worker 1 [app]"
and 2. With NAMED 1 they tell the kernel as well (PR_SET_NAME). PADDING is room for
the title.
"""
import ctypes
import os
import sys

from truth import burn, note, timed

SECONDS, NAMED = float(sys.argv[1]), sys.argv[2] == "1"


def set_title(text):
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start, arg_end
    room = end - start
    title = text.encode()[:room - 1]
    ctypes.memmove(start, title + bytes(room - len(title)), room)
    if NAMED:
        ctypes.CDLL(None).prctl(15, title[:15], 0, 0, 0)


def serve():
    burn(SECONDS)


workers = []
for number in (1, 2):
    pid = os.fork()
    if pid == 0:
        set_title("fftitle: worker %d [app]" % number)
        timed(serve)
        os._exit(0)
    workers.append(pid)
set_title("fftitle: master")
note(role="master")
for pid in workers:
    os.waitpid(pid, 0)
