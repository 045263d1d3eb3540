# SPDX-License-Identifier: Apache-2.0
"""What the tests of the farm share: which interpreters are there, how each is run."""
import ctypes
import glob
import json
import os
import signal
import subprocess

import assemble

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")

TELL = """
import json, sys
try:
    import sysconfig
    threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
except Exception:
    threaded = "free-threading" in sys.version
print(json.dumps([list(sys.version_info[:3]), threaded]))
"""

# Runs in a root directory, with /proc and our programs in it, under its own pid.
ROOTED = ('mount --bind /proc "$0/proc" && mkdir -p "$0/mnt" && '
          'mount --bind "$1" "$0/mnt" && root=$0 && shift && '
          'exec chroot "$root" "$@"')


class Build:
    """One interpreter.

    name     as the table has it
    words    the beginning of its command line; programs are put behind it
    env      its environment, if it needs more than ours
    root     the directory that is its root, or None
    version  (3, 13, 5), and threaded: without a GIL; told by itself
    """

    def __init__(self, name, words, env=None, root=None):
        self.name = name
        self.words = words
        self.env = env or {}
        self.root = root
        self.version, self.threaded = None, False

    def command(self, program, *args):
        """To run one of PROGRAMS."""
        if self.root:
            prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                      ROOTED, self.root, PROGRAMS]
            return prefix + self.words + ["/mnt/" + program] + list(args)
        return self.words + [os.path.join(PROGRAMS, program)] + list(args)

    def environment(self):
        return dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8",
                    PYTHONWARNINGS="ignore", **self.env)

    def ask(self):
        """Find out the version. False when it does not run."""
        command = self.command("", "")[:-2] + ["-c", TELL]
        try:
            done = subprocess.run(command, env=self.environment(), timeout=60,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            version, self.threaded = json.loads(done.stdout.decode())
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return False
        self.version = tuple(version)
        return True

    def text(self):
        return "%d.%d.%d%s" % (self.version + ("t" if self.threaded else "",))

    def told(self):
        """How forkflame names it: before 3.11 nothing tells the patch release."""
        if self.version >= (3, 11):
            return self.text()
        return "%d.%d" % self.version[:2]


_libc = ctypes.CDLL(None)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def start(command, **how):
    """A program that leads a session; it ends with us, however we do."""
    return subprocess.Popen(command, start_new_session=True,
                            preexec_fn=_die_with_parent, **how)


def end(process):
    """End a program that leads a session, and its children. A bundle that has
    unpacked itself tidies up, if it is asked to end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
    process.wait()


def installed():
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for path in sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python"))):
        name = path.split("/")[-3]
        yield Build("installed " + name, [path])
    if os.path.exists("/usr/bin/python3"):
        yield Build("the system's", ["/usr/bin/python3"])


def bytedeco(name, where):
    home = os.path.join(where, "org", "bytedeco", "cpython", "linux-x86_64")
    paths = [path for path in glob.glob(os.path.join(home, "python3.*"))
             if os.access(path, os.X_OK)]
    for path in paths[:1]:
        yield Build(name, [path], {"PYTHONHOME": home, "LD_LIBRARY_PATH": home})


def standalone(name, where):
    version = name.split("-")[1]
    path = os.path.join(where, "bin", "python" + version.rpartition(".")[0])
    yield Build(name, [path], {"PYTHONHOME": where})
    if version.startswith("3.14."):
        yield Build(name + " jit", [path],
                    {"PYTHONHOME": where, "PYTHON_JIT": "1"})


def of_source(name):
    """The builds of one source that is there."""
    where = os.path.join(assemble.cache(), name)
    root = os.path.join(assemble.cache(), "sid")
    if name == "sid":
        for path in sorted(glob.glob(os.path.join(where, "usr/bin/python3.??"))):
            yield Build("sid " + path[-4:], ["/usr/bin/" + os.path.basename(path)],
                        root=where)
    elif name.startswith("bytedeco-"):
        yield from bytedeco(name, where)
    elif name.startswith("standalone-"):
        yield from standalone(name, where)
    elif name.startswith("musl-"):
        package = name.replace("musl-", "python")
        yield Build(name, ["/musl/%s/python" % package], root=root)
    elif name == "no-cpython":
        return
    elif name.startswith("embedded-"):
        version = name.partition("-")[2]
        homes = glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*" % version))
        yield Build(name, [os.path.join(where, "worker")],
                    {"PYTHONHOME": homes[0]} if homes else {})
    elif name.startswith("pyinstaller-"):
        library = glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/lib/python3*" %
                                               name.partition("-")[2]))
        for kind in ("onedir", "onefile"):
            program = kind if kind == "onefile" else "onedir/onedir"
            yield Build("%s %s" % (name, kind), [os.path.join(where, program)],
                        {"FARM_LIBRARY": library[0]} if library else {})
    elif name.startswith("renamed-"):
        yield Build(name, [os.path.join(where, "worker")], {"PYTHONHOME": "/usr"})
    else:
        yield Build(name, [os.path.join(where, "bin", "python3")])


def others():
    """(name, command, how forkflame names it) of what is no CPython."""
    root = os.path.join(assemble.cache(), "sid")
    if os.path.exists(os.path.join(assemble.cache(), "no-cpython", ".done")):
        for name, told in (("pypy3", "PyPy"), ("micropython", "MicroPython")):
            build = Build(name, ["/usr/bin/" + name], root=root)
            yield name, build.command("", "")[:-2], told


def why_missing(name):
    try:
        with open(os.path.join(assemble.cache(), name + ".missing")) as reason:
            return reason.read().strip()
    except OSError:
        return "not assembled: run tests/farm/assemble.py"


def builds(only_installed=False):
    """([Build, ...] in order of their versions, {name: why it is missing})"""
    found, missing = [], {}
    candidates = list(installed())
    for name, _ in [] if only_installed else assemble.SOURCES:
        done = os.path.join(assemble.cache(), name, ".done")
        if os.path.exists(done):
            candidates += of_source(name)
        else:
            missing[name] = why_missing(name)
    for build in candidates:
        if build.ask():
            found.append(build)
        else:
            missing[build.name] = "it does not run here"
    found.sort(key=lambda build: (build.version, build.threaded, build.name))
    return found, missing
