# SPDX-License-Identifier: Apache-2.0
"""On a CPU that three others want, sleeps for long and works, three times."""
import os
import subprocess
import time

from truth import bound_to, burn, timed


def rest():
    time.sleep(1)


def work():
    burn(.6)


os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
me = os.getpid()
others = [subprocess.Popen(["sh", "-c", "while :; do :; done"],
                           preexec_fn=lambda: bound_to(me)) for _ in range(3)]
for _ in range(3):
    timed(rest)
    timed(work)
for other in others:
    other.kill()
    other.wait()
