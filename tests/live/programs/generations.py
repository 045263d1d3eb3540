# SPDX-License-Identifier: Apache-2.0
"""generations.py N [PROGRAM]: N children, who wait. A byte on standard input ends them
and makes N others, who replace them; the end of the input ends all. With PROGRAM
each becomes that at its end."""
import os
import sys

from truth import note

N, PROGRAM = int(sys.argv[1]), sys.argv[2:]


def wait_for_the_end(fd):
    os.read(fd, 1)
    if PROGRAM:
        os.execv(PROGRAM[0], PROGRAM)
    os._exit(0)


def bear(generation):
    """Returns what ends them when it is closed, and their pids."""
    read, write = os.pipe()
    pids = []
    for _ in range(N):
        pid = os.fork()
        if pid == 0:
            os.close(write)
            note(role="born", generation=generation)
            wait_for_the_end(read)
        pids.append(pid)
    os.close(read)
    return write, pids


def end(write, pids):
    os.close(write)
    for pid in pids:
        os.waitpid(pid, 0)


generation = 0
living = bear(generation)
while os.read(0, 1):
    generation += 1
    end(*living)
    living = bear(generation)
end(*living)
