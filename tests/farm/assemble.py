#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bring the interpreters of the farm together, outside the source tree.

	tests/farm/assemble.py [--list] [NAME ...]

Each source is a function below. What is there already is left alone; what cannot
be had is named, with the reason, and tried again the next time. All of it goes
into $FORKFLAME_FARM, else $XDG_CACHE_HOME/forkflame-farm, else
~/.cache/forkflame-farm: a folder a source, complete when it has a file `.done`.
No step runs longer than its limit. A full farm is 4 GB and half an hour; it needs
root (chroot), debootstrap, apt-get, mvn, go, pip and a C compiler, as far as the
source does; of those, root gets what Debian has.
"""
import fcntl
import gzip
import os
import shutil
import subprocess
import sys
import time
import zipfile

STEP = 600  # seconds; of compiling, three times that


def cache():
    base = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    return os.environ.get("FORKFLAME_FARM", os.path.join(base, "forkflame-farm"))


class Missing(Exception):
    """Why a source cannot be had here."""


# Where Debian has what is not on every machine.
PACKAGES = {"debootstrap": "debootstrap", "mvn": "maven", "go": "golang-go"}


def need(*tools):
    for tool in tools:
        if tool in PACKAGES and not shutil.which(tool) and os.geteuid() == 0 and \
                shutil.which("apt-get"):
            step(["apt-get", "install", "-q", "-y", "--no-install-recommends",
                  PACKAGES[tool]], env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
        if not shutil.which(tool):
            raise Missing("no %s here" % tool)


def need_root():
    if os.geteuid() != 0:
        raise Missing("only root may chroot")


def step(command, limit=STEP, **how):
    """Run a command; its output goes to the log of the source."""
    log = os.path.join(cache(), "log")
    with open(log, "ab") as out:
        out.write(("\n+ %s\n" % " ".join(command)).encode())
        out.flush()
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=out, timeout=limit, **how)
        except subprocess.TimeoutExpired:
            raise Missing("%s: not done in %d s" % (command[0], limit))
        except OSError as error:
            raise Missing("%s: %s" % (command[0], error.strerror))
    if done.returncode:
        raise Missing("%s: status %d, see %s" % (" ".join(command[:3]),
                                                 done.returncode, log))


# Debian

MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def debian_root(where):
    """Debian sid in a directory: another root, another libc, other mounts."""
    need("debootstrap")
    need_root()
    step(["debootstrap", "--variant=minbase",
          "--include=python3.13,python3.14,python3.15,procps", "sid", where,
          MIRROR], 2 * STEP)


def in_root(root, command, limit=STEP):
    """In a mount namespace of its own, so that nothing stays mounted."""
    step(["unshare", "--mount", "--propagation", "private", "sh", "-c",
          'mount --bind /proc "$0/proc" && exec chroot "$0" sh -ec "$1"',
          root, command], limit)


def apt(suite):
    """apt-get's words for a suite that is not this machine's."""
    here = os.path.join(cache(), "apt", suite)
    os.makedirs(os.path.join(here, "lists", "partial"), exist_ok=True)
    os.makedirs(os.path.join(here, "archives", "partial"), exist_ok=True)
    with open(os.path.join(here, "sources.list"), "w") as out:
        out.write("deb-src [signed-by=%s] %s %s main\n" % (KEYRING, MIRROR, suite))
    words = ["apt-get", "-q"]
    for option in ("Dir::Etc::sourcelist=%s/sources.list" % here,
                   "Dir::Etc::sourceparts=/nonexistent",
                   "Dir::State::lists=%s/lists" % here,
                   "Dir::Cache=%s" % here,
                   "Acquire::Check-Valid-Until=false",
                   "Acquire::Languages=none",
                   "APT::Sandbox::User=root"):
        words += ["-o", option]
    return words


def debian_source(where, package, suite):
    """The original sources of a Debian package, unpacked into `where`/src."""
    need("apt-get", "tar")
    os.makedirs(where)
    words = apt(suite)
    step(words + ["update"])
    try:
        step(words + ["source", "--download-only", package], cwd=where)
    except Missing:
        raise Missing("Debian %s's mirror has not the sources of %s" %
                      (suite, package))
    tars = [name for name in os.listdir(where) if ".orig.tar." in name and
            not name.endswith(".asc")]
    if len(tars) != 1:
        raise Missing("%s has %d tar files" % (package, len(tars)))
    src = os.path.join(where, "src")
    os.mkdir(src)
    step(["tar", "-xf", os.path.join(where, tars[0]), "-C", src,
          "--strip-components=1"])
    for name in os.listdir(where):
        if name != "src":
            os.unlink(os.path.join(where, name))
    return src


def compiled(package, suite, *options):
    """A CPython of Debian's sources, with the options of configure given."""
    def make(where):
        need("make", "cc")
        src = debian_source(where, package, suite)
        prefix = os.path.join(cache(), os.path.basename(where).split(".part")[0])
        step(["./configure", "-q", "--prefix=" + prefix, "--with-ensurepip=no"] +
             list(options), cwd=src)
        step(["nice", "make", "-s", "-j2"], 3 * STEP, cwd=src)
        stage = os.path.join(where, "stage")
        step(["nice", "make", "-s", "install", "DESTDIR=" + stage], cwd=src)
        for name in os.listdir(stage + prefix):
            os.rename(os.path.join(stage + prefix, name), os.path.join(where, name))
        shutil.rmtree(stage)
        shutil.rmtree(src)
    return make


def musl(package, suite):
    """Compiled with musl's gcc inside the Debian root, where it then lives."""
    def make(where):
        need_root()
        root = os.path.join(cache(), "sid")
        if not os.path.exists(os.path.join(root, ".done")):
            raise Missing("it is built in the Debian root, which is missing")
        src = debian_source(where, package, suite)
        inside = os.path.join(root, "musl", package)
        shutil.rmtree(inside, ignore_errors=True)
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        shutil.move(src, inside)
        in_root(root, INSTALL % "musl-tools gcc make libc6-dev linux-libc-dev")
        in_root(root, MUSL % package, 3 * STEP)
    return make


# The kernel's headers are not musl's: they are lent to it by links. configure must
# not hear of gcc's own triplet, nor the compiler of glibc's headers.
MUSL = r"""
for d in linux asm-generic; do
	ln -sfn /usr/include/$d /usr/include/x86_64-linux-musl/$d
done
ln -sfn /usr/include/x86_64-linux-gnu/asm /usr/include/x86_64-linux-musl/asm
cat >/musl/cc <<'EOF'
#!/bin/sh
for word; do
	shift
	case $word in
	--print-multiarch)
		exit 1 ;;
	-I/usr/include*|-I/usr/local/include*|-L/usr/lib*|-L/usr/local/lib*)
		continue ;;
	esac
	set -- "$@" "$word"
done
exec musl-gcc "$@"
EOF
chmod +x /musl/cc
cd /musl/%s
CC=/musl/cc ./configure -q --with-ensurepip=no
nice make -s -j2 || nice make -s -k -j2 || test -x python
./python -c 'import binascii, json, socket'
"""


def no_cpython(where):
    """Interpreters that are to be refused, in the Debian root."""
    need_root()
    root = os.path.join(cache(), "sid")
    if not os.path.exists(os.path.join(root, ".done")):
        raise Missing("they live in the Debian root, which is missing")
    os.makedirs(where)
    in_root(root, INSTALL % "pypy3 micropython")


INSTALL = ("apt-get -q -o Acquire::Check-Valid-Until=false update && "
           "DEBIAN_FRONTEND=noninteractive apt-get -qy "
           "-o Acquire::Check-Valid-Until=false install --no-install-recommends %s")


# Others' builds

def maven(version):
    """Bytedeco's build, from Maven Central: libpython without a symbol table."""
    def make(where):
        need("mvn")
        local = os.path.join(cache(), "m2")
        step(["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false",
              "-Dartifact=org.bytedeco:cpython:%s:jar:linux-x86_64" % version,
              "-Dmaven.repo.local=" + local])
        jar = os.path.join(local, "org", "bytedeco", "cpython", version,
                           "cpython-%s-linux-x86_64.jar" % version)
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(where)
        home = os.path.join(where, "org", "bytedeco", "cpython", "linux-x86_64")
        for name in os.listdir(home):
            if name.startswith("python"):
                os.chmod(os.path.join(home, name), 0o755)
    return make


def standalone(version):
    """python-build-standalone, what uv installs, as a Go module carries it."""
    def make(where):
        need("go")
        mods = os.path.join(cache(), "go")
        step(["go", "mod", "download",
              "github.com/kluctl/go-embed-python@" + version],
             cwd=cache(), env=dict(os.environ, GOPATH=mods, GOFLAGS="-modcacherw"))
        data = os.path.join(mods, "pkg", "mod", "github.com", "kluctl",
                            "go-embed-python@" + version, "python", "internal",
                            "data", "linux-amd64")
        if not os.path.isdir(data):
            raise Missing("the module has no %s" % data)
        shutil.copytree(data, where, symlinks=True)
        for folder, _, names in os.walk(where):
            for name in names:
                unpack(os.path.join(folder, name))
        for name in os.listdir(os.path.join(where, "bin")):
            os.chmod(os.path.join(where, "bin", name), 0o755)
    return make


def unpack(path):
    if not path.endswith(".gz") or os.path.islink(path):
        return
    with gzip.open(path) as packed, open(path[:-3], "wb") as out:
        shutil.copyfileobj(packed, out)
    os.unlink(path)


# Programs that have a Python in them

EMBED = """
#include <Python.h>
int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
"""


def embedded(version):
    """A program of another name, linked with an installed libpython."""
    def make(where):
        need("cc")
        home = os.path.expanduser("~/.pyenv/versions/" + version)
        short = "python" + ".".join(version.split(".")[:2])
        if not os.path.isdir(home):
            raise Missing("no %s here" % home)
        os.makedirs(where)
        source = os.path.join(where, "worker.c")
        with open(source, "w") as out:
            out.write(EMBED)
        step(["cc", "-o", os.path.join(where, "worker"), source,
              "-I%s/include/%s" % (home, short), "-L%s/lib" % home, "-l" + short,
              "-Wl,-rpath,%s/lib" % home])
    return make


def renamed(where):
    """Debian's static interpreter under a name that says nothing."""
    if not os.path.exists("/usr/bin/python3"):
        raise Missing("no /usr/bin/python3 here")
    os.makedirs(where)
    shutil.copy2(os.path.realpath("/usr/bin/python3"), os.path.join(where, "worker"))


# What the tests' programs import has to be named: it is they that run in a bundle.
RUNNER = """
import sys
import __future__, asyncio, atexit, binascii, collections, concurrent.futures
import contextlib, ctypes, dis, functools, gc, importlib.abc, importlib.machinery
import json, os, random, re, runpy, select, signal, sysconfig, threading, time
import types, weakref
try:
    import _interpreters
except ImportError:
    pass
del sys.argv[0]
if sys.argv[0] == "-c":
    exec(compile(sys.argv[1], "<string>", "exec"))
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def bundled(version):
    """PyInstaller's bundles: in one folder, and in one file, which unpacks itself
    into a temporary folder and runs as the child of what was started."""
    def make(where):
        python = os.path.expanduser("~/.pyenv/versions/%s/bin/python" % version)
        if not os.path.exists(python):
            raise Missing("no %s here" % python)
        os.makedirs(where)
        runner = os.path.join(where, "runner.py")
        with open(runner, "w") as out:
            out.write(RUNNER)
        tools = os.path.join(where, "tools")
        step([python, "-m", "venv", tools])
        step([tools + "/bin/pip", "-q", "install", "pyinstaller==6.22.3"])
        for kind in ("onedir", "onefile"):
            step([tools + "/bin/pyinstaller", "-y", "--" + kind, "--name", kind,
                  "--log-level", "WARN", "--distpath", where,
                  "--workpath", tools + "/work", "--specpath", tools, runner])
        shutil.rmtree(tools)
    return make


MAVEN = ("3.7.3-1.5.1 3.7.5-1.5.2 3.7.7-1.5.3 3.7.9-1.5.4 3.9.2-1.5.5 "
         "3.9.6-1.5.6 3.10.2-1.5.7 3.10.8-1.5.8 3.11.3-1.5.9 3.12.1-1.5.10 "
         "3.13.0-1.5.11 3.13.5-1.5.12 3.14.3-1.5.13").split()
STANDALONE = ("v0.0.0-3.10.16-20241219-1 v0.0.0-3.11.11-20241219-1 "
              "v0.0.0-3.14.6-20260610-1").split()

SOURCES = [("sid", debian_root)]
SOURCES += [("bytedeco-" + version.partition("-")[0], maven(version))
            for version in MAVEN]
SOURCES += [("standalone-" + version.split("-")[1], standalone(version))
            for version in STANDALONE]
SOURCES += [("embedded-3.12", embedded("3.12.1")), ("renamed-3.11", renamed),
            ("pyinstaller-3.8", bundled("3.8.18")),
            ("pyinstaller-3.13", bundled("3.13.0"))]
# Free-threaded. The sources of 3.14 and 3.15 are in the index of Debian's mirror
# alone, not on it; where they are, they are built.
SOURCES += [("debian-3.13.5t", compiled("python3.13", "trixie", "--disable-gil")),
            ("debian-3.13.15t", compiled("python3.13", "forky", "--disable-gil")),
            ("debian-3.14t", compiled("python3.14", "sid", "--disable-gil")),
            ("debian-3.15t", compiled("python3.15", "sid", "--disable-gil"))]
SOURCES += [("musl-3.13", musl("python3.13", "trixie")),
            ("musl-3.9", musl("python3.9", "bullseye")),
            ("no-cpython", no_cpython)]


def assemble(name, make):
    """Returns None when it is there, else why not."""
    where = os.path.join(cache(), name)
    why = where + ".missing"
    if os.path.exists(os.path.join(where, ".done")):
        return None
    shutil.rmtree(where, ignore_errors=True)
    part = where + ".part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        make(part)
        with open(os.path.join(part, ".done"), "w"):
            pass
        os.rename(part, where)
    except (Missing, OSError, zipfile.BadZipFile) as error:
        shutil.rmtree(part, ignore_errors=True)
        with open(why, "w") as out:
            out.write("%s\n" % error)
        return str(error)
    if os.path.exists(why):
        os.unlink(why)
    return None


def main(names):
    os.makedirs(cache(), exist_ok=True)
    if names == ["--list"]:
        print("\n".join(name for name, _ in SOURCES))
        return
    lock = open(os.path.join(cache(), "lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time; it ends with us
    for name, make in SOURCES:
        if names and name not in names:
            continue
        begin = time.monotonic()
        why = assemble(name, make)
        print("%-20s %s [%.0f s]" % (name, "not had: " + why if why else "there",
                                     time.monotonic() - begin), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
