#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs, each started small and profiled with its workers.

	check_apps.py [NAME...]		all of them, or those of these names

Of each one: the functions of its workers have in the profile what the workers'
own CPU clocks say, they are in nobody else's, as many processes are sampled as
there must be, and the report shows the workers as a pool. What a live test checks
after every run (fflive.check_run) is checked as well. At the end comes a table:
program, processes, result, seconds. A program that is not here is "not tested".

Environment: as for the live tests, and FORKFLAME_APPS, where install.sh puts what
is not the distribution's (~/.cache/forkflame-apps).
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
sys.path.insert(0, os.path.join(HERE, os.pardir, "live"))

import fflive  # noqa: E402
import ffworkers  # noqa: E402
import live_pools  # noqa: E402
from fflive import Skip, expect, wait_until  # noqa: E402

SYSTEM = "/usr/bin/python3"  # whose modules are the distribution's
CACHE = os.environ.get("FORKFLAME_APPS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
    "forkflame-apps")
PATH = {"PYTHONPATH": PROGRAMS + ":" + fflive.PROGRAMS}


# What is here

def need(program):
    """The path of a program; without it there is no test."""
    path = shutil.which(program)
    if not path:
        raise Skip("%s is not installed" % program)
    return path


def need_modules(*modules, python=SYSTEM):
    """Modules that @python can import."""
    for module in modules:
        if not os.path.exists(python) or subprocess.run(
                [python, "-c", "import " + module], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode:
            raise Skip("%s has no %s" % (python, module))


def ours(name):
    return os.path.join(PROGRAMS, name)


# A run, and what its recording says

def start(command, args=(), env=()):
    return ffworkers.start(["-f", "ff"] + list(args), command, output="run.ff",
                           env=dict(PATH, **dict(env)), cwd=PROGRAMS)


def report(run, view, *args):
    done = subprocess.run([fflive.FORKFLAME, "report", "-f", view, "-o", "-",
                           *args, run.path("run.ff")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          errors="surrogateescape")
    expect(done.returncode == 0, "report -f %s: status %d: %s", view,
           done.returncode, done.stderr)
    return done.stdout


def finish(run, truth=None):
    """Wait for the run, and check what must hold after every one. Its stacks are
    those of the report. @truth: what the programs noted, if not in its file."""
    run.wait(240)
    fflive.check_run(run, stdout=run.stdout)
    run.stacks = fflive.parse_collapsed(report(run, "collapsed", "--mode", "cpu"))
    fflive.check_lines(run)
    if truth is not None:
        run.truth = truth
    return run


class Attached:
    """A program that runs already when the profiler comes, and still when it
    goes: what it does inside the with is profiled, and counts."""

    def __init__(self, command, **env):
        self.dir = tempfile.mkdtemp(prefix="fflive-")
        self.truth = os.path.join(self.dir, "truth")
        self.main = fflive.spawn(
            command, cwd=PROGRAMS, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=fflive.environment(self.truth, **dict(PATH, **env)))

    def __enter__(self):
        self.run = start((), ["-p", self.main.pid])
        wait_until(lambda: self.main.pid in ffworkers.watched(self.run), 30,
                   "attaching")
        self.begun = time.monotonic()
        return self.run

    def __exit__(self, kind, *ignored):
        try:
            if kind is None:
                self.let_go()
        finally:
            shutil.rmtree(self.dir)

    def let_go(self):
        self.run.signal(signal.SIGINT)
        self.run.process.wait()
        expect(self.main.poll() is None, "the program has gone")
        finish(self.run, [fact for fact in fflive.read_truth(self.truth)
                          if fact.get("begin", 0) > self.begun])
        os.kill(self.main.pid, signal.SIGTERM)
        expect(self.main.wait(60) == 0, "status: %s", self.main.returncode)


def check_pool(run, workers):
    """Workers that have one parent are one pool of the report, all of them."""
    table = report(run, "table")
    sizes = [int(size) for size in re.findall(r"^pool of (\d+)", table, re.M)]
    expect(len(workers) in sizes, "%d workers, but the pools are of %s:\n%s",
           len(workers), sizes, table)


def check_workers(run, function, count, total, sampled):
    """@count workers have @function, which took @total seconds of all of them,
    and of all processes @sampled are Pythons, and no others are in doubt. Returns
    the pids of the workers."""
    workers = ffworkers.check_clocks(run, (function,))
    expect(len(workers) == count, "expected %d workers, saw %s", count,
           sorted(workers))
    spent = sum(fact["cpu"] for fact in run.spans(function))
    fflive.near("what the workers noted", spent, total, .05 * total)
    ffworkers.check_elsewhere(run, (function,), workers)
    counts = run.stats["processes"]
    others = counts["not_python"]
    if run.stats["events"] != "connector":
        # A program that has ended before the next look had time to be seen.
        others += counts["too_short"] + counts["gone"]
    expect(counts["sampled"] == sampled and counts["seen"] == sampled + others,
           "expected %d sampled, and the others to be no Pythons: %s", sampled,
           counts)
    return workers


def check_siblings(run, workers, parent):
    """They have one parent, and are one pool of the report."""
    ffworkers.check_parent(run, workers, parent, "workers")
    check_pool(run, workers)


def first(run):
    """The pid of the command, or of the process that was asked for."""
    return run.stats["members"][0]["pid"]


# concurrent.futures, gunicorn: these are live tests as well

def executor(method):
    def program():
        return live_pools.executor_workers_have_their_own_clocks(
            fflive.newest(), method)
    return program


def gunicorn():
    need(live_pools.GUNICORN)
    run = live_pools.workers_that_replace_each_other_are_all_in_the_profile()
    check_titles(run)
    return run


def check_titles(run):
    """With setproctitle it has titles: those of the workers are in the profile."""
    if subprocess.run([SYSTEM, "-c", "import setproctitle"],
                      stderr=subprocess.DEVNULL).returncode:
        print("  note: no setproctitle here, and so no titles")
        return
    for pid in run.roles("worker"):
        title = run.member(pid)["images"][-1]["command"]
        expect(title == "gunicorn: worker [recycled:application]",
               "worker %d is called %s", pid, title)


# uWSGI: the interpreter comes with a plugin, by dlopen

def uwsgi_command(port, *more):
    return [need("uwsgi-core"), "--plugin", "python3", "--http-socket",
            "127.0.0.1:%d" % port, "--master", "--processes", "2",
            "--enable-threads", "--die-on-term", "--disable-logging",
            *(more or ("--wsgi-file", fflive.program("recycled.py")))]


def check_uwsgi(run, served):
    workers = check_workers(run, "view", len(served), .02 * 20, 3)
    check_siblings(run, workers, first(run))
    return run


def uwsgi():
    port = ffworkers.free_port()
    run = start(uwsgi_command(port))
    served = ffworkers.serve(port, 20)
    os.kill(command_of(run), signal.SIGTERM)
    return check_uwsgi(finish(run), served)


def uwsgi_attached():
    port = ffworkers.free_port()
    program = Attached(uwsgi_command(port))
    ffworkers.serve(port, 1)
    with program as run:
        served = ffworkers.serve(port, 20)
    return check_uwsgi(run, served)


def uwsgi_interpreters():
    """Its threads go from interpreter to interpreter, and have thread states that
    others made for them."""
    port = ffworkers.free_port()
    run = start(uwsgi_command(
        port, "--threads", "3", "--manage-script-name", "--mount",
        "/a=" + ours("mounted.py"), "--mount", "/b=" + ours("mounted.py")))
    served = ffworkers.serve(port, 30, ("/a", "/b"))
    os.kill(command_of(run), signal.SIGTERM)
    workers = ffworkers.check_clocks(finish(run), ("view_a", "view_b"))
    expect(workers == set(served), "%s answered, views in %s", dict(served),
           sorted(workers))
    ffworkers.check_sampled(run, 3)
    return run


def command_of(run):
    """The pid of the command of a run that goes on."""
    path = "/proc/%d/task" % run.process.pid
    children = [int(pid) for tid in os.listdir(path) for pid in
                fflive.read_text("%s/%s/children" % (path, tid)).split()]
    expect(len(children) == 1, "children of forkflame: %s", children)
    return children[0]


# mod_wsgi: an interpreter for each of two mounts, in Apache's own processes or in
# those that it starts for them. They are another user's.

APACHE = """\
ServerName localhost
Listen 127.0.0.1:%(port)d
PidFile %(where)s/pid
ErrorLog %(where)s/errors
DefaultRuntimeDir %(where)s
LoadModule mpm_%(mpm)s_module %(modules)s/mod_mpm_%(mpm)s.so
LoadModule authz_core_module %(modules)s/mod_authz_core.so
LoadModule wsgi_module %(modules)s/mod_wsgi.so
User nobody
Group nogroup
WSGISocketPrefix %(where)s/wsgi
WSGIScriptAlias /a %(where)s/mounted.py
WSGIScriptAlias /b %(where)s/mounted.py
<Directory %(where)s>
	Require all granted
</Directory>
"""
OWN = """\
StartServers 2
ServerLimit 2
MinSpareServers 1
WSGIPythonPath %(where)s
"""
DAEMONS = """\
StartServers 1
ServerLimit 1
WSGIRestrictEmbedded On
WSGIDaemonProcess apps processes=2 threads=3 python-path=%(where)s
WSGIProcessGroup apps
"""


def apache(where, mpm, more):
    """(port, command) of an Apache that has its files in @where."""
    modules = "/usr/lib/apache2/modules"
    words = [need("apache2"), "-D", "FOREGROUND", "-f", where + "/conf"]
    if not os.path.exists(modules + "/mod_wsgi.so"):
        raise Skip("mod_wsgi is not installed")
    port = ffworkers.free_port()
    os.chmod(where, 0o755)
    shutil.copy(ours("mounted.py"), where)
    shutil.copy(fflive.program("truth.py"), where)
    with open(where + "/conf", "w") as out:
        out.write((APACHE + more) % {"where": where, "mpm": mpm, "port": port,
                                     "modules": modules})
    return port, words


def mod_wsgi(mpm, more, others):
    """@others: processes of Apache that run no Python."""
    def program():
        with tempfile.TemporaryDirectory(prefix="fflive-") as where:
            port, command = apache(where, mpm, more)
            run = start(command)
            served = ffworkers.serve(port, 60, ("/a", "/b"))
            os.kill(command_of(run), signal.SIGTERM)
            finish(run)
        workers = ffworkers.check_clocks(run, ("view_a", "view_b"))
        expect(workers == set(served), "%s answered, views in %s", dict(served),
               sorted(workers))
        ffworkers.check_elsewhere(run, ("view_a", "view_b"), workers)
        ffworkers.check_sampled(run, 2, 2 + others)
        return run
    return program


# Celery, with Redis as its broker

def redis(port, where):
    fflive.spawn(
        [need("redis-server"), "--port", str(port), "--bind", "127.0.0.1",
         "--save", "", "--appendonly", "no", "--dir", where],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: redis_answers(port), 30, "answer of Redis")


def redis_answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as one:
            one.sendall(b"PING\r\n")
            return one.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def celery_jobs(count, broker):
    """Have them done. Returns the pids of those who did."""
    code = ("import celery, celery_tasks\n"
            "jobs = celery.group(celery_tasks.job.s(n) for n in range(%d))\n"
            "print(*jobs.apply_async().get(timeout=120))" % count)
    done = subprocess.run([SYSTEM, "-c", code], cwd=PROGRAMS, text=True,
                          env=dict(os.environ, **PATH, **broker),
                          stdout=subprocess.PIPE)
    expect(done.returncode == 0, "the client of Celery: %d", done.returncode)
    return {int(pid) for pid in done.stdout.split()}


def celery():
    need_modules("celery", "redis")
    port = ffworkers.free_port()
    broker = {"FFAPPS_BROKER": "redis://127.0.0.1:%d/0" % port}
    with tempfile.TemporaryDirectory() as where:
        redis(port, where)
        program = Attached([SYSTEM, "-m", "celery", "-A", "celery_tasks",
                            "worker", "-c", "2", "-O", "fair", "-l", "ERROR"],
                           **broker)
        celery_jobs(2, broker)
        with program as run:
            did = celery_jobs(8, broker)
    workers = check_workers(run, "resize", len(did), .8, 3)
    ffworkers.check_parent(run, workers, program.main.pid, "workers")
    return run


# joblib, dask, MPI, pytest

def joblib():
    need_modules("joblib")
    run = finish(start([SYSTEM, ours("joblib_loky.py")]))
    workers = check_workers(run, "square", 2, .8, 5)
    check_siblings(run, workers, run.roles("root")[0])
    return run


def dask():
    need_modules("distributed")
    run = finish(start([SYSTEM, ours("dask_cluster.py")]))
    workers = check_workers(run, "chunk", 2, .8, 4)
    check_siblings(run, workers, run.roles("root")[0])
    return run


def mpi():
    """The root is no Python."""
    need_modules("mpi4py")
    run = finish(start([need("mpirun"), "--allow-run-as-root", "--oversubscribe",
                        "-n", "2", SYSTEM, ours("mpi_ranks.py")]))
    workers = check_workers(run, "rank_work", 2, .9, 2)
    check_siblings(run, workers, first(run))
    busy = [fact["pid"] for fact in run.truth if fact.get("rank") == 0][0]
    other = (workers - {busy}).pop()
    expect(run.weigh(busy, "rank_work") > 1.5 * run.weigh(other, "rank_work"),
           "the first rank is not the busy one")
    return run


def xdist():
    need_modules("xdist")
    run = finish(start([SYSTEM, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                        "-n", "2", ours("xdist_cases.py")]))
    workers = check_workers(run, "case", 2, .8, 3)
    check_siblings(run, workers, first(run))
    expect(b"8 passed" in run.stdout, "pytest says: %s", run.stdout)
    return run


# PySpark: a Python that forks workers, under a JVM, under a Python

def pyspark():
    python = os.path.join(CACHE, "venv", "bin", "python")
    need("java")
    need_modules("pyspark", python=python)
    run = finish(start([python, ours("spark_job.py")],
                       env={"PYSPARK_PYTHON": python}))
    workers = check_workers(run, "record", 2, .8, 4)
    daemon = run.member(min(workers))["parent"]
    check_siblings(run, workers, daemon)
    commands = [image["command"] for image in run.member(daemon)["images"]]
    expect("pyspark.daemon" in commands[-1], "the daemon is %s", commands)
    return run


def torch():
    need_modules("torch")
    run = finish(start([SYSTEM, ours("torch_loader.py")]))
    workers = check_workers(run, "decode", 2, .8, 3)
    check_siblings(run, workers, run.roles("root")[0])
    return run


APPS = [
    ("ProcessPoolExecutor fork", executor("fork")),
    ("ProcessPoolExecutor spawn", executor("spawn")),
    ("ProcessPoolExecutor forkserver", executor("forkserver")),
    ("gunicorn --max-requests", gunicorn),
    ("uWSGI", uwsgi),
    ("uWSGI, attached to", uwsgi_attached),
    ("uWSGI, two interpreters", uwsgi_interpreters),
    ("mod_wsgi, daemons", mod_wsgi("event", DAEMONS, 2)),
    ("mod_wsgi, in Apache", mod_wsgi("prefork", OWN, 1)),
    ("Celery with Redis, attached to", celery),
    ("joblib loky", joblib),
    ("dask LocalCluster", dask),
    ("mpirun mpi4py", mpi),
    ("pytest-xdist", xdist),
    ("PySpark", pyspark),
    ("torch DataLoader", torch),
]


# The table

def attempt(name, program):
    """A line of the table: name, processes, result, seconds, why not."""
    why, runs = [], []

    def test():
        try:
            runs.append(program())
        except Skip as skip:
            why.append(str(skip))
            raise

    test.__name__ = name
    begin = time.monotonic()
    outcome = fflive.attempt(test)
    processes = ""
    if runs:
        counts = runs[0].stats["processes"]
        processes = "%d of %d" % (counts["sampled"], counts["seen"])
    result = {"ok": "ok", "FAIL": "FAILED", "SKIP": "not tested"}[outcome]
    return (name, processes, result, "%.1f" % (time.monotonic() - begin),
            "".join(why))


def main(wanted):
    expect(os.access(fflive.FORKFLAME, os.X_OK),
           "no program at %s (set FORKFLAME)", fflive.FORKFLAME)
    rows = [attempt(name, program) for name, program in APPS
            if not wanted or any(word.lower() in name.lower() for word in wanted)]
    form = "%-31s %-9s %-10s %8s  %s"
    print("\n" + form % ("program", "sampled", "result", "seconds", ""))
    for row in rows:
        print((form % row).rstrip())
    results = [row[2] for row in rows]
    print("%d passed, %d failed, %d skipped" % tuple(
        results.count(one) for one in ("ok", "FAILED", "not tested")))
    return 1 if "FAILED" in results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
