#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command under forkflame is the command: its status, its streams, its terminal."""
import os
import pty
import random
import resource
import select
import shlex
import signal
import tempfile
import time

import fflive
from fflive import expect


def run_code(code, **how):
    return fflive.run(["-q"], [fflive.newest(), "-c", code], **how)


def exit_status_is_the_commands():
    fflive.check_run(run_code("import sys; sys.exit(3)"), status=3)
    fflive.check_run(run_code("print('well')"), stdout=b"well\n")


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def death_by_a_signal_is_passed_on():
    for number in (signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL):
        code = "import os; os.kill(os.getpid(), %d)" % number
        run = run_code(code, preexec_fn=no_core)
        fflive.check_run(run, status=-number)


def environment_and_folder_are_the_callers():
    code = "import os; print(os.environ['FFLIVE_WORD'], os.getcwd())"
    run = run_code(code, env={"FFLIVE_WORD": "blue"}, cwd="/")
    fflive.check_run(run, stdout=b"blue /\n")


def streams_pass_byte_for_byte():
    data = bytes(range(256)) * 4 + random.randbytes(1 << 20)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        run = fflive.run(["-q"], [fflive.newest(), fflive.program("streams.py")],
                         stdin=file)
    with open(run.path("stderr"), "rb") as file:
        seen = file.read()
    # Where the connector is refused, a line says so.
    if fflive.REFUSED and seen.startswith(b"forkflame: "):
        seen = seen.partition(b"\n")[2]
    expect(seen == data[::-1], "stderr is not the command's alone")
    expect(run.status == 0 and run.stdout == data, "stdout differs: %d bytes of %d",
           len(run.stdout), len(data))


def command_that_cannot_start_is_named():
    for command, status in (("/nonexistent/program", 127), ("/etc/passwd", 126)):
        run = fflive.run([], [command])
        expect(run.status == status, "%s: expected status %d, saw %s", command,
               status, run.status)
        expect(command in run.stderr, "stderr does not name it: %r", run.stderr)
        expect(not run.files, "a profile was written: %s", list(run.files))


def usage_is_explained():
    for args in (["--no-such-option"], [], ["-r", "none", "-p", "1"],
                 ["-f", "no-such-format", "-p", "1"]):
        run = fflive.run(args, output=None)
        expect(run.status == 2, "%s: expected status 2, saw %s", args, run.status)
        expect(run.stderr.strip(), "%s: nothing on stderr", args)


def process_that_does_not_exist_is_named():
    run = fflive.run(["-p", 2 ** 30, "-d", 1])  # above any pid_max
    expect(run.status not in (0, None) and str(2 ** 30) in run.stderr,
           "status %s, stderr %r", run.status, run.stderr)


def output_that_cannot_be_written_is_named():
    tree = [fflive.newest(), fflive.program("tree.py")]
    with fflive.Target(tree, notes=4) as target:
        # A link, lest a file that is put in place by a rename takes the device's.
        full = os.path.join(target.dir, "full")
        os.symlink("/dev/full", full)
        run = fflive.run(["-p", target.pid, "-d", .3, "-f", "collapsed", "-o", full],
                         output=None)
        expect(run.status == 5 and full in run.stderr,
               "expected status 5 and the name, saw %s: %r", run.status, run.stderr)
        fflive.check_let_go([target.pid])


# At a terminal

def read_terminal(fd, until, seconds):
    """What the terminal shows, up to @until or the end."""
    text, end = b"", time.monotonic() + seconds
    while until not in text and time.monotonic() < end:
        if not select.select([fd], [], [], .1)[0]:
            continue
        try:
            data = os.read(fd, 4096)
        except OSError:  # EIO: all who had it open have gone
            break
        if not data:
            break
        text += data
    return text


def terminal_script(directory):
    """A shell stays the leader of the terminal's session: should forkflame end
    before its command, then nobody hangs up on the command."""
    command = [fflive.FORKFLAME, "record", "-q", "-f", "collapsed", "-o",
               os.path.join(directory, "out.txt"), "--", fflive.newest(),
               fflive.program("interrupted.py")]
    return "trap : INT; %s; echo; sleep 1.5; echo the end" % shlex.join(command)


def interrupt_at_the_terminal_reaches_the_command_once():
    with tempfile.TemporaryDirectory() as directory:
        pid, fd = pty.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", terminal_script(directory)])
        shown = read_terminal(fd, b"ready", 10)
        time.sleep(.2)
        os.write(fd, b"\x03")
        shown += read_terminal(fd, b"the end", 15)
        os.close(fd)
        os.waitpid(pid, 0)
        expect(b"ready True True True" in shown, "not a terminal: %r", shown)
        expect(b"interrupts 1\r\n" in shown, "expected one interrupt: %r", shown)
        expect(os.path.exists(os.path.join(directory, "out.txt")),
               "no profile after the interrupt")


if __name__ == "__main__":
    fflive.main(once=[
        exit_status_is_the_commands,
        death_by_a_signal_is_passed_on,
        environment_and_folder_are_the_callers,
        streams_pass_byte_for_byte,
        command_that_cannot_start_is_named,
        usage_is_explained,
        process_that_does_not_exist_is_named,
        output_that_cannot_be_written_is_named,
        interrupt_at_the_terminal_reaches_the_command_once,
    ])
