#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the interpreter is: another root, a file that has gone, a program that is
called something else, one without a symbol left, an embedder, a second libpython.

Each test runs one function, `placed`, in such a place, and wants its time.
"""
import glob
import os
import shutil
import signal
import subprocess
import urllib.request

import ffplaces
import fflive
import live_user
from fflive import expect, near

SECONDS = .8
CODE = """
def placed():
    n = 0
    for i in range(%d):
        n += i
def main():
    for i in range(%d):
        placed()
main()
"""
# uWSGI's workers on this address.
PORT = 18437


def check_placed(run, seconds=SECONDS):
    """What it noted itself, where it did: a burn may end late on a full machine."""
    spans = [fact for fact in run.truth if fact.get("span") == "placed"]
    if spans:
        seconds = spans[0]["end"] - spans[0]["begin"]
    fflive.lasts("time in placed", run.weigh(None, "placed"), seconds, .15)


def check_busy(run):
    """By the CPU clock, where the work is a loop and not a time."""
    whole = sum(one["cpu_ns"] for one in run.stats["members"]) / 1e9
    placed = run.weigh(None, "placed")
    expect(placed > .6 * whole > 0, "of %.2f s of CPU, %.2f s in placed", whole,
           placed)


def home_of(python):
    prefix = ffplaces.prefix_of(python)
    return {"PYTHONHOME": prefix} if prefix != "/usr" else {}


# Other roots

def same_path_in_another_mount_namespace(python):
    """There the path is an interpreter, here it is /bin/true."""
    if subprocess.run(["unshare", "-m", "true"]).returncode:
        raise fflive.Skip("no new mount namespaces")
    with ffplaces.Folder() as folder:
        for name in ("in", "see"):
            os.mkdir(os.path.join(folder, name))
        shutil.copy(os.path.realpath(python), folder + "/in/py")
        shutil.copy("/bin/true", folder + "/see/py")
        script = ("mount --bind '%s/in' '%s/see' && exec '%s/see/py' '%s' %g" %
                  (folder, folder, folder, fflive.program("placed.py"), SECONDS))
        run = fflive.run([], ["unshare", "-m", "sh", "-c", script],
                         env=home_of(python))
    fflive.check_run(run)
    check_placed(run)
    expect(run.stats["processes"]["sampled"] == 1, "%s", run.stats["processes"])


def another_root_directory():
    """The system's interpreter, in a root that has little else."""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        print("  note: there is no /usr/bin/python3; not tried")
        return
    with ffplaces.Folder() as folder:
        root = folder + "/root"
        libraries = subprocess.run(["ldd", python], stdout=subprocess.PIPE,
                                   text=True).stdout.split()
        for path in [os.path.realpath(python)] + \
                [word for word in libraries if word.startswith("/")]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.realpath(path), root + path)
        os.rename(root + os.path.realpath(python), root + "/py")
        # What the host has there is no interpreter.
        os.mkdir(root + "/bin")
        os.link(root + "/py", root + "/bin/true")
        code = CODE % (20000, 400)
        run = fflive.run([], ["chroot", root, "/bin/true", "-S", "-E", "-c",
                              "import sys\n" + code],
                         env={"PYTHONHOME": "/none"})
        if "chroot:" in run.stderr:
            raise fflive.Skip(run.stderr.strip())
        if "No module named 'encodings'" in run.stderr:
            shutil.copytree("/usr/lib/python3.11", root + "/usr/lib/python3.11",
                            ignore=shutil.ignore_patterns("test*", "*.so", "dist*",
                                                          "config*", "lib2to3"))
            run = fflive.run([], ["chroot", root, "/bin/true", "-S", "-c", code])
    fflive.check_run(run)
    check_busy(run)


# Files that have gone

def private_copy(python, folder):
    """The interpreter and its libpython, on their own. Returns the environment."""
    os.mkdir(folder + "/d")
    shutil.copy(os.path.realpath(python), folder + "/d/python")
    for library in glob.glob(ffplaces.prefix_of(python) + "/lib/libpython*.so.*"):
        shutil.copy(library, folder + "/d")
    return dict(home_of(python), LD_LIBRARY_PATH=folder + "/d")


def attach_after(python, change):
    with ffplaces.Folder() as folder:
        env = private_copy(python, folder)
        truth = os.path.join(folder, "truth")
        target = fflive.spawn([folder + "/d/python", fflive.program("placed.py"),
                               "20"], env=dict(fflive.environment(truth), **env))
        fflive.wait_until(lambda: fflive.read_truth(truth), 60, "its start")
        change(folder + "/d")
        run = fflive.run(["-p", target.pid, "-d", SECONDS])
        expect(target.poll() is None, "the target has gone")
        fflive.kill_group(target)
    fflive.check_run(run)
    check_placed(run)


def deleted_files(python):
    attach_after(python, shutil.rmtree)


def replaced_files(python):
    def replace(directory):
        for path in glob.glob(directory + "/*"):
            shutil.copy("/bin/ls", path + ".new")
            os.rename(path + ".new", path)

    attach_after(python, replace)


def deleted_library_of_an_ordinary_user():
    """Who may not open /proc/PID/map_files: only its image in memory is left."""
    python = "/usr/bin/python3"
    found = glob.glob("/usr/lib/*/libpython3.*.so.1.0")
    if os.geteuid() or not found:
        print("  note: not root, or no libpython of the system's; not tried")
        return
    copies = live_user.Copies()
    try:
        os.mkdir(copies.dir + "/lib", 0o755)
        library = shutil.copy(found[0], copies.dir + "/lib")
        server = ffplaces.build(copies.dir + "/server", fflive.program("embed.c"),
                                library, "-Wl,-rpath," + copies.dir + "/lib")
        os.chmod(server, 0o755)
        target = fflive.spawn([server, CODE % (20000, 20000)],
                              **live_user.other_user())
        fflive.wait_until(lambda: "libpython" in fflive.read_text(
            "/proc/%d/maps" % target.pid), 60, "its start")
        fflive.time.sleep(.3)
        os.remove(library)
        run = fflive.run(["-p", target.pid, "-d", SECONDS], env=copies.env,
                         program_path=copies.forkflame, cwd=copies.dir,
                         **live_user.other_user())
        fflive.kill_group(target)
    finally:
        shutil.rmtree(copies.dir)
    fflive.check_run(run)
    check_busy(run)
    told = run.stats["members"][0]["images"][-1]["python"]
    expect(told == "%d.%d.%d" % fflive.version_of(python), "version: %s", told)


# Names and symbols

def stripped_files(python):
    with ffplaces.Folder() as folder:
        env = private_copy(python, folder)
        for path in glob.glob(folder + "/d/*"):
            os.chmod(path, 0o755)
            subprocess.run(["strip", "--strip-all", path], check=True)
        run = fflive.run([], [folder + "/d/python", fflive.program("placed.py"),
                              SECONDS], env=env)
    fflive.check_run(run)
    check_placed(run)


def renamed_program(python):
    with ffplaces.Folder() as folder:
        env = private_copy(python, folder)
        os.rename(folder + "/d/python", folder + "/d/app server")
        run = fflive.run([], [folder + "/d/app server",
                              fflive.program("placed.py"), SECONDS], env=env)
    fflive.check_run(run)
    check_placed(run)


def archive_of(python):
    """The static library, and what else has to be linked. None without one."""
    names = ("LIBPL", "LIBRARY", "LIBS", "SYSLIBS", "MODLIBS")
    directory, library, *libs = ffplaces.config_of(python, *names)
    path = os.path.join(directory, library)
    if not os.path.exists(path):
        return None, []
    words = [word for text in libs for word in text.split()]
    # Debian's is not made for programs that lie anywhere.
    return path, (["-no-pie"] if python.startswith("/usr/") else []) + words


def program_without_a_symbol(python):
    archive, libs = archive_of(python)
    if not archive:
        print("  note: %s has no static library; not tried" % python)
        return
    with ffplaces.Folder() as folder:
        server = ffplaces.build(folder + "/server", "-s",
                                fflive.program("embed.c"), archive, *libs,
                                "-lpthread", "-ldl", "-lutil", "-lm")
        run = fflive.run([], [server, CODE % (20000, 400)], env=home_of(python))
    fflive.check_run(run)
    check_busy(run)
    told = run.stats["members"][0]["images"][-1]["python"]
    expect(told.startswith("%d.%d" % fflive.version_of(python)[:2]), "version: %s",
           told)


# Embedders

def interpreter_that_ends_and_begins_again(python):
    archive, libs = archive_of(python)
    if not archive:
        print("  note: %s has no static library; not tried" % python)
        return
    half = (CODE % (20000, 150)).replace("placed", "%s")
    with ffplaces.Folder() as folder:
        server = ffplaces.build(folder + "/server", "-rdynamic",
                                fflive.program("embed.c"), archive, *libs,
                                "-lpthread", "-ldl", "-lutil", "-lm")
        run = fflive.run([], [server] + [half % (name, name) for name in
                                         ("first", "second", "third")],
                         env=home_of(python))
    fflive.check_run(run)
    whole = run.stats["cpu_ns"] / 1e9
    for name in ("first", "second", "third"):
        expect(run.weigh(None, name) > .15 * whole, "%s: %.3f of %.3f s of CPU",
               name, run.weigh(None, name), whole)


def library_that_is_loaded_late(python):
    found = glob.glob(ffplaces.prefix_of(python) + "/lib/libpython?.*.so.1.0")
    if not found:
        print("  note: %s has no libpython; not tried" % python)
        return
    with ffplaces.Folder() as folder:
        server = ffplaces.build(folder + "/server",
                                '-DLIBRARY="%s"' % found[0],
                                fflive.program("embed.c"), "-ldl")
        run = fflive.run([], [server, CODE % (20000, 400)], env=home_of(python))
    fflive.check_run(run)
    check_busy(run)


def file_that_is_mapped_twice(python):
    with ffplaces.Folder() as folder:
        env = private_copy(python, folder)
        files = glob.glob(folder + "/d/*")
        truth = os.path.join(folder, "truth")
        target = fflive.spawn([folder + "/d/python",
                               fflive.program("mapped_twice.py"), "20"] + files,
                              env=dict(fflive.environment(truth), **env))
        fflive.wait_until(lambda: fflive.read_truth(truth), 60, "its start")
        run = fflive.run(["-p", target.pid, "-d", SECONDS])
        fflive.kill_group(target)
    fflive.check_run(run)
    check_placed(run)


def second_library_that_is_not_used(python):
    others = [path for path in ffplaces.every_python()
              if ffplaces.prefix_of(path) != ffplaces.prefix_of(python)]
    tried = 0
    for other in others:
        for library in glob.glob(ffplaces.prefix_of(other) +
                                 "/lib/libpython?.*.so.1.0"):
            run = fflive.run([], [python, fflive.program("second_library.py"),
                                  SECONDS / 2, library])
            fflive.check_run(run)
            check_placed(run, SECONDS / 2)
            told = run.stats["members"][0]["images"][-1]["python"]
            expect(told.startswith("%d.%d" % fflive.version_of(python)[:2]),
                   "with %s: version %s", library, told)
            tried += 1
    expect(tried, "there is no other libpython")


def two_libpythons():
    """The oldest and the newest: version, library, prefix; None without two."""
    found = {}
    for python, version in ffplaces.every_python().items():
        for path in glob.glob(ffplaces.prefix_of(python) + "/lib/libpython?.*.so.1.0"):
            if version >= (3, 8):
                found[version] = (version, path, ffplaces.prefix_of(python))
    if len(found) < 2:
        print("  note: there are no two libpythons of 3.8 or newer; not tried")
        return None
    return [found[min(found)], found[max(found)]]


def build_server(folder, first, second):
    macros = ['-DFIRST="%s"' % first[1], '-DSECOND="%s"' % second[1],
              '-DHOME_1=L"%s"' % first[2], '-DHOME_2=L"%s"' % second[2]]
    return ffplaces.build(folder + "/server", *macros,
                          fflive.program("two_pythons.c"), "-ldl", "-lpthread")


def wait_for_mapping(target, library):
    fflive.wait_until(lambda: "libpython%d.%d" % library[0][:2] in fflive.read_text(
        "/proc/%d/maps" % target.pid), 60, "its start")
    fflive.time.sleep(.5)


def of_two_that_are_up_the_one_that_works():
    """Whichever is mapped first."""
    pair = two_libpythons()
    if not pair:
        return
    for idle, busy in (pair, pair[::-1]):
        with ffplaces.Folder() as folder:
            server = build_server(folder, idle, busy)
            target = fflive.spawn([server, CODE % (20000, 20000)])
            wait_for_mapping(target, busy)
            run = fflive.run(["-p", target.pid, "-d", SECONDS])
            fflive.kill_group(target)
        fflive.check_run(run)
        check_busy(run)
        told = run.stats["members"][0]["images"][-1]["python"]
        expect(told.startswith("%d.%d" % busy[0][:2]), "%s is busy, %s is shown",
               busy[0], told)


BOTH = """
import threading, time
threading.current_thread().name = "in NAME"
def NAME():
    while time.time() < end:
        sum(range(1000))
end = time.time() + 3
NAME()
"""


def check_both(run, pair):
    """Each in its own thread, under the mark of its version, from their start."""
    fflive.check_run(run)
    for name in ("older", "newer"):
        ours, others = ["[Python %d.%d" % one[0][:2]
                        for one in (pair if name == "older" else pair[::-1])]

        def under(mark):
            return run.weigh(None, name, lambda stack: any(
                frame.function.startswith(mark) for frame in stack.frames))
        expect(under(ours) > .5 and under(ours) > .7 * run.weigh(None, name),
               "%s: %s s, %s s of them under %s", name, run.weigh(None, name),
               under(ours), ours)
        near("%s under %s" % (name, others), under(others), 0, .001)
    told = run.stats["members"][0]["images"][-1]["python"]
    expect(all("%d.%d" % library[0][:2] in told for library in pair),
           "both run, %s is told", told)


def of_two_that_work_both_are_shown():
    pair = two_libpythons()
    if not pair:
        return
    older, newer = [BOTH.replace("NAME", name) for name in ("older", "newer")]
    for turn in (1, -1):
        with ffplaces.Folder() as folder:
            server = build_server(folder, *pair[::turn])
            command = [server] + [older, newer][::turn]
            target = fflive.spawn(command)
            wait_for_mapping(target, pair[::turn][1])
            run = fflive.run(["-p", target.pid, "-d", SECONDS])
            threads = ffplaces.dump(target.pid)[target.pid]["threads"]
            fflive.kill_group(target)
            check_both(run, pair)
            expect(sorted(one["name"] for one in threads) == ["in newer", "in older"],
                   "dump: %s", threads)
            # And when they begin while it is recorded.
            run = fflive.run([], command)
            check_both(run, pair)


def request():
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d/" % PORT, timeout=5) as got:
            return got.read()
    except OSError:
        return None


def find_uwsgi():
    """(command, environment); none without."""
    wanted = os.environ.get("FORKFLAME_UWSGI")  # a root where it was unpacked
    root = wanted or ""
    command = root + "/usr/bin/uwsgi-core"
    plugins = glob.glob(root + "/usr/lib/uwsgi/plugins/python3*_plugin.so")
    if not os.path.exists(command) or not plugins:
        return None, {}
    plugin = os.path.basename(plugins[0])[:-len("_plugin.so")]
    libraries = [root + "/lib/x86_64-linux-gnu", root + "/usr/lib/x86_64-linux-gnu"]
    return [command, "--plugins-dir", os.path.dirname(plugins[0]), "--plugin",
            plugin], {"LD_LIBRARY_PATH": ":".join(libraries)} if wanted else {}


def workers_of_uwsgi():
    command, env = find_uwsgi()
    if not command:
        print("  note: uWSGI is not installed; not tried")
        return
    server = fflive.spawn(command + ["--http-socket", "127.0.0.1:%d" % PORT,
                                     "--master", "--processes", "2", "--wsgi-file",
                                     fflive.program("wsgi_app.py")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, **env))
    fflive.wait_until(request, 60, "uWSGI's first answer")
    idle = fflive.run(["-p", server.pid, "-d", "0.5"])
    fflive.check_run(idle)
    expect(idle.stats["processes"]["sampled"] == 3 and
           not idle.weigh(None, None, lambda stack: stack.frames) and
           not sum(idle.stats["dropped"].values()), "idle: %s", idle.stats)
    run = fflive.start(["-p", server.pid, "--mode", "cpu", "-d", "2"])
    served = 0
    while run.process.poll() is None:
        served += request() == b"done"
    run.wait()
    server.send_signal(signal.SIGINT)
    fflive.check_run(run)
    workers = [one for one in run.stats["members"] if one["pid"] != server.pid]
    cpu = sum(one["cpu_ns"] for one in workers) / 1e9
    expect(served > 2 and cpu > 0, "%d served, %.2f s", served, cpu)
    expect(run.weigh(None, "view") > .9 * cpu, "of %.3f s of CPU, %.3f s in view",
           cpu, run.weigh(None, "view"))
    near("view in the master", run.weigh(server.pid, "view"), 0, .001)


def is_whole(python):
    """Not one of the farm's: those have no libpython, or no archive."""
    return not python.startswith(ffplaces.FARM)


def main():
    whole = [python for python in ffplaces.every_python() if is_whole(python)]
    outcomes = []
    for test in (same_path_in_another_mount_namespace, deleted_files,
                 replaced_files, renamed_program, library_that_is_loaded_late,
                 file_that_is_mapped_twice, second_library_that_is_not_used,
                 interpreter_that_ends_and_begins_again):
        outcomes += [fflive.attempt(test, python.path)
                     for python in fflive.pythons()]
    outcomes += ffplaces.each(stripped_files)
    outcomes += [fflive.attempt(program_without_a_symbol, python)
                 for python in whole]
    outcomes += [fflive.attempt(test) for test in (
        of_two_that_are_up_the_one_that_works,
        of_two_that_work_both_are_shown,
        deleted_library_of_an_ordinary_user, another_root_directory,
        workers_of_uwsgi)]
    ffplaces.finish(outcomes)


if __name__ == "__main__":
    main()
