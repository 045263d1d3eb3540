# SPDX-License-Identifier: Apache-2.0
"""Processes of a benchmark: targets that take orders, profilers attached to them,
neighbours that keep the CPUs busy; their CPU clocks, and their end.

Each is the leader of a session of its own, which is all that is ever killed, and
dies with us (PR_SET_PDEATHSIG).
"""
import atexit
import ctypes
import glob
import json
import os
import select
import signal
import subprocess
import sys
import time

from profilers import environment

PDEATHSIG = 1
TICK = os.sysconf("SC_CLK_TCK")

_libc = ctypes.CDLL(None)
_started = {}


class Trouble(Exception):
    """Why a run gave no figures."""


class NotTested(Trouble):
    """Why it was not even tried."""


class Late(Trouble):
    """It does not end in time; so it would not the next time."""


def _before_exec():
    # In a shell's background, SIGINT is ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _libc.prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def spawn(argv, **how):
    process = subprocess.Popen(argv, start_new_session=True, env=environment(),
                               preexec_fn=_before_exec, **how)
    _started[process.pid] = process
    return process


def exited(process):
    """Has it ended? Its pid stays taken until kill()."""
    return process.returncode is not None or os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill(process):
    """End the session of a process that spawn() started. Returns its rusage.

    It is reaped after that, so that its number is still its session's."""
    if _started.pop(process.pid, None) is None:
        return None
    for number in (signal.SIGKILL, signal.SIGCONT):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


@atexit.register
def kill_all():
    for process in list(_started.values()):
        kill(process)


# Clocks

def cpu_clock(pid):
    """CPU seconds of all threads of a process, by the scheduler's own clock."""
    return time.clock_gettime((~pid << 3) | 2)


def children(pid):
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def cpu_of(pid):
    """CPU seconds of a process, of the children it reaped, and of those it has."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rpartition(")")[2].split()
        total = cpu_clock(pid) + (int(fields[13]) + int(fields[14])) / TICK
    except OSError:
        return 0
    return total + sum(cpu_of(child) for child in children(pid))


def resident(pid):
    """MiB, with its children."""
    try:
        with open("/proc/%d/statm" % pid) as file:
            pages = int(file.read().split()[1])
    except OSError:
        return 0
    own = pages * os.sysconf("SC_PAGESIZE") / 2**20
    return own + sum(resident(child) for child in children(pid))


# Targets

class Target:
    """A program of targets/ that is set up, and waits for orders."""

    def __init__(self, python, folder, script, patience=30):
        self.text = b""
        self.process = spawn(python + ["-B", os.path.join(folder, script[0])] +
                             [str(word) for word in script[1:]],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.pid = int(self.line(patience))
        except BaseException:
            self.end()
            raise

    def line(self, patience):
        end = time.monotonic() + patience
        fd = self.process.stdout.fileno()
        while b"\n" not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise Trouble("the target did not answer in %g s" % patience)
            part = os.read(fd, 65536)
            if not part:
                raise Trouble("the target died")
            self.text += part
        line, _, self.text = self.text.partition(b"\n")
        return line

    def order(self, *numbers):
        try:
            os.write(self.process.stdin.fileno(),
                     (" ".join("%g" % one for one in numbers) + "\n").encode())
        except OSError as error:
            raise Trouble("the target has gone: %s" % error.strerror)

    def answer(self, patience):
        return json.loads(self.line(patience))

    def do(self, *numbers, patience=60):
        self.order(*numbers)
        return self.answer(patience)

    def end(self):
        kill(self.process)
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.end()


# Profilers at work

class Watch:
    """A profiler that is attached to a target.

    started  when it was started, by CLOCK_MONOTONIC
    cpu      CPU seconds of all of its life, once it has ended
    """

    def __init__(self, profiler, target, hz, out, **how):
        self.profiler, self.root, self.hz, self.out = profiler, target.pid, hz, out
        self.cpu = None
        argv = profiler.start(target.pid, hz, out, **how)
        with open(out + ".log", "wb") as log:
            self.started = time.monotonic()
            self.process = spawn(argv, stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=log)

    def cpu_now(self):
        self.alive()
        return cpu_of(self.process.pid)

    def resident(self):
        return resident(self.process.pid)

    def log(self):
        with open(self.out + ".log", errors="replace") as file:
            return file.read()

    def alive(self):
        """It has not ended; its status is left for end()."""
        if exited(self.process):
            tail = " ".join(self.log().split()[-25:])
            raise Trouble("it ended by itself: %s" % (tail or "said nothing"))

    def end(self, patience=20):
        """Ask it to end, and make it. Returns the stacks of its profile."""
        # As Ctrl-C does: to its helpers as well, which it may wait for.
        os.killpg(self.process.pid, signal.SIGINT)
        end = time.monotonic() + patience
        while not exited(self.process):
            if time.monotonic() > end:
                raise Late("not done %g s after SIGINT" % patience)
            time.sleep(.01)
        usage = kill(self.process)
        self.cpu = usage.ru_utime + usage.ru_stime
        return [] if self.profiler.blind else self.read()

    def read(self):
        try:
            found = list(self.profiler.stacks(self.out, self.hz, self.root))
        except (OSError, ValueError, IndexError, AttributeError) as error:
            raise Trouble("its profile cannot be read: %r; it said: %s" %
                          (error, " ".join(self.log().split()[-25:])))
        if not found:
            raise Trouble("its profile is empty; it said: %s" %
                          " ".join(self.log().split()[-25:]))
        return found

    def says(self):
        return self.profiler.says(self.out, self.log())

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        kill(self.process)


class Neighbours:
    """Busy processes, so that all CPUs are busy when the target runs on one."""

    def __init__(self, wanted):
        count = max(1, (os.cpu_count() or 2) - 1) if wanted else 0
        self.processes = [spawn([sys.executable, "-S", "-c", "while True: pass"],
                                stdin=subprocess.DEVNULL) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for process in self.processes:
            kill(process)


# Stacks

def within(stacks, name, pids=None):
    """The stacks with a function in them, of these processes alone."""
    return [one for one in stacks if name in one.names and
            (pids is None or one.pid in pids)]


def seconds(stacks):
    return sum(one.seconds for one in stacks)


def samples(stacks):
    return sum(one.count for one in stacks)
