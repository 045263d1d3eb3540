#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forkflame check: it says what the machine allows, by trying, and what helps."""
import ctypes
import os
import resource
import signal
import struct
import subprocess

import fflive
from fflive import expect
from live_fallback import UNSHARE
from live_user import Copies, other_user

NAMES = ["kernel", "user", "process events", "task records",
         "children files", "switch records", "kernel frames",
         "run counts", "ptrace", "process_vm_readv", "open files", "namespaces",
         "priority", "recording"]


def alive(group):
    """The processes of a group that are no zombies (init may be slow to reap)."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = fflive.read_text("/proc/%s/stat" % pid)
        except OSError:
            continue
        fields = stat[stat.rindex(")") + 2:].split()
        if int(fields[2]) == group and fields[0] not in "ZX":
            found.append(int(pid))
    return found


class Check:
    """One run. @marks: name -> "ok", "no" or "--"; @texts: name -> the rest."""

    def __init__(self, under=(), program=fflive.FORKFLAME, env=None, **how):
        process = fflive.spawn(
            list(under) + [program, "check"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, **(env or {})), **how)
        self.output, self.errors = process.communicate(timeout=20)
        self.status = process.returncode
        self.marks, self.texts = {}, {}
        for line in self.output.splitlines():
            name = line[4:20].rstrip()
            self.marks[name], self.texts[name] = line[:2], line[22:]
        expect(list(self.marks) == NAMES and
               set(self.marks.values()) <= {"ok", "no", "--"},
               "not the lines that are wanted: %r %r", self.output, self.errors)
        expect(not self.errors, "standard error: %r", self.errors)
        expect("\033" not in self.output, "colours: %r", self.output)
        # It led a group; whatever it made and left would be in it.
        left = alive(process.pid)
        expect(not left, "processes are left: %s", left)

    def says(self, name, mark, *words):
        expect(self.marks[name] == mark and
               all(word in self.texts[name] for word in words),
               "%s: expected '%s' with %s, saw '%s': %s", name, mark, words,
               self.marks[name], self.texts[name])


def everything_works_as_root():
    initial = (os.readlink("/proc/self/ns/user") == "user:[4026531837]" and
               os.readlink("/proc/self/ns/pid") == "pid:[4026531836]")
    if os.geteuid() or not initial:
        raise fflive.Skip("this is not root of the machine")
    check = Check()
    expect(check.status == 0, "status %s", check.status)
    for name in ("ptrace", "process_vm_readv", "run counts", "recording"):
        check.says(name, "ok")


def what_a_recording_gets_is_what_check_says():
    check = Check()
    run = fflive.run(["-d", .3], ["sleep", 1])
    expect(run.stats, "no statistics: %r", run.stderr)
    for name, key, best in (("process events", "events", "connector"),
                            ("switch records", "oncpu", "switches")):
        expect((run.stats[key] == best) == (check.marks[name] == "ok"),
               "%s: check says '%s', a recording %s", name, check.marks[name],
               run.stats[key])


def a_container_is_told_why_there_are_no_events():
    done = subprocess.run(UNSHARE + ["true"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise fflive.Skip("no namespaces: " + done.stderr.strip())
    check = Check(UNSHARE)
    expect(check.status == 0, "status %s", check.status)
    check.says("process events", "no", "PID namespace", "--pid=host")
    check.says("children files", "ok", "in place of process events")
    check.says("namespaces", "--", "pid: own, user: own")
    check.says("ptrace", "ok")
    check.says("process_vm_readv", "ok")


def an_ordinary_user_may_record_what_he_starts():
    with Copies() as copies:
        check = Check(program=copies.forkflame, env=copies.env, cwd="/",
                      **other_user())
    expect(check.status == 0, "status %s", check.status)
    check.says("user", "--", "own processes alone")
    check.says("ptrace", "ok")
    check.says("process_vm_readv", "ok")


def few_open_files_are_told():
    if fflive.REFUSED:
        raise fflive.Skip("a shell stands between, which needs more files")
    def limit(files):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    check = Check(preexec_fn=limit(64))
    expect(check.status == 0, "status %s", check.status)
    check.says("open files", "no", "64, raised to 64", "ulimit")
    check = Check(preexec_fn=limit(9))
    expect(check.status == 3, "status %s", check.status)
    check.says("recording", "no", "open files")


PTRACE, PROCESS_VM_READV = {"x86_64": (101, 310), "aarch64": (117, 270)}.get(
    os.uname().machine, (None, None))


def forbid(number, error):
    """For preexec_fn: a filter that fails one system call."""
    code = [(0x20, 0, 0, 0),                    # load the number
            (0x15, 0, 1, number),               # is it this one?
            (0x06, 0, 0, 0x00050000 | error),   # SECCOMP_RET_ERRNO
            (0x06, 0, 0, 0x7fff0000)]           # SECCOMP_RET_ALLOW
    text = b"".join(struct.pack("=HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    program = ctypes.create_string_buffer(
        struct.pack("@HP", len(code), ctypes.addressof(buffer)))
    prctl = ctypes.CDLL(None).prctl

    def install():
        zero = ctypes.c_ulong(0)
        prctl(38, ctypes.c_ulong(1), zero, zero, zero)
        if prctl(22, ctypes.c_ulong(2), ctypes.byref(program), zero, zero):
            os._exit(99)
    install.kept = buffer
    return install


def a_filter_that_forbids_is_named():
    if not PTRACE:
        raise fflive.Skip("no numbers of system calls for this processor")
    for number, name, other in ((PTRACE, "ptrace", "process_vm_readv"),
                                (PROCESS_VM_READV, "process_vm_readv", "ptrace")):
        for error in (1, 38):
            check = Check(preexec_fn=forbid(number, error),
                          env={"ASAN_OPTIONS": "detect_leaks=0"})  # by ptrace
            expect(check.status == 3, "status %s", check.status)
            check.says(name, "no", "seccomp", "--cap-add=SYS_PTRACE")
            check.says(other, "ok")
            check.says("recording", "no", name)


def a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        process = fflive.spawn([fflive.FORKFLAME, "check"], stdout=full,
                               stderr=subprocess.PIPE, text=True)
        errors = process.communicate(timeout=20)[1]
    expect(process.returncode == 5 and "No space" in errors,
           "status %s, %r", process.returncode, errors)


def an_end_in_between_leaves_nothing():
    """Killed at any moment: its child ends with it."""
    for delay in range(12):
        process = fflive.spawn([fflive.FORKFLAME, "check"],
                               stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=delay / 1000 + .0005)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        fflive.wait_until(lambda: not alive(process.pid), 5,
                          "the end of the child")


if __name__ == "__main__":
    fflive.main(once=[everything_works_as_root,
                      what_a_recording_gets_is_what_check_says,
                      a_container_is_told_why_there_are_no_events,
                      an_ordinary_user_may_record_what_he_starts,
                      few_open_files_are_told,
                      a_filter_that_forbids_is_named,
                      a_full_disk_is_told,
                      an_end_in_between_leaves_nothing])
