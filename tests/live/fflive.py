# SPDX-License-Identifier: Apache-2.0
"""What the live tests share: run forkflame on a program, read what it wrote, and
check what must hold after every run.

A run here is one `forkflame record`. Its output goes to files in a directory of
its own (not to pipes: the children of a target keep those open), its stacks and
its statistics are parsed, and what the target programs noted of themselves
(programs/truth.py) is read. Then check_run asks four things of it:

  1. no thread of a target is stopped or traced;
  2. the processes seen are the sum of those sampled and those not, by reason;
  3. the weights add up, from lines over processes to the whole;
  4. the target's exit status and output are what they are without a profiler.

Environment: FORKFLAME, the program under test; FORKFLAME_PYTHONS, interpreters
separated by blanks; FORKFLAME_LONG=1 for the long versions; FORKFLAME_EVENTS, the source of
process events (--events) of all runs that name none; FORKFLAME_SAMPLER, how running
threads are read (--sampler), likewise, by stops if unset; FORKFLAME_KEEP=1 keeps the
directories of the runs; FORKFLAME_REFUSED, what the kernel refuses to FORKFLAME (see
check_refused.py): of "ptrace" and "readv" a profile cannot be what it should be, and
only what must hold all the same fails a test.
"""
import atexit
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import ffpauses
from ffparse import (Failure, expect, names, parse_collapsed, read_text,
                     short_name)

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
FORKFLAME = os.path.abspath(os.environ.get("FORKFLAME", "forkflame"))
LONG = os.environ.get("FORKFLAME_LONG") == "1"
EVENTS = os.environ.get("FORKFLAME_EVENTS")
REFUSED = os.environ.get("FORKFLAME_REFUSED", "")
MAIMED = REFUSED in ("ptrace", "readv")
# At high rates it would be the kernel by itself, on some machines; that has its own tests.
SAMPLER = os.environ.get("FORKFLAME_SAMPLER", "stop")
RATE = 100
ATTEMPTS = 5  # at a test in which the machine stood still

Interpreter = collections.namedtuple("Interpreter", "path version")


class Unsound(Failure):
    """What must hold whatever the kernel refuses, and however slow the machine is, was
    not so."""


def must(condition, text, *args):
    """As expect: for a stack that never was, a wrong line or name."""
    if not condition:
        raise Unsound(text % args)


class Skip(Exception):
    """The kernel does not allow what the test is about."""


def near(what, seen, right, tolerance):
    expect(abs(seen - right) <= tolerance,
           "%s: expected %.4g +- %.4g, saw %.4g", what, right, tolerance, seen)


def lasts(what, seen, right, tolerance):
    """As near, of a function that works or sleeps for a time by the clock: on a full
    machine it takes longer, as it waits for a CPU at its end."""
    expect(right - tolerance <= seen <= right + tolerance + .3 + .4 * right,
           "%s: expected %.4g +- %.4g, or somewhat longer, saw %.4g", what, right,
           tolerance, seen)


def slack(seconds, rate=RATE, share=.05):
    """What a weight may be off by: a share, and a sampling interval at each end
    (an interval may be a quarter longer than its mean)."""
    return share * seconds + 2.5 / rate


# Interpreters and programs

def version_of(path):
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    done = subprocess.run([path, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    match = re.match(r"(\d+)\.(\d+)\.(\d+)$", done.stdout.strip())
    return tuple(int(part) for part in match.groups()) if match else None


def find_pythons():
    """The newest interpreter here, the newest before 3.11, and the system's."""
    named = os.environ.get("FORKFLAME_PYTHONS")
    if named:
        return [Interpreter(path, version_of(path)) for path in named.split()]
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    paths = glob.glob(os.path.join(root, "versions", "*", "bin", "python3"))
    system = "/usr/bin/python3"
    found = [Interpreter(path, version_of(path))
             for path in paths + [system] if os.path.exists(path)]
    found = sorted((one for one in found if one.version and
                    one.version >= (3, 8)), key=lambda one: one.version)
    old = [one for one in found if one.version < (3, 11)]
    new = [one for one in found if one.version >= (3, 11)]
    chosen = new[-1:] + old[-1:]
    chosen += [one for one in found
               if one.path == system and one not in chosen]
    if not old:
        print("note: no Python older than 3.11 is here; not tried on one")
    if not chosen:
        raise Failure("no Python of 3.8 or newer is here")
    return chosen


_pythons = []


def pythons():
    if not _pythons:
        _pythons.extend(find_pythons())
    return _pythons


def newest():
    return pythons()[0].path


def program(name):
    return os.path.join(PROGRAMS, name)


def line_of(name, mark):
    """The number of the line of a program that ends in `# LINE: mark`."""
    with open(program(name)) as source:
        for number, line in enumerate(source, 1):
            if line.rstrip().endswith("# LINE: " + mark):
                return number
    raise Failure("%s has no line marked %s" % (name, mark))


def burn_lines():
    return range(line_of("truth.py", "burn begins"),
                 line_of("truth.py", "burn ends") + 1)


# Processes that this test started

_started = []


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


@atexit.register
def end_all():
    for process in _started:
        kill_group(process)


def spawn(command, **how):
    """Popen, as the leader of a session that is ended when the test ends."""
    process = subprocess.Popen(command, start_new_session=True, **how)
    _started.append(process)
    return process


def threads_of(pid):
    try:
        return [int(tid) for tid in os.listdir("/proc/%d/task" % pid)]
    except OSError:
        return []


def thread_state(pid, tid):
    """(state letter, tracer) of a thread; ("X", 0) when it has gone."""
    try:
        text = read_text("/proc/%d/task/%d/status" % (pid, tid))
    except OSError:
        return "X", 0
    fields = dict(line.split(":\t", 1) for line in text.splitlines()
                  if ":\t" in line)
    return fields["State"][0], int(fields["TracerPid"])


def held_threads(pids):
    """The threads of @pids that are stopped or traced, as (tid, state, tracer)."""
    held = []
    for pid in pids:
        for tid in threads_of(pid):
            state, tracer = thread_state(pid, tid)
            if state in "Tt" or tracer:
                held.append((tid, state, tracer))
    return held


def began(pid):
    """When the process began, by time.monotonic(); None: it has gone."""
    try:
        fields = read_text("/proc/%d/stat" % pid).rpartition(")")[2].split()
    except OSError:
        return None
    asleep = (time.clock_gettime(time.CLOCK_BOOTTIME) -
              time.clock_gettime(time.CLOCK_MONOTONIC))
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") - asleep


def still_there(run):
    """The pids of the members that have not gone. On a machine where others fork all
    the time a number is soon another's, who may be stopped as he likes."""
    start = run.ended - run.stats["duration_ns"] / 1e9
    for one in run.stats["members"]:
        at = began(one["pid"])
        if at is not None and at <= start + one["born_ns"] / 1e9 + .1:
            yield one["pid"]


def traced_by(tracer, pid):
    """Is @tracer (a thread; 0: none) one of @pid's?"""
    return bool(tracer) and tracer in threads_of(pid)


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, "%s: not within %g s", what, seconds)
        time.sleep(.005)


def read_truth(path):
    try:
        return [json.loads(line) for line in read_text(path).splitlines()]
    except OSError:
        return []


class Target:
    """A program of ours that runs without forkflame, to attach to."""

    def __init__(self, command, notes=1, open_truth=False, **how):
        self.dir = tempfile.mkdtemp(prefix="fflive-")
        if open_truth:
            os.chmod(self.dir, 0o777)  # it is another user's
        self.truth_path = os.path.join(self.dir, "truth")
        self.process = spawn(command, stdout=subprocess.DEVNULL,
                             env=environment(self.truth_path), **how)
        self.pid = self.process.pid
        wait_until(lambda: len(self.truth()) >= notes, 60, "start of " + command[-1])

    def truth(self):
        return read_truth(self.truth_path)

    def pids(self, role):
        return [fact["pid"] for fact in self.truth() if fact.get("role") == role]

    def alive(self):
        return self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        kill_group(self.process)
        shutil.rmtree(self.dir, ignore_errors=True)


def environment(truth_path, **more):
    """Ours, with the file of truth; no files are written beside the sources, and
    3.12's warning of forks in threaded programs is not for us."""
    return dict(os.environ, FFLIVE_TRUTH=truth_path,
                PYTHONDONTWRITEBYTECODE="1",
                PYTHONWARNINGS="ignore::DeprecationWarning", **more)


# A run of forkflame

_runs = []  # of the test that is running; the last is shown when it fails


class Run:
    """One `forkflame record`.

    status    as subprocess: minus the signal when it died of one
    stdout    bytes; the target's alone
    stderr    text; the target's and forkflame's
    stats     the parsed --stats, or None when there are none
    stacks    the parsed lines of all output files; [] unless collapsed
    files     name -> text of each output file
    truth     what the programs noted, a list of dicts
    ended     CLOCK_MONOTONIC seconds at which forkflame had gone
    """

    def __init__(self, args, command, stdin=None, env=None, under=(),
                 output="out.txt", program_path=None, **how):
        _runs.append(self)
        self.dir = tempfile.mkdtemp(prefix="fflive-")
        os.chmod(self.dir, 0o777)  # a run may be another user's
        self.args = [str(arg) for arg in args]
        self.output = output
        self.status = self.stats = self.ended = None
        self.stdout, self.stderr = b"", ""
        self.stacks, self.files, self.truth = [], {}, []
        argv = list(under) + [program_path or FORKFLAME, "record"]
        if output:
            argv += ["-o", self.path(output)]
            if "-f" not in self.args:
                argv += ["-f", "collapsed"]
        if EVENTS and not any(arg.startswith("--events") for arg in self.args):
            argv.append("--events=" + EVENTS)
        # The kernel's frames need the switch records, and another user has none.
        if not under and not any(
                "runcounts" in arg or arg.startswith("--sampler")
                for arg in self.args):
            argv.append("--sampler=" + SAMPLER)
        argv += ["--stats", self.path("stats.json")] + self.args
        if command:
            argv += ["--"] + [str(word) for word in command]
        with open(self.path("stdout"), "wb") as out, \
                open(self.path("stderr"), "wb") as err:
            self.process = spawn(
                argv, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err,
                env=environment(self.path("truth"), **(env or {})), **how)

    def path(self, name):
        return os.path.join(self.dir, name)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def wait(self, timeout=90):
        try:
            self.status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
            self.read()
            raise Unsound("forkflame %s still ran after %g s"
                          % (" ".join(self.args), timeout))
        self.ended = time.monotonic()
        self.read()
        if MAIMED:
            check_sound(self)
        return self

    def collapsed(self):
        """Is the output collapsed stacks?"""
        return "-f" not in self.args or "collapsed" in self.args

    def read(self):
        with open(self.path("stdout"), "rb") as file:
            self.stdout = file.read()
        self.stderr = read_text(self.path("stderr"))
        self.truth = read_truth(self.path("truth"))
        if os.path.exists(self.path("stats.json")):
            self.stats = json.loads(read_text(self.path("stats.json")))
        if self.output:
            pattern = self.path(self.output.replace("%p", "*"))
            for path in glob.glob(pattern) + glob.glob(pattern + ".*"):
                self.files[os.path.basename(path)] = read_text(path)
        self.stacks = []
        if self.collapsed():
            for text in self.files.values():
                self.stacks += parse_collapsed(text)

    def close(self):
        if not os.environ.get("FORKFLAME_KEEP"):
            shutil.rmtree(self.dir, ignore_errors=True)

    # What the profile says

    def weigh(self, pid=None, function=None, where=None):
        """Seconds (samples with --counts) of the stacks of @pid with @function
        anywhere in them for which where(stack) holds."""
        total = 0
        for stack in self.stacks:
            if ((pid is None or stack.pid == pid) and
                    (function is None or function in names(stack)) and
                    (where is None or where(stack))):
                total += stack.weight
        return total if "--counts" in self.args else total / 1e6

    def member(self, pid):
        found = [one for one in self.stats["members"] if one["pid"] == pid]
        expect(len(found) == 1, "pid %d is %d members", pid, len(found))
        return found[0]

    def pids(self, verdict="sampled"):
        return sorted(one["pid"] for one in self.stats["members"]
                      if one["verdict"] == verdict)

    # What the programs say

    def spans(self, name):
        found = [fact for fact in self.truth if fact.get("span") == name]
        expect(found, "the program noted no span of %s", name)
        return found

    def roles(self, name):
        return [fact["pid"] for fact in self.truth if fact.get("role") == name]

    def check_span(self, name, rate=RATE, share=.05):
        """Each process that noted @name has it for as long as it says."""
        for span in self.spans(name):
            right = span["end"] - span["begin"]
            lasts("wall time of %s in pid %d" % (name, span["pid"]),
                  self.weigh(span["pid"], name), right, slack(right, rate, share))


def start(args, command=(), **how):
    return Run(args, command, **how)


def run(args, command=(), timeout=90, **how):
    return Run(args, command, **how).wait(timeout)


# The four checks

def check_let_go(pids, profiler=None):
    """@profiler: of which it is asked. What another tracer has is not its business."""
    held = [one for one in held_threads(pids) if profiler is None or not one[2] or
            traced_by(one[2], profiler)]
    expect(not held, "threads left stopped or traced: %s", held)


def check_seen(stats):
    counts = stats["processes"]
    named = {key: n for key, n in counts.items() if key != "seen"}
    expect(counts["seen"] == sum(named.values()),
           "processes: seen is not the sum of the others: %s", counts)
    expect(counts["seen"] == len(stats["members"]),
           "%d processes seen, %d members", counts["seen"], len(stats["members"]))
    told = collections.Counter(one["verdict"] for one in stats["members"])
    expect(told == +collections.Counter(named),
           "verdicts of the members %s, counted %s", dict(told), named)


def check_attempts(stats):
    samples = stats["samples"]
    taken = sum(samples[way] for way in
                ("stopped", "unstopped", "kernel", "repeated"))
    expect(samples["taken"] == taken,
           "samples taken are not stopped + unstopped + kernel + repeated: %s",
           samples)
    dropped = sum(stats["dropped"].values())
    expect(stats["attempts"] == taken + dropped,
           "%d attempts, but %d taken and %d dropped", stats["attempts"], taken,
           dropped)


def check_totals(stats):
    members = stats["members"]
    for key, whole in (("wall_ns", stats["wall_ns"]), ("cpu_ns", stats["cpu_ns"]),
                       ("samples", stats["samples"]["taken"])):
        total = sum(one[key] for one in members)
        expect(total == whole, "%s: the members add up to %d, the run says %d",
               key, total, whole)


def check_lines(run):
    """The lines of a process add up to it, but for rounding to microseconds,
    once for each image."""
    counts = "--counts" in run.args
    key = "samples" if counts else run.stats["mode"] + "_ns"
    lines, right, images = (collections.Counter() for _ in range(3))
    for stack in run.stacks:
        lines[stack.pid] += stack.weight
    for one in run.stats["members"]:
        right[one["pid"]] += one[key] / (1 if counts else 1000)
        images[one["pid"]] += max(1, len(one["images"]))
    for pid in set(lines) | set(right):
        off = abs(lines[pid] - right[pid])
        expect(off <= (0 if counts else images[pid]),
               "pid %d: its lines add up to %d, its %s is %.3f",
               pid, lines[pid], key, right[pid])


def check_sound(run):
    """Nobody is hurt, and the sums hold."""
    try:
        # With its figures written, it dies of the signal that its command died of.
        expect(run.stats or run.status is None or run.status >= 0 or
               -run.status in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL),
               "forkflame died of signal %s", run.status)
        expect("Traceback" not in run.stderr, "the target failed: %s", run.stderr)
        if run.stats:
            # What others hold, as some tests do, is theirs.
            held = [one for one in held_threads(still_there(run))
                    if traced_by(one[2], run.process.pid)]
            expect(not held, "threads left traced: %s", held)
            check_seen(run.stats)
            check_attempts(run.stats)
            check_totals(run.stats)
        if run.stats and run.files and run.collapsed():
            check_lines(run)
    except Failure as failure:
        raise Unsound(str(failure))


def check_run(run, status=0, stdout=b"", here=True):
    """What must hold after every run. @here: the pids are of our namespace."""
    expect(run.status == status, "exit status: expected %s, saw %s", status,
           run.status)
    expect(run.stdout == stdout, "output: expected %r, saw %r", stdout, run.stdout)
    expect("Traceback" not in run.stderr, "the target failed: %s", run.stderr)
    expect(run.stats is not None, "no --stats were written")
    if here:
        check_let_go(still_there(run), run.process.pid)
    check_sound(run)
    held = run.stats["held"]
    expect(held["mean_ns"] <= held["longest_ns"], "held: %s", held)
    return run


# A test program

def show_last_run():
    if not _runs:
        return
    run = _runs[-1]
    print("  forkflame %s: status %s" % (" ".join(run.args), run.status))
    for line in run.stderr.splitlines()[-12:]:
        print("  stderr: " + line)
    if run.stats:
        brief = {key: value for key, value in run.stats.items()
                 if key != "members"}
        print("  stats: " + json.dumps(brief))
        for one in run.stats["members"][:12]:
            print("  member: " + json.dumps(one)[:400])


def try_once(test, args):
    """Returns what came of it, and why; the last run is still there."""
    try:
        test(*args)
    except Skip as skip:
        return "SKIP", ": machine cannot: %s" % skip
    except Unsound as failure:
        return "unsound", "\n  %s" % failure
    except Failure as failure:
        if MAIMED:
            return "maimed", ": %s" % str(failure).splitlines()[0][:200]
        return "FAIL", "\n  %s" % failure
    except Exception:  # what was read is not as it must be
        if MAIMED:
            return "maimed", ": " + traceback.format_exc(0).strip()[-200:]
        return "FAIL", "\n" + traceback.format_exc()
    return "ok", ""


def clear_up():
    end_all()
    _started.clear()
    for run in _runs:
        run.close()
    _runs.clear()


def attempt(test, *args):
    """Run one test. Returns "ok", "SKIP" or "FAIL"; "maimed" where it had to.

    Where it fails and the machine stood still meanwhile, nothing is known: it is run
    again, but for what is wrong at any speed."""
    name = " ".join([test.__name__.replace("_", " ")] +
                    ["(%s)" % os.path.realpath(arg) for arg in args])
    ffpauses.begin()
    for left in reversed(range(ATTEMPTS)):
        begin = time.monotonic()
        outcome, why = try_once(test, args)
        pause = ffpauses.longest(begin) if outcome == "FAIL" else 0
        if not pause or not left:
            break
        print("  note: %s: %s; the machine stood still for %.0f ms, so once more" %
              (name, why.strip().splitlines()[-1][:200], pause * 1e3), flush=True)
        clear_up()
    if outcome == "unsound":
        outcome = "FAIL"
    print("%s: %s%s [%.1f s]" % (outcome, name, why, time.monotonic() - begin),
          flush=True)
    if outcome == "FAIL":
        show_last_run()
    clear_up()
    return outcome


def main(each_python=(), once=()):
    """Run the tests: the first ones with each interpreter, the others once."""
    expect(os.access(FORKFLAME, os.X_OK), "no program at %s (set FORKFLAME)",
           FORKFLAME)
    outcomes = [attempt(test, python.path)
                for python in pythons() for test in each_python]
    outcomes += [attempt(test) for test in once]
    if "FAIL" in outcomes:
        sys.exit(1)
    sys.exit(77 if "SKIP" in outcomes else 0)
