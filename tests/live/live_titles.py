#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that writes a title over its arguments has it in every view; what it was
started with still tells who is a worker like whom."""
import json
import subprocess

import fflive
from fflive import expect


def report(run, view):
    done = subprocess.run([fflive.FORKFLAME, "report", "-f", view, "-o", "-",
                           run.path("run.ff")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    expect(done.returncode == 0, "report -f %s: %s", view, done.stderr)
    return done.stdout


def command_of(run, pid):
    return run.member(pid)["images"][-1]["command"]


def check(run):
    fflive.check_run(run)
    master = run.roles("master")[0]
    workers = [span["pid"] for span in run.spans("serve")]
    titles = {"fftitle: worker 1 [app]", "fftitle: worker 2 [app]"}
    expect(command_of(run, master) == "fftitle: master" and
           {command_of(run, pid) for pid in workers} == titles,
           "titles: %s", [one["images"] for one in run.stats["members"]])
    for view in ("jsonl", "chrome", "firefox", "table", "html"):
        text = report(run, view)
        for title in titles | {"fftitle: master"}:
            expect(title in text, "%s is not in the view %s", title, view)
    processes = [json.loads(line) for line in report(run, "jsonl").splitlines()]
    told = {one["pid"]: one["command"] for one in processes
            if one.get("kind", one.get("type")) == "process"}
    expect({told[pid] for pid in workers} == titles, "jsonl: %s", told)
    expect("pool of 2" in report(run, "table"), "no pool: %s",
           report(run, "table"))


def titles_are_in_every_view():
    for named, oncpu in (("1", "auto"), ("0", "auto"), ("0", "runcounts")):
        run = fflive.run(["-f", "ff", "--oncpu", oncpu],
                         [fflive.newest(), fflive.program("titles.py"), 1.2,
                          named, "x" * 40], output="run.ff")
        check(run)


def titles_of_the_short_lived_are_heard_of():
    """Of one that lives for 60 ms, if it tells the kernel."""
    run = fflive.run(["-f", "ff"], [fflive.newest(), fflive.program("titles.py"),
                                    .06, "1", "x" * 40], output="run.ff")
    if run.stats["oncpu"] != "switches":
        raise fflive.Skip("no switch records")
    fflive.check_run(run)
    for span in run.spans("serve"):
        expect(command_of(run, span["pid"]).startswith("fftitle: worker"), "%s",
               run.member(span["pid"]))


def titles_of_those_who_run_already_are_read():
    command = [fflive.newest(), fflive.program("titles.py"), "1.5", "0", "x" * 40]
    with fflive.Target(command) as target:
        run = fflive.run(["-p", target.pid, "-f", "ff"], output="run.ff")
        run.truth = target.truth()
    check(run)


if __name__ == "__main__":
    fflive.main(once=[titles_are_in_every_view,
                      titles_of_the_short_lived_are_heard_of,
                      titles_of_those_who_run_already_are_read])
